import { Database } from 'bun:sqlite'

import { once } from '../../core/base/lazy.ts'
import { type Db, migrate, schemaVersion } from '../db/connection.ts'
import { migrations } from '../db/migrations.ts'

/** The database has the schema number of this build and other tables. Exit 78: a restart would not help. */
class OtherSchema extends Error {
  override name = 'OtherSchema'
}

type SchemaObject = { type: string; name: string; sql: string }

const objectsOf = (db: Db): SchemaObject[] =>
  db
    .query<SchemaObject, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY rowid",
    )
    .all()

/** Fingerprint of the schema that these migrations make. `scripts/build/compile.ts` puts it into the executable. */
export function schemaFingerprint(steps: readonly string[] = migrations): string {
  using model = new Database(':memory:', { strict: true })
  migrate(model, steps)
  return fingerprintOf(objectsOf(model))
}

// In an order of its own: VACUUM changes that of the database.
const fingerprintOf = (objects: readonly SchemaObject[]): string =>
  Bun.hash(
    objects
      .map(({ type, name, sql }) => JSON.stringify([type, name, sql]))
      .toSorted()
      .join('\n'),
  ).toString(36)

declare const SCHEMA_FINGERPRINT: string

/** Fingerprint of this build's schema, computed once when the program runs from its source. */
const built = once(() =>
  typeof SCHEMA_FINGERPRINT === 'undefined' ? schemaFingerprint() : SCHEMA_FINGERPRINT,
)

/**
 * Throws OtherSchema unless the database has every table, index and trigger that the migrations make which it says to have
 * been through: a number alone does not tell two builds apart. What an operator has added to them is left alone.
 * `fingerprint`: of the schema after all steps. A database that has it needs no model to compare with, which takes a tenth of a start.
 *
 * @throws {OtherSchema}
 */
export function requireOwnSchema(
  db: Db,
  file: string,
  steps: readonly string[] = migrations,
  fingerprint: string = built(),
): void {
  // In one transaction: a daemon beside us may be bringing the database up to date.
  const [version, objects] = db.transaction(() => [schemaVersion(db), objectsOf(db)] as const)()
  // A newer one is refused by migrate.
  if (version > steps.length) return
  if (version === steps.length && fingerprintOf(objects) === fingerprint) return
  using model = new Database(':memory:', { strict: true })
  migrate(model, steps.slice(0, version))
  const found = new Map(objects.map((it) => [`${it.type} ${it.name}`, it.sql]))
  for (const { type, name, sql } of objectsOf(model)) {
    const present = found.get(`${type} ${name}`)
    if (present === sql) continue
    throw new OtherSchema(
      `${file} was made by another build of forumd: it says schema ${version}, as this build does, and ${present === undefined ? `has no ${type} ${name}` : `its ${type} ${name} is not the same`}. Nothing in it was changed: run the build that made it, restore a backup that this build made, or name an empty folder in [storage].dir`,
    )
  }
}

import { constants, Database } from 'bun:sqlite'
import { pathToFileURL } from 'node:url'

import { errorCode } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { APPLICATION_ID, type Db, migrate, schemaVersion } from '../db/connection.ts'
import { migrations } from '../db/migrations.ts'

/** The database does not have the schema that its number says. Exit 78: a restart would not help. */
class OtherSchema extends Error {
  override name = 'OtherSchema'
}

/** Tables that Litestream adds to the databases that it replicates. */
const LITESTREAM = ['table _litestream_seq', 'table _litestream_lock']

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
 * Throws OtherSchema unless the database has the tables, indexes and triggers of the migrations that it says to have been
 * through, and no others: a number alone does not tell two revisions apart. Indexes that an operator has added are left alone.
 * `fingerprint`: of the schema after all steps. A database that has it needs no model to compare with, which takes a tenth of a start.
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
  const found_fingerprint = fingerprintOf(objects)
  if (version === steps.length && found_fingerprint === fingerprint) return
  using model = new Database(':memory:', { strict: true })
  migrate(model, steps.slice(0, version))
  const difference = differenceOf(objects, objectsOf(model))
  if (difference === null) return
  throw new OtherSchema(
    `${file} was made by an unreleased revision of forumd, or changed by another program: it says schema ${version} (${found_fingerprint}; of this build: ${steps.length}, ${fingerprint}), and ${difference}. There is no upgrade from an unreleased revision. Nothing in it was changed: run the revision that made it, restore a backup that this build made, or name an empty folder in [storage].dir`,
  )
}

function differenceOf(
  objects: readonly SchemaObject[],
  expected: readonly SchemaObject[],
): string | null {
  const found = new Map(objects.map((it) => [`${it.type} ${it.name}`, it.sql]))
  for (const { type, name, sql } of expected) {
    const present = found.get(`${type} ${name}`)
    if (present === undefined) return `has no ${type} ${name}`
    if (present !== sql) return `its ${type} ${name} is not the same`
    found.delete(`${type} ${name}`)
  }
  const extra = [...found.keys()].find((it) => !it.startsWith('index ') && !LITESTREAM.includes(it))
  return extra === undefined ? null : `has the ${extra}, which is not forumd's`
}

/**
 * The same for a file that is not open yet, without a change to its folder: opening makes files beside a database, and closing
 * it writes the log of a killed process into it. A file that cannot be read so is left to the opening.
 * @param isHeld True while a daemon may be writing to the file, whose pages then belong to no one instant.
 * @throws {OtherSchema}
 */
export function requireOwnFile(file: string, isHeld: () => boolean): void {
  try {
    const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI
    using db = new Database(`${pathToFileURL(file).href}?immutable=1`, flags)
    const found = db.query<{ application_id: number }, []>('PRAGMA application_id').get()
    if (found?.application_id === APPLICATION_ID) requireOwnSchema(db, file)
  } catch (error) {
    const has_disk_failed = /^SQLITE_IOERR(?!_SHORT_READ)/.test(errorCode(error))
    if (has_disk_failed || (error instanceof OtherSchema && !isHeld())) throw error
  }
}

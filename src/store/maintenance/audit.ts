import * as z from 'zod'

import { isObject } from '../../core/base/object.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { type Db, transact } from '../db/connection.ts'

const KIND = 'config.changed'
/** Characters of a digest; enough to distinguish two texts. */
const DIGEST_LENGTH = 22

type Setting = {
  path: string
  recorded_value: string
  /** Digests of the same value under older keys. */
  older_values: string[]
}

const configDetail = z.object({ settings: z.record(z.string(), z.string()) })

/**
 * Records the daemon's configuration when it differs from the last recorded one; returns true when it did. Numbers,
 * flags and lists of them are recorded as they are. A text may be a secret: only a keyed digest is stored, which cannot be
 * tested against guesses without the key file.
 */
export function recordConfig(
  db: Db,
  { config, ring, now }: { config: object; ring: Ring; now: number },
): boolean {
  const settings = settingsOf(config, ring)
  return transact(db, () => {
    const before = lastRecordedConfig(db)
    const current_paths = new Set(settings.map(({ path }) => path))
    const changed = [
      ...settings
        .filter(
          ({ path, recorded_value, older_values }) =>
            ![recorded_value, ...older_values].includes(before[path] ?? ''),
        )
        .map(({ path }) => path),
      ...Object.keys(before).filter((path) => !current_paths.has(path)),
    ]
    if (changed.length === 0) return false
    const detail = {
      changed,
      settings: Object.fromEntries(
        settings.map(({ path, recorded_value }) => [path, recorded_value]),
      ),
    }
    db.query(
      'INSERT INTO audit (at, kind, subject, detail) VALUES ($now, $kind, $subject, $detail)',
    ).run({
      now,
      kind: KIND,
      subject: 'config',
      detail: JSON.stringify(detail),
    })
    return true
  })
}

function lastRecordedConfig(db: Db): Record<string, string> {
  const row = db
    .query<{ detail: string }, [string]>(
      'SELECT detail FROM audit WHERE kind = ? ORDER BY seq DESC LIMIT 1',
    )
    .get(KIND)
  const found = configDetail.safeParse(JSON.parse(row?.detail ?? '{}'))
  return found.success ? found.data.settings : {}
}

function settingsOf(value: object, ring: Ring, above = ''): Setting[] {
  return Object.entries(value).flatMap(([name, it]: [string, unknown]) => {
    const path = above === '' ? name : `${above}.${name}`
    // A list of tables, such as `source`, may have secrets too.
    if (isObject(it) || (Array.isArray(it) && it.some(isObject))) return settingsOf(it, ring, path)
    if (typeof it !== 'string' || it === '')
      return [{ path, recorded_value: JSON.stringify(it), older_values: [] }]
    // The digest includes the setting's name, so that equal texts in two places do not look equal.
    const [recorded_value = '', ...older_values] = ring
      .proofs(`config ${path} ${it}`)
      .map((digest) => `proof:${digest.slice(0, DIGEST_LENGTH)}`)
    return [{ path, recorded_value, older_values }]
  })
}

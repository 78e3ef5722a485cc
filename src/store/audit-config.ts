import * as z from 'zod'

import { isObject } from '../core/object.ts'
import type { Ring } from '../core/seal.ts'
import { type Db, transact } from './db.ts'

const KIND = 'config.changed'
/** Of a proof as much as tells two texts apart. */
const PROOF_LENGTH = 22

type Setting = {
  path: string
  shown: string
  /** What it was shown as under older keys. */ also: string[]
}

const noted = z.object({ settings: z.record(z.string(), z.string()) })

/**
 * Notes with which configuration the daemon runs, when it is another than the one noted last; whether it was. Numbers,
 * flags and lists are noted as they are. A text may be a secret: only a proof of it is kept, that the key file is
 * needed to make, so that nobody can try out what it was.
 */
export function recordConfig(
  db: Db,
  { config, ring, now }: { config: object; ring: Ring; now: number },
): boolean {
  const settings = settingsOf(config, ring)
  return transact(db, () => {
    const before = lastNoted(db)
    const kept = new Set(settings.map(({ path }) => path))
    const changed = [
      ...settings
        .filter(({ path, shown, also }) => ![shown, ...also].includes(before[path] ?? ''))
        .map(({ path }) => path),
      ...Object.keys(before).filter((path) => !kept.has(path)),
    ]
    if (changed.length === 0) return false
    const detail = {
      changed,
      settings: Object.fromEntries(settings.map(({ path, shown }) => [path, shown])),
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

function lastNoted(db: Db): Record<string, string> {
  const row = db
    .query<{ detail: string }, [string]>(
      'SELECT detail FROM audit WHERE kind = ? ORDER BY seq DESC LIMIT 1',
    )
    .get(KIND)
  const found = noted.safeParse(JSON.parse(row?.detail ?? '{}'))
  return found.success ? found.data.settings : {}
}

/** A configuration as its single settings, by dotted name. */
function settingsOf(value: object, ring: Ring, above = ''): Setting[] {
  return Object.entries(value).flatMap(([name, it]: [string, unknown]) => {
    const path = above === '' ? name : `${above}.${name}`
    if (isObject(it)) return settingsOf(it, ring, path)
    if (typeof it !== 'string' || it === '') return [{ path, shown: JSON.stringify(it), also: [] }]
    // Bound to its name: the same text in two places is not told to be the same.
    const [shown = '', ...also] = ring
      .proofs(`config ${path} ${it}`)
      .map((proof) => `proof:${proof.slice(0, PROOF_LENGTH)}`)
    return [{ path, shown, also }]
  })
}

import type { Mutant } from './mutants.ts'

// The faults that the checks plant, to see that they detect them. A test finds those whose text has changed.

/** Faults that lose matches when the process dies at the wrong moment. */
export const KILL_MUTANTS: readonly Mutant[] = [
  {
    name: 'the checkpoint moves before its deliveries are written',
    file: 'src/store/delivery/deliveries.ts',
    from: 'export function insertDeliveries(db: Db, rows: readonly NewDelivery[]): Set<string> {',
    to: `export function insertDeliveries(db: Db, rows: readonly NewDelivery[]): Set<string> {
  setTimeout(() => {
    try {
      insertLate(db, rows)
    } catch {}
  }, 50)
  return new Set(rows.map(({ id }) => id))
}
function insertLate(db: Db, rows: readonly NewDelivery[]): Set<string> {`,
  },
  {
    name: 'a delivery counts as delivered before it is sent',
    file: 'src/store/delivery/outbox.ts',
    from: '      return [{ ...found, body: renderBody(found), is_whole }]',
    to: `      db.query("UPDATE deliveries SET status = 'delivered', delivered_at = 1, next_attempt_at = NULL, attempts = 1 WHERE row = $row").run({ row })
      return [{ ...found, body: renderBody(found), is_whole }]`,
  },
]

/** Faults, and a part of the name of the figure that has to detect each. */
export const SOAK_MUTANTS: readonly (Mutant & { by: string })[] = [
  {
    name: '32 KiB of every item are never given back',
    by: 'memory while warming up',
    file: 'src/store/monitoring/matches.ts',
    from: '/** Names a match within a transaction. */',
    to: `const kept: Uint8Array[] = []
setInterval(() => kept.push(new Uint8Array(32_768 * 33).fill(1)), 1000).unref()
/** Names a match within a transaction. */`,
  },
  {
    name: 'a descriptor is never given back, every four seconds',
    by: 'steady: descriptors',
    file: 'src/store/monitoring/matches.ts',
    from: '/** Names a match within a transaction. */',
    to: `import { openSync } from 'node:fs'
setInterval(() => openSync('/dev/null', 'r'), 4000).unref()
/** Names a match within a transaction. */`,
  },
  {
    name: 'one delivery of sixty-four is never written',
    by: 'violations',
    file: 'src/store/delivery/deliveries.ts',
    from: 'export function insertDeliveries(db: Db, rows: readonly NewDelivery[]): Set<string> {',
    to: `export function insertDeliveries(db: Db, all: readonly NewDelivery[]): Set<string> {
  const rows = all.filter(({ id }) => id[4] !== 'A')`,
  },
]

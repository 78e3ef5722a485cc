import {
  claimed,
  claimWait,
  type Instant,
  type LeaseRecord,
  type LeaseTerm,
  readRecord,
  type Release,
  type Sighting,
} from '../core/standby/lease.ts'
import type { Register } from './register.ts'

/**
 * The term of a lease that was taken: `data_holder` is the node that acted in `data_epoch`, empty if none has; `data_mark`
 * its last mark, null if it did not stop in order. `is_move`: it has handed the lease to this node.
 */
export type TakenTerm = {
  epoch: number
  data_epoch: number
  data_holder: string
  data_mark: number | null
  is_move: boolean
}

/** Outcome of one attempt to take the lease. */
type Acquired =
  | ({ held: true } & TakenTerm)
  /** `wait_ms`: until another attempt may succeed, if the holder does not renew meanwhile. */
  | { held: false; holder: string; data_holder: string; wait_ms: number }

/** Exclusive permission to be the primary, with an end and an epoch that grows with every holder. */
export type Lease = {
  /**
   * Makes one attempt. A holder that is gone without a release is noticed by attempts that go on for its whole term.
   * @throws {LeaseUnreachable | ForeignRecord}
   */
  acquire(): Promise<Acquired>
  /**
   * Extends the lease, and with `acting` records that the database has entered its epoch. False: another process has it.
   * @throws {LeaseUnreachable} it is not known; the old term goes on
   */
  renew(acting?: boolean): Promise<boolean>
  /** Gives it up, so that the next process need not wait. Does nothing if it is not held. */
  release(how?: Release): Promise<void>
  /** The term in hand; null: none. */
  term(): LeaseTerm | null
  close(): Promise<void>
}

type LeaseDeps = {
  register: Register
  /** Name of this node, for people. */
  node: string
  /** Random id of this process. */
  token: string
  ttl_ms: number
  skew_ms: number
  instant: () => Instant
}

/** The own record as the register has it. */
type Own = { version: string; record: LeaseRecord; term: LeaseTerm }

const nameOf = ({ epoch, beat }: LeaseRecord) => `${epoch}.${beat}`

/** Creates the lease of one register. */
export function createLease({ register, node, token, ttl_ms, skew_ms, instant }: LeaseDeps): Lease {
  let sighting: Sighting | null = null
  let own: Own | null = null
  /** The record before the own claim was kept for this node. */
  let is_move = false
  /** Instants of own requests by epoch and beat: the answer to one may have been lost. */
  const asked = new Map<string, Instant>()

  function adopt(version: string, record: LeaseRecord): boolean {
    const at = asked.get(nameOf(record))
    if (record.token !== token || record.released || at === undefined) return false
    own = { version, record, term: { epoch: record.epoch, asked: at, ttl_ms: record.ttl_ms } }
    asked.clear()
    asked.set(nameOf(record), at)
    return true
  }

  /** Stores an own record; false if another change came first. */
  async function store(expected: string | null, record: LeaseRecord): Promise<boolean> {
    asked.set(nameOf(record), instant())
    const version = await register.swap(expected, JSON.stringify(record))
    return version !== null && adopt(version, record)
  }

  const acquired = ({ record: { epoch, data_epoch, data_holder, data_mark } }: Own): Acquired => ({
    held: true,
    epoch,
    data_epoch,
    data_holder,
    data_mark,
    is_move,
  })

  return {
    async acquire() {
      const found = await register.read()
      const { mono } = instant()
      const record = found === null ? null : readRecord(found.text)
      if (found !== null && record !== null) {
        // An earlier attempt succeeded, and its answer was lost.
        if (adopt(found.version, record) && own !== null) return acquired(own)
        if (sighting?.version !== found.version) sighting = { version: found.version, since: mono }
        const wait_ms = claimWait(record, sighting, { node, mono, skew_ms })
        if (wait_ms > 0) {
          const { holder, data_holder } = record
          return { held: false, holder, data_holder, wait_ms }
        }
      }
      is_move = record?.released === true && record.to === node
      const next = claimed(record, { holder: node, token, ttl_ms })
      if ((await store(found?.version ?? null, next)) && own !== null) return acquired(own)
      return { held: false, holder: '', data_holder: '', wait_ms: 0 }
    },

    async renew(acting = false) {
      if (own === null) return false
      const { version, record } = own
      // Never a beat that was used: the answer to an earlier request may still be on its way.
      const beat = record.beat + asked.size
      const entered = acting
        ? { data_epoch: record.epoch, data_holder: record.holder, data_mark: null }
        : {}
      if (await store(version, { ...record, ...entered, beat })) return true
      const found = await register.read()
      if (found !== null && adopt(found.version, readRecord(found.text))) return true
      own = null
      return false
    },

    async release({ to, data_mark }: Release = { to: '', data_mark: null }) {
      if (own === null) return
      const { version, record } = own
      own = null
      const acted = record.data_epoch === record.epoch ? { data_mark } : {}
      await register.swap(version, JSON.stringify({ ...record, ...acted, to, released: true }))
    },

    term: () => own?.term ?? null,
    close: () => register.close(),
  }
}

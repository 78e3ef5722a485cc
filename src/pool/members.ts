import { isDeepStrictEqual } from 'node:util'

import { settleStanding } from '../core/pool.ts'
import type { Ring } from '../core/seal.ts'
import type { Clock, Log } from '../outside.ts'
import {
  type AccountSecrets,
  exchangeSecrets,
  listAccounts,
  recordLearned,
  writtenByOthers,
} from '../store/accounts.ts'
import { type Db, isStorageError, transact } from '../store/db.ts'
import type { Craft } from './craft.ts'
import { learnedOf, type Member, openMember, takeOver } from './member.ts'

type MembersDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  craft: Pick<Craft, 'openJar'>
  /** Wakes the loop that writes what was learned. */
  nudge: () => void
}

const LOOK_EVERY_MS = 1000
/** Cookies change with nearly every answer of some platforms: they are written together. */
const WRITE_AFTER_MS = 5000
const WRITE_TIMES_AFTER_MS = 60_000

/** Holds the accounts in memory, follows what is changed beside, and writes down what is learned. */
export function createMembers({ db, ring, clock, log, craft, nudge }: MembersDeps) {
  const members = new Map<string, Member>()
  let leases = 0
  let version = -1
  let looked_at = -Infinity
  let write_at = Infinity

  const all = (): Member[] => [...members.values()]

  function reload() {
    looked_at = clock.mono()
    const now = writtenByOthers(db)
    if (now === version) return
    version = now
    adopt()
  }

  function adopt() {
    const accounts = listAccounts(db)
    for (const id of members.keys())
      if (!accounts.some((account) => account.id === id)) members.delete(id)
    for (const account of accounts.toSorted(
      (a, b) => (a.last_used_at ?? 0) - (b.last_used_at ?? 0),
    )) {
      // Of an account that the operator has left alone, what is in memory is newer.
      if (members.get(account.id)?.revision === account.revision) continue
      try {
        const member = openMember({ db, ring, craft }, account)
        if (member === null) continue
        const before = members.get(account.id)
        const now = before === undefined ? member : takeOver(member, before)
        members.set(account.id, { ...now, used: leases++ })
        if (now.unwritten.has('jar')) write_at = Math.min(write_at, clock.now() + WRITE_AFTER_MS)
      } catch {
        members.delete(account.id)
        log('error', 'account.unreadable', { account: account.name })
      }
    }
    nudge()
  }

  function write() {
    write_at = Infinity
    const dirty = all().filter(({ unwritten }) => unwritten.size > 0)
    if (dirty.length === 0) return
    const written = transact(db, () =>
      dirty.flatMap((it) => {
        const learned = learnedOf(it)
        return recordLearned(db, ring, learned) ? [{ it, learned }] : []
      }),
    )
    // What was not written is of an account that was changed beside: it is taken over before long.
    for (const { it, learned } of written) {
      if (learned.jar !== undefined) it.stored = learned.jar?.text ?? null
      it.unwritten.clear()
    }
  }

  return {
    all,
    get: (id: string): Member | undefined => members.get(id),
    /** The same account as it is held now: the operator may have changed it since. */
    current: (it: Member): Member => members.get(it.id) ?? it,
    /**
     * Notes a grant that was given in exchange for the one before, which may be worth nothing from now on: at once, and
     * whatever else the operator has changed. False where the operator has put another in its place.
     */
    exchanged(it: Member, before: AccountSecrets, after: AccountSecrets): boolean {
      if (!isDeepStrictEqual(it.secrets, before)) return false
      if (isDeepStrictEqual(before, after)) return true
      try {
        if (!exchangeSecrets(db, ring, it.id, { before, after })) return false
      } catch (error) {
        if (!isStorageError(error)) throw error
        it.unwritten.add('secrets')
      }
      it.secrets = after
      return true
    },
    /** Takes over what others have changed, if anything. */
    reload,
    /** Takes over what this process itself has changed of accounts. */
    adopt,
    /** Brings all of them to this moment: what others changed, at most a second late, and rests that are over. */
    look() {
      if (clock.mono() - looked_at >= LOOK_EVERY_MS) reload()
      const now = clock.now()
      for (const it of members.values()) {
        const settled = settleStanding(it.standing, now)
        if (settled === it.standing) continue
        it.standing = settled
        it.unwritten.add('standing')
      }
    },
    /** Notes that one is used now. */
    use(it: Member) {
      it.last_used_at = clock.now()
      it.unwritten.add('times')
    },
    /** Notes that it was one's turn: the others are before it from now on. */
    servedLast(it: Member) {
      it.used = leases++
    },
    /** Something was learned that is to be written down before long. */
    changed() {
      write_at = Math.min(write_at, clock.now() + WRITE_AFTER_MS)
      nudge()
    },
    write,
    /** Writes what is due to be written, and returns when something will be next. */
    writeDue(now: number): number {
      if (all().some(({ unwritten }) => unwritten.has('standing')) || now >= write_at) write()
      // Nobody waits for the hour in which an account was last used.
      else if (all().some(({ unwritten }) => unwritten.size > 0))
        write_at = Math.min(write_at, now + WRITE_TIMES_AFTER_MS)
      return write_at
    },
  }
}

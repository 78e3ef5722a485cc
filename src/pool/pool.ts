import type { Fault } from '../core/outcome.ts'
import { choose } from '../core/planning.ts'
import { type AccountState, type Finding, settleStanding } from '../core/pool.ts'
import type { Ring } from '../core/seal.ts'
import type { Session } from '../core/session.ts'
import type { Clock, Log } from '../outside.ts'
import { ANONYMOUS, type Eyes, type Use } from '../platform/platform.ts'
import { listAccounts, recordLearned, writtenByOthers } from '../store/accounts.ts'
import { type Db, transact } from '../store/db.ts'
import { recordProxyTest } from '../store/proxies.ts'
import { createCare } from './care.ts'
import type { Craft } from './craft.ts'
import {
  choreOf,
  eyesOf,
  learnedOf,
  type Member,
  nextChoreAt,
  openMember,
  signInAt,
} from './member.ts'

export type PoolDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  craft: Craft
  /** Whether nobody's eyes serve while there is no account at all. */
  allow_anonymous: boolean
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Wakes the loop that runs `turn`. */
  nudge: () => void
}

/** Why an account's session cannot be had: it is unknown, an application's, or in a state in which it is not used. */
type NotLent = 'absent' | 'oauth' | AccountState

/** One request as it went, of whosever eyes. */
type Heard = { eyes: string; path_kind: string; fault: Fault | null }

export type Pool = {
  /** The eyes that can best afford one more call, none of those to avoid; null when there are none. */
  lease(use: Use, avoid?: readonly string[]): Eyes | null
  /** A session of one account, by the operator's name for it; or why it cannot be had now. */
  lend(name: string): { ok: true; session: Session } | { ok: false; why: NotLent }
  /** The eyes of a session that was lent; null for any other. */
  own(session: Session): Eyes | null
  /** What was seen only in the whole of a read: that the platform took these eyes for nobody's. */
  report(eyes: Eyes, fault: Fault | null): void
  /** One request to the platform has ended. */
  heard(event: Heard): void
  /** Whether anything can be read at all. */
  usable(): boolean
  /** Takes over what the command line has changed. It is also looked for by itself, at most a second late. */
  reload(): void
  /** Takes over what this process itself has changed of accounts; what others did, `reload` sees. */
  adopt(): void
  /** Asks the platform now who an account is; 'absent' or 'busy' when it cannot be asked, null when it has nothing to ask with. */
  probe(id: string): Promise<Finding['kind'] | 'absent' | 'busy' | null>
  /** How each account stands, and how many requests it may make at once. */
  list(): { name: string; state: AccountState; requests: number }[]
  /** Starts what is to be done for the accounts, writes down what was learned, returns when to come again. */
  turn(): Promise<number>
  /** Resolves when what was started has ended and is written down. */
  idle(): Promise<void>
}

const LOOK_EVERY_MS = 1000
/** Cookies change with nearly every answer of some platforms: they are written together. */
const WRITE_AFTER_MS = 5000
const WRITE_TIMES_AFTER_MS = 60_000
const AT_ONCE = 4
const WAY_CLOSED_MS = 30_000

/** The operator's accounts: whose turn it is, how each of them stands, and what is done about it. */
export function createPool(deps: PoolDeps): Pool {
  const { db, ring, clock, log, craft } = deps
  const members = new Map<string, Member>()
  const chores = new Set<Promise<void>>()
  /** The eyes of the sessions that were lent. What such a session says itself is never sent. */
  const lent = new WeakMap<Session, Eyes>()
  let leases = 0
  let version = -1
  let looked_at = -Infinity
  let write_at = Infinity
  let empty = false
  const care = createCare({ craft, clock, log, changed, signal: deps.signal })
  const work = {
    probe: async (it: Member) => void (await care.probe(it)),
    sign_in: care.signIn,
    renew: care.renew,
  }

  function changed() {
    write_at = Math.min(write_at, clock.now() + WRITE_AFTER_MS)
    deps.nudge()
  }

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
        if (member) members.set(account.id, { ...member, used: leases++ })
      } catch {
        members.delete(account.id)
        log('error', 'account.unreadable', { account: account.name })
      }
    }
    deps.nudge()
  }

  function look() {
    if (clock.mono() - looked_at >= LOOK_EVERY_MS) reload()
    const now = clock.now()
    for (const it of members.values()) {
      const settled = settleStanding(it.standing, now)
      if (settled === it.standing) continue
      it.standing = settled
      it.unwritten.add('standing')
    }
  }

  /** What an account could do now; null when it cannot be asked through at all. */
  function offer(it: Member, use: Use) {
    const { state, cooling_until } = it.standing
    if (!isHopeful(it) || !hasEyes(it)) return null
    const resting = state === 'cooling'
    const { requests, until_ms } = craft.headroom(it.id, use)
    // A rest has to be kept: only one that the pacer keeps too may be waited for.
    if (resting && until_ms <= 0) return null
    const closed_ms = it.way_closed_until - clock.mono()
    return {
      it,
      id: it.id,
      requests: resting || closed_ms > 0 ? 0 : requests,
      free_at: Math.max(until_ms, closed_ms, (cooling_until ?? 0) - clock.now(), 0),
      used_at: it.used,
    }
  }

  function sayIfEmpty() {
    const meant = [...members.values()].filter(({ standing }) => standing.state !== 'paused')
    const none = meant.length > 0 && !meant.some(isExpectedBack)
    if (none && !empty) log('warn', 'pool.empty', { count: meant.length })
    empty = none
  }

  function start(it: Member, chore: (it: Member) => Promise<void>): Promise<void> {
    it.busy = true
    const ended = chore(it)
      .catch((error: unknown) => {
        log('error', 'account.chore_failed', { account: it.name, code: codeOf(error) })
      })
      .finally(() => {
        it.busy = false
        chores.delete(ended)
        deps.nudge()
      })
    chores.add(ended)
    return ended
  }

  function write() {
    write_at = Infinity
    const dirty = [...members.values()].filter(({ unwritten }) => unwritten.size > 0)
    if (dirty.length === 0) return
    transact(db, () => {
      for (const it of dirty) recordLearned(db, ring, learnedOf(it))
    })
    for (const { unwritten } of dirty) unwritten.clear()
  }

  /** A way out that fails is left alone for a while; whoever leaves through it is asked last. */
  function closeWay(it: Member, why: string) {
    if (it.way_closed_until > clock.mono() || it.proxy_id === null) return
    it.way_closed_until = clock.mono() + WAY_CLOSED_MS
    log('warn', 'account.way_closed', { account: it.name, reason: why })
    recordProxyTest(db, it.proxy_id, why, clock.now())
  }

  reload()

  return {
    lease(use, avoid = []) {
      look()
      if (members.size === 0)
        return deps.allow_anonymous && !avoid.includes(ANONYMOUS.id) ? ANONYMOUS : null
      const offers = [...members.values()].flatMap((it) => offer(it, use) ?? [])
      const blind: string[] = []
      for (;;) {
        const chosen = choose(offers, [...avoid, ...blind])
        if (chosen === null) return null
        const { it } = chosen
        const eyes = eyesOf(it, clock, changed)
        if (eyes === null) {
          blind.push(it.id)
          continue
        }
        it.used = leases++
        it.last_used_at = clock.now()
        it.unwritten.add('times')
        return eyes
      }
    },
    lend(name) {
      look()
      const it = [...members.values()].find((member) => member.name === name)
      if (!it) return { ok: false, why: 'absent' }
      if (it.secrets.kind === 'oauth') return { ok: false, why: 'oauth' }
      const { state } = it.standing
      if (state !== 'ready') return { ok: false, why: state }
      const eyes = eyesOf(it, clock, changed)
      if (eyes === null) return { ok: false, why: 'needs_login' }
      const session: Session = { cookies: [{ name: 'lent', value: it.id }], proxy: null }
      lent.set(session, eyes)
      it.last_used_at = clock.now()
      it.unwritten.add('times')
      return { ok: true, session }
    },
    own: (session) => lent.get(session) ?? null,
    report(eyes, fault) {
      const it = members.get(eyes.id)
      // The other faults were heard of as they happened, and some are our own pacer's.
      if (it && fault?.kind === 'login_required') care.heard(it, fault)
    },
    heard({ eyes, path_kind, fault }) {
      const it = members.get(eyes)
      if (!it) return
      if (fault?.kind === 'unavailable' && fault.trouble) return closeWay(it, fault.trouble)
      // Whoever asks who it is judges the answer; only that there is one is news.
      if (path_kind === 'me' && fault !== null) return
      care.heard(it, fault)
    },
    usable() {
      look()
      if (members.size === 0) return deps.allow_anonymous
      return [...members.values()].some(
        (it) => it.standing.state === 'ready' && eyesOf(it, clock, changed) !== null,
      )
    },
    reload,
    adopt,
    async probe(id) {
      reload()
      const it = members.get(id)
      if (!it) return 'absent'
      if (it.busy) return 'busy'
      const found: (Finding | null)[] = []
      await start(it, async (member) => void found.push(await care.probe(member)))
      return found[0]?.kind ?? null
    },
    list() {
      look()
      return [...members.values()].map((it) => ({
        name: it.name,
        state: it.standing.state,
        // Asked for by who wants it: asking keeps a share of the budget for reads.
        get requests() {
          return it.standing.state === 'ready' ? craft.headroom(it.id, 'read').requests : 0
        },
      }))
    },
    turn() {
      reload()
      look()
      for (const it of members.values()) {
        if (chores.size >= AT_ONCE) break
        const chore = choreOf(it, clock.now(), clock.mono())
        if (chore !== null) void start(it, work[chore])
      }
      sayIfEmpty()
      const now = clock.now()
      if ([...members.values()].some(({ unwritten }) => unwritten.has('standing'))) write()
      else if (now >= write_at) write()
      // Nobody waits for the hour in which an account was last used.
      else if ([...members.values()].some(({ unwritten }) => unwritten.size > 0))
        write_at = Math.min(write_at, now + WRITE_TIMES_AFTER_MS)
      const next = [...members.values()].map((it) => nextChoreAt(it, now, clock.mono()))
      return Promise.resolve(Math.min(write_at, ...next))
    },
    async idle() {
      while (chores.size > 0) await Promise.all(chores)
      write()
    },
  }
}

/** Whether it can be used, or time alone will make it so. */
const isHopeful = ({ standing: { state, state_reason } }: Member) =>
  state === 'ready' || (state === 'cooling' && state_reason === 'throttled')

/** Whether it is too early to wake somebody for it: it is being found out what is wrong, or mended. */
const isExpectedBack = (it: Member) =>
  it.standing.state === 'ready' ||
  it.standing.state === 'cooling' ||
  (signInAt(it) !== null && it.login_failures === 0)

const hasEyes = ({ jar, token }: Member) => jar !== null || token !== null

// Only a code: what lies around an error may hold an address or a secret.
function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? error.name : 'unknown'
}

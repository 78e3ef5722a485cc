import type { Fault } from '../core/outcome.ts'
import { choose } from '../core/planning.ts'
import type { AccountState, Finding } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Ring } from '../core/seal.ts'
import type { Session } from '../core/session.ts'
import type { Clock, Log } from '../outside.ts'
import { ANONYMOUS, type Eyes, type Use } from '../platform/platform.ts'
import { type Db, isStorageError } from '../store/db.ts'
import { recordProxyTest } from '../store/proxies.ts'
import { createCare } from './care.ts'
import { createChores } from './chores.ts'
import type { Craft } from './craft.ts'
import { eyesOf, type Member, nextChoreAt, signInAt } from './member.ts'
import { createMembers } from './members.ts'

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

/** The accounts of the operator, as those who read and write may use them. */
export type Pool = {
  /** The eyes that can best afford one more call, none of those to avoid; null when there are none. */
  lease(use: Use, avoid?: readonly string[]): Eyes | null
  /**
   * The way out for who brings a session of their own: that of an account to read with; as long as there is none, that of
   * any which is not put aside, so that nobody leaves by the direct one where the operator has others. Null: direct.
   */
  way(): Proxy | null
  /** A session of one account, by the operator's name for it; or why it cannot be had now. */
  lend(name: string): { ok: true; session: Session } | { ok: false; why: NotLent }
  /** The eyes of a session that was lent; null for any other. */
  own(session: Session): Eyes | null
  /** What was seen only in the whole of a read: that the platform took these eyes for nobody's. */
  report(eyes: Eyes, fault: Fault | null): void
  /** One request to the platform has ended; `through`: the eyes as they were when it was asked. */
  heard(event: Heard, through?: Eyes): void
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

const WAY_CLOSED_MS = 30_000

/** The operator's accounts: whose turn it is, how each of them stands, and what is done about it. */
export function createPool(deps: PoolDeps): Pool {
  const { db, clock, log, craft, nudge } = deps
  const members = createMembers(deps)
  const { look, reload, changed } = members
  const { current, exchanged } = members
  const care = createCare({ craft, clock, log, changed, current, exchanged, signal: deps.signal })
  const chores = createChores({ care, current, clock, log, nudge })
  /** The eyes of the sessions that were lent. What such a session says itself is never sent. */
  const lent = new WeakMap<Session, Eyes>()
  let empty = false

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
    const meant = members.all().filter(({ standing }) => standing.state !== 'paused')
    const none = meant.length > 0 && !meant.some(isExpectedBack)
    if (none && !empty) log('warn', 'pool.empty', { count: meant.length })
    empty = none
  }

  /** A way out that fails is left alone for a while; whoever leaves through it is asked last. */
  function closeWay(it: Member, why: string) {
    if (it.way_closed_until > clock.mono() || it.proxy_id === null) return
    it.way_closed_until = clock.mono() + WAY_CLOSED_MS
    log('warn', 'account.way_closed', { account: it.name, reason: why })
    try {
      recordProxyTest(db, it.proxy_id, why, clock.now())
    } catch (error) {
      // It is for the operator to read: whoever asked through it must not fail for it.
      if (!isStorageError(error)) throw error
    }
  }

  reload()

  function lease(use: Use, avoid: readonly string[] = []): Eyes | null {
    look()
    const all = members.all()
    if (all.length === 0)
      return deps.allow_anonymous && !avoid.includes(ANONYMOUS.id) ? ANONYMOUS : null
    const offers = all.flatMap((it) => offer(it, use) ?? [])
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
      members.servedLast(it)
      members.use(it)
      return eyes
    }
  }

  return {
    lease,
    way() {
      const eyes = lease('read')
      if (eyes !== null) return eyes.proxy
      const ways = members.all().filter(({ standing }) => standing.state !== 'paused')
      const open = ways.filter((it) => it.way_closed_until <= clock.mono())
      const [it] = (open.length > 0 ? open : ways).toSorted((one, other) => one.used - other.used)
      if (it) members.servedLast(it)
      return it?.proxy ?? null
    },
    lend(name) {
      look()
      const it = members.all().find((member) => member.name === name)
      if (!it) return { ok: false, why: 'absent' }
      if (it.secrets.kind === 'oauth') return { ok: false, why: 'oauth' }
      const { state } = it.standing
      if (state !== 'ready') return { ok: false, why: state }
      const eyes = eyesOf(it, clock, changed)
      if (eyes === null) return { ok: false, why: 'needs_login' }
      const session: Session = { cookies: [{ name: 'lent', value: it.id }], proxy: null }
      lent.set(session, eyes)
      members.use(it)
      return { ok: true, session }
    },
    own: (session) => lent.get(session) ?? null,
    report(eyes, fault) {
      const it = members.get(eyes.id)
      // The other faults were heard of as they happened, and some are our own pacer's.
      if (it && fault?.kind === 'login_required' && !isOutdated(it, eyes)) care.heard(it, fault)
    },
    heard({ eyes, path_kind, fault }, through) {
      const it = members.get(eyes)
      if (!it) return
      if (fault?.kind === 'unavailable' && fault.trouble) return closeWay(it, fault.trouble)
      // Whoever asks who it is judges the answer; only that there is one is news.
      if (path_kind === 'me' && fault !== null) return
      if (fault?.kind === 'login_required' && through && isOutdated(it, through)) return
      care.heard(it, fault)
    },
    usable() {
      look()
      const all = members.all()
      if (all.length === 0) return deps.allow_anonymous
      return all.some((it) => it.standing.state === 'ready' && eyesOf(it, clock, changed) !== null)
    },
    reload,
    adopt: members.adopt,
    async probe(id) {
      reload()
      const it = members.get(id)
      if (!it) return 'absent'
      return it.busy ? 'busy' : chores.probe(it)
    },
    list() {
      look()
      return members.all().map((it) => ({
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
      const all = members.all()
      chores.startDue(all)
      sayIfEmpty()
      const now = clock.now()
      const write_at = members.writeDue(now)
      const next = all.map((it) => nextChoreAt(it, now, clock.mono()))
      return Promise.resolve(Math.min(write_at, ...next))
    },
    async idle() {
      await chores.idle()
      reload()
      members.write()
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

/** Whether eyes still hold a token that was replaced since: that it is not taken says nothing of the new one. */
const isOutdated = ({ secrets, token }: Member, { bearer }: Eyes) =>
  secrets.kind === 'oauth' && bearer !== (token?.value ?? null)

const hasEyes = ({ jar, token }: Member) => jar !== null || token !== null

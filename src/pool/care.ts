import type { Fault } from '../core/outcome.ts'
import { nextLoginAt } from '../core/planning.ts'
import {
  afterAnswer,
  afterProbe,
  type Finding,
  needsLogin,
  signedIn,
  type Standing,
} from '../core/pool.ts'
import type { Clock, Log } from '../outside.ts'
import type { AccountSecrets } from '../store/accounts.ts'
import { type Craft, findingOf, type Renewed } from './craft.ts'
import { credentialsOf, eyesOf, type Member } from './member.ts'

type CareDeps = {
  craft: Craft
  clock: Clock
  log: Log
  /** Something was learned that is to be written down. */
  changed: () => void
  /** The same account as it is held now: the operator may have changed it while something was asked. */
  current: (it: Member) => Member
  /** Notes secrets that were given in exchange for others; false where others stand there by now. */
  exchanged: (it: Member, before: AccountSecrets, after: AccountSecrets) => boolean
  /** Aborts when the daemon stops: what is cut short by that has shown nothing. */
  signal: AbortSignal
}

/** A token this young that is refused will not become better by being renewed. */
const YOUNG_MS = 60_000
const RENEW_WAIT_MS = 30_000
/** However short a token lasts, the next one is not asked for before this. */
const RENEW_AGAIN_MS = 5_000
const RENEW_DOUBLINGS_MAX = 5
/** Sign-ins that came to nothing, after which a person is asked to look. */
const TRIES_BEFORE_ASKING = 3

/** What is done for one account: hearing how its requests end, asking who it is, signing it in, renewing its token. */
export function createCare(deps: CareDeps) {
  const { craft, clock, log, changed, signal } = deps

  /** Says a new state once, and asks for a person where nothing else helps. */
  function move(it: Member, standing: Standing) {
    const before = it.standing
    if (before === standing) return
    it.standing = standing
    it.unwritten.add('standing')
    const same = before.state === standing.state && before.state_reason === standing.state_reason
    if (!same) say(it)
    changed()
  }

  function say(it: Member) {
    const { state, state_reason, cooling_until } = it.standing
    const told = { account: it.name, reason: state_reason }
    switch (state) {
      case 'ready':
        return log('info', 'account.ready', { account: it.name })
      case 'cooling':
        return log('info', 'account.cooling', {
          ...told,
          rest_ms: (cooling_until ?? 0) - clock.now(),
        })
      case 'needs_login':
        return credentialsOf(it) === null
          ? log('warn', 'account.needs_login', told)
          : log('warn', 'account.logged_out', told)
      case 'suspended':
        return log('warn', 'account.suspended', told)
      case 'locked':
        return log('warn', 'account.locked', told)
      case 'paused':
        return log('info', 'account.paused', told)
    }
  }

  /** One answer of the platform, or what was seen in it afterwards. */
  function heard(it: Member, fault: Fault | null) {
    const now = clock.now()
    if (fault === null) {
      it.last_ok_at = now
      it.unwritten.add('times')
    }
    if (fault?.kind === 'login_required' && it.secrets.kind === 'oauth') return refused(it)
    move(it, afterAnswer(it.standing, fault, now))
  }

  /** A token that is not taken any more is renewed once; a fresh one that is not taken was granted to nobody. */
  function refused(it: Member) {
    if (clock.mono() - it.token_at < YOUNG_MS) return giveUpToken(it)
    it.token = null
    it.unwritten.add('jar')
    changed()
  }

  const giveUpToken = (it: Member) => {
    it.token = null
    it.unwritten.add('jar')
    move(it, needsLogin(clock.now(), 'token_refused'))
  }

  /** What was found; null when nothing could be asked, or the daemon stops. */
  async function probe(it: Member): Promise<Finding | null> {
    const eyes = eyesOf(it, clock, changed)
    if (eyes === null) {
      move(it, needsLogin(clock.now(), 'logged_out'))
      return null
    }
    const me = await craft.me(eyes)
    if (signal.aborted) return null
    if (me.ok && me.value !== null) {
      it.username = me.value.name
      it.last_ok_at = clock.now()
    }
    const finding = findingOf(me, it.secrets)
    if (finding.kind === 'nobody' && it.secrets.kind === 'oauth') refused(it)
    else move(it, afterProbe(it.standing, finding, clock.now()))
    return finding
  }

  async function signIn(it: Member): Promise<void> {
    const credentials = credentialsOf(it)
    if (credentials === null) return
    const ended = await craft.signIn({ ...credentials, proxy: it.proxy })
    if (signal.aborted && !ended.ok) return
    const now = clock.now()
    it.login_failures = ended.ok ? 0 : it.login_failures + 1
    it.next_login_at = nextLoginAt(it.login_failures, now, ended.ok ? 0 : ended.retry_after_s)
    it.unwritten.add('standing')
    if (ended.ok) {
      it.jar = ended.jar
      it.username = ended.username
      it.unwritten.add('jar')
      log('info', 'account.signed_in', { account: it.name })
      return move(it, signedIn(now))
    }
    const state_reason = ended.reason ?? it.standing.state_reason
    it.standing = { ...it.standing, state_reason }
    changed()
    const hopeless = ended.final || ended.reason !== null
    if (hopeless || it.login_failures >= TRIES_BEFORE_ASKING)
      log('warn', 'account.needs_login', { account: it.name, reason: state_reason })
  }

  /** A token for a grant, and the grant as it is from now on. */
  function granted(
    it: Member,
    secrets: AccountSecrets & { kind: 'oauth' },
    { token, refresh_token }: Extract<Renewed, { ok: true }>,
  ) {
    const after = { ...secrets, refresh_token }
    if (!deps.exchanged(it, secrets, after)) return
    it.token = token
    it.token_at = clock.mono()
    it.renew_at = it.token_at + RENEW_AGAIN_MS
    it.renew_failures = 0
    it.unwritten.add('jar')
    changed()
  }

  async function renew(it: Member): Promise<void> {
    const { secrets } = it
    if (secrets.kind !== 'oauth') return
    const { client_id, client_secret, refresh_token } = secrets
    const renewed = await craft.renew({ client_id, client_secret, refresh_token, proxy: it.proxy })
    if (renewed.ok) return granted(deps.current(it), secrets, renewed)
    if (renewed.final) return giveUpToken(it)
    if (signal.aborted) return
    const wait_ms = RENEW_WAIT_MS * 2 ** Math.min(it.renew_failures++, RENEW_DOUBLINGS_MAX)
    it.renew_at = clock.mono() + wait_ms
    log('warn', 'account.token_pending', { account: it.name, rest_ms: wait_ms })
  }

  return { heard, probe, signIn, renew }
}

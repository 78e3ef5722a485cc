import { ApiError, invalid } from '../../../core/base/errors.ts'
import { iso } from '../../../core/base/time.ts'
import {
  type Account,
  listAccounts,
  pauseAccount,
  resumeAccount,
} from '../../../store/accounts/accounts.ts'
import {
  listProxies,
  openProxy,
  type ProxyRow,
  removeProxy,
} from '../../../store/accounts/proxies.ts'
import { listSourceAccounts } from '../../../store/accounts/sources.ts'
import { type Db, transact } from '../../../store/db/connection.ts'
import { action, type ActionDeps } from '../action.ts'

type PoolDeps = Pick<ActionDeps, 'db' | 'ring' | 'clock' | 'pool' | 'requests' | 'allow_anonymous'>

/** An account by its id or its name. */
export function accountOf(db: Db, named: string): Account {
  const account = listAccounts(db).find(({ id, name }) => id === named || name === named)
  if (account) return account
  throw new ApiError('NOT_FOUND', { message: `there is no account "${named.slice(0, 80)}"` })
}

export function toAccount({ db, clock, pool, requests }: PoolDeps, it: Account) {
  const budget = pool.budget(it.id)
  const usage = requests.of(it.id)
  return {
    id: it.id,
    name: it.name,
    kind: it.kind,
    username: it.username,
    status: it.state,
    since: iso(it.state_since),
    paused: it.state === 'paused',
    needs_login: it.state === 'needs_login',
    proxy: listProxies(db).find(({ id }) => id === it.proxy_id)?.name ?? null,
    budget: budget && {
      limit_per_minute: budget.limit_per_minute,
      remaining: budget.remaining,
      resets_at: budget.resets_in_ms === null ? null : iso(clock.now() + budget.resets_in_ms),
    },
    cooling_until: iso(it.cooling_until),
    session_ends: it.kind === 'session' ? iso(it.jar_expires_at) : null,
    last_used_at: iso(it.last_used_at),
    last_ok_at: iso(it.last_ok_at),
    last_error: it.state_reason,
    requests_24h: usage.requests,
    blocked_24h: usage.blocked,
    created_at: iso(it.created_at),
  }
}

function toProxy({ db, ring }: PoolDeps, { id, name, last_ok_at, last_error }: ProxyRow) {
  const proxy = openProxy(db, ring, id)
  const status = last_error !== null ? 'failing' : last_ok_at === null ? 'untested' : 'ok'
  return {
    id,
    name,
    scheme: proxy?.scheme ?? null,
    // Host and port only: the rest of an address may hold credentials.
    host: proxy && `${proxy.host}:${proxy.port}`,
    credentials: proxy !== null && proxy.username !== null,
    accounts: listAccounts(db).filter(({ proxy_id }) => proxy_id === id).length,
    status,
    // A failed test stores its reason only.
    last_tested_at: last_error === null ? iso(last_ok_at) : null,
    last_ok_at: iso(last_ok_at),
    last_error,
  }
}

const poolState = (deps: PoolDeps) => ({
  accounts: listAccounts(deps.db).map((it) => toAccount(deps, it)),
  proxies: listProxies(deps.db).map((it) => toProxy(deps, it)),
  sources: listSourceAccounts(deps.db).map((it) => ({
    source: it.source,
    created_at: iso(it.created_at),
  })),
  anonymous: { allowed: deps.allow_anonymous },
  counted_since: iso(deps.requests.since()),
})

export const accountList = action({
  command: 'account list',
  summary: 'lists the accounts of the pool with their status',
  route: 'GET /pool',
  operands: [],
  examples: ['forumd account list', 'forumd account list --json | jq .accounts'],
  run: poolState,
  print: ({ accounts, sources }: ReturnType<typeof poolState>) => ({
    rows: [
      ...accounts.map((it) => ({
        name: it.name,
        kind: it.kind,
        username: it.username,
        status: it.status,
        reason: it.last_error,
        proxy: it.proxy,
        last_used_at: it.last_used_at,
      })),
      ...sources.map(({ source }) => ({
        name: source,
        kind: 'source',
        username: null,
        status: 'connected',
        reason: null,
        proxy: null,
        last_used_at: null,
      })),
    ],
    none: 'There is no account yet: add one with forumd account add NAME --jar FILE.',
  }),
})

/** An action that changes the state of one account. */
const changing = (
  [verb, action_name]: ['pause', 'account.paused'] | ['resume', 'account.resumed'],
  put: typeof pauseAccount | typeof resumeAccount,
  text: {
    summary: string
    notes: string
    print: (account: { name: string; needs_login: boolean }) => string
  },
) =>
  action<{ account: string }>({
    command: `account ${verb}`,
    route: `POST /pool/:account/${verb}`,
    operands: ['account'],
    examples: [`forumd account ${verb} main`],
    ...text,
    run(call) {
      const { db, ring, clock, log, pool, record } = call
      const { id, name } = transact(db, () => {
        const account = accountOf(db, call.input.account)
        put(db, ring, account.id, clock.now())
        record({ action: action_name, subject: account.id, subject_name: account.name })
        return account
      })
      pool.adopt()
      if (verb === 'pause') log('info', 'account.paused', { account: name, reason: 'operator' })
      else log('info', 'account.resumed', { account: name })
      return toAccount(call, accountOf(db, id))
    },
  })

export const pause = changing(['pause', 'account.paused'], pauseAccount, {
  summary: 'stops using an account until you resume it',
  notes: 'Requests in progress are finished.',
  print: ({ name }) => `${name} is paused`,
})

export const resume = changing(['resume', 'account.resumed'], resumeAccount, {
  summary: 'uses an account again after a pause or a failure',
  notes: 'Its session is checked at once, and the account set aside again if it is not valid.',
  print: ({ name, needs_login }) =>
    needs_login
      ? `${name} has no cookies yet: forumd account login ${name}`
      : `${name} is in use again`,
})

export const proxyList = action({
  command: 'proxy list',
  summary: 'lists proxies, without their credentials',
  route: 'GET /proxies',
  operands: [],
  examples: ['forumd proxy list', 'forumd proxy list --json | jq .proxies'],
  run: (deps) => ({ proxies: poolState(deps).proxies }),
  print: ({ proxies }: Pick<ReturnType<typeof poolState>, 'proxies'>) => ({
    rows: proxies.map((it) => ({
      name: it.name,
      address: it.scheme && `${it.scheme}://${it.host}`,
      credentials: it.credentials,
      accounts: it.accounts,
      last_error: it.last_error,
    })),
    none: 'There is no proxy yet: add one with forumd proxy add NAME ADDRESS.',
  }),
})

export const proxyRemove = action<{ proxy: string }>({
  command: 'proxy remove',
  summary: 'removes an unused egress proxy',
  route: 'POST /proxies/:proxy/remove',
  operands: ['proxy'],
  examples: ['forumd proxy remove home'],
  run: ({ db, input: { proxy: named }, record }) =>
    transact(db, () => {
      const proxy = listProxies(db).find(({ id, name }) => id === named || name === named)
      if (proxy === undefined)
        throw new ApiError('NOT_FOUND', { message: `there is no proxy "${named.slice(0, 80)}"` })
      const { id, name } = proxy
      const pinned = removeProxy(db, id)
      if (pinned.length > 0)
        throw invalid(
          'proxy',
          `${pinned.join(', ')} would lose its proxy: remove the account first`,
        )
      record({ action: 'proxy.removed', subject: id, subject_name: name })
      return { id, name, removed: true }
    }),
  print: ({ name }: { name: string }) => `${name} is removed`,
})

import * as z from 'zod'

import { ApiError, invalid } from '../../../core/base/errors.ts'
import type { Outcome } from '../../../core/base/result.ts'
import { isPoolName, POOL_NAME_RULE } from '../../../core/base/text.ts'
import { iso } from '../../../core/base/time.ts'
import { parseProxy } from '../../../core/forum/proxy.ts'
import {
  type Account,
  listAccounts,
  pauseAccount,
  resumeAccount,
} from '../../../store/accounts/accounts.ts'
import {
  findProxyByName,
  insertProxy,
  listProxies,
  openProxy,
  type ProxyRow,
  recordProxyTest,
  removeProxy,
} from '../../../store/accounts/proxies.ts'
import { listSourceAccounts } from '../../../store/accounts/sources.ts'
import { type Db, transact } from '../../../store/db/connection.ts'
import { action, type ActionDeps } from '../action.ts'

type PoolDeps = Pick<ActionDeps, 'db' | 'ring' | 'clock' | 'pool' | 'requests' | 'allow_anonymous'>

/** The name of a new account or proxy. */
export const poolName = () =>
  z
    .string({
      error: ({ input }) =>
        input === undefined
          ? `name is required: ${POOL_NAME_RULE}`
          : `name must be ${POOL_NAME_RULE}`,
    })
    .refine(isPoolName, `name must be ${POOL_NAME_RULE}`)

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

/** A proxy by its id or its name. */
function proxyNamed(db: Db, named: string): ProxyRow {
  const proxy = listProxies(db).find(({ id, name }) => id === named || name === named)
  if (proxy !== undefined) return proxy
  throw new ApiError('NOT_FOUND', { message: `there is no proxy "${named.slice(0, 80)}"` })
}

export const proxyAdd = action<{ name: string; address: string }>({
  command: 'proxy add',
  summary: 'adds an egress proxy',
  route: 'POST /proxies',
  operands: ['name', 'address'],
  secret: 'address',
  fields: () => ({
    name: poolName(),
    address: z.string('address is required: scheme://user:password@host:port'),
  }),
  examples: [
    'forumd proxy add home socks5h://10.0.0.2:1080',
    'forumd proxy add paid --address-file paid.proxy',
    'PROXY=http://me:secret@proxy.example:3128 forumd proxy add paid --address-file env:PROXY',
  ],
  notes:
    'An address is scheme://user:password@host:port with http, https, socks4, socks5 or socks5h. An address with credentials is not accepted on the command line. FILE may be - for standard input or env:NAME.',
  run(call) {
    const { db, ring, clock, random, input, record } = call
    const { name } = input
    const parsed = parseProxy(input.address)
    if (!parsed.ok) throw invalid('address', `the address of a proxy ${parsed.why}`)
    return transact(db, () => {
      if (findProxyByName(db, name) !== null)
        throw invalid('name', `name: there is a proxy "${name}" already`)
      const id = `prx_${random.uuid()}`
      insertProxy(db, ring, { id, name, proxy: parsed.proxy, created_at: clock.now() })
      record({ action: 'proxy.added', subject: id, subject_name: name })
      return toProxy(call, proxyNamed(db, id))
    })
  },
  print: ({ name, scheme, host }: ReturnType<typeof toProxy>) => `${name} uses ${scheme}://${host}`,
})

/** The failure of an egress in one word; null when any answer of the platform arrived. */
export function proxyError(outcome: Outcome<unknown>): string | null {
  if (outcome.ok) return null
  const { fault } = outcome
  if (fault.kind === 'proxy') return fault.trouble ?? 'failed'
  if (fault.kind === 'timeout') return 'timeout'
  if (fault.kind !== 'unavailable' || fault.status !== null) return null
  return fault.trouble ?? 'unreachable'
}

type ProxyTests = { proxies: { name: string; verdict: 'works' | 'fails'; error: string | null }[] }

export const proxyTest = action<{ proxy?: string }>({
  command: 'proxy test',
  summary: 'sends a request to the platform through each proxy',
  route: 'POST /proxies/test',
  operands: ['proxy'],
  fields: () => ({ proxy: z.string('proxy must be the name of a proxy').optional() }),
  examples: ['forumd proxy test', 'forumd proxy test home'],
  notes: 'Exit code 0 when the platform answered through each of them, with any status.',
  async run({ db, ring, clock, tryProxy, input }): Promise<ProxyTests> {
    const { proxy: named } = input
    const tested: ProxyTests['proxies'] = []
    for (const { id, name } of named === undefined ? listProxies(db) : [proxyNamed(db, named)]) {
      const proxy = openProxy(db, ring, id)
      if (proxy === null) continue
      const outcome = await tryProxy(proxy)
      if (outcome === null)
        throw new ApiError('NOT_FOUND', {
          message: 'the configuration has no source of the kind reddit, to which proxies belong',
        })
      const error = proxyError(outcome)
      recordProxyTest(db, id, error, clock.now())
      tested.push({ name, verdict: error === null ? 'works' : 'fails', error })
    }
    return { proxies: tested }
  },
  print: ({ proxies }: ProxyTests) => ({
    rows: proxies,
    none: 'There is no proxy yet: add one with forumd proxy add NAME ADDRESS.',
  }),
  failed: ({ proxies }: ProxyTests) => proxies.some(({ error }) => error !== null),
})

export const proxyRemove = action<{ proxy: string }>({
  command: 'proxy remove',
  summary: 'removes an unused egress proxy',
  route: 'POST /proxies/:proxy/remove',
  operands: ['proxy'],
  examples: ['forumd proxy remove home'],
  run: ({ db, input: { proxy: named }, record }) =>
    transact(db, () => {
      const { id, name } = proxyNamed(db, named)
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

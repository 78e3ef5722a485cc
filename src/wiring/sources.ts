import { createPool, type Pool } from '../accounts/pool.ts'
import type { OperatedSource, SourceDesk } from '../api/operator/sources.ts'
import type { SourceInfo } from '../api/reads/sources.ts'
import { checkSource } from '../config/added-sources.ts'
import {
  apiKeyOf,
  type Config,
  homeOf,
  type PlatformConfig,
  requestsPerMinute,
  sourceKey,
} from '../config/schema.ts'
import { guardLines, REFUSALS } from '../core/base/address.ts'
import { describe } from '../core/base/fault-texts.ts'
import { faultText } from '../core/base/result.ts'
import type { Ring } from '../core/base/secrets.ts'
import { iso } from '../core/base/time.ts'
import type { WatchableSource } from '../core/filter/feeds.ts'
import { parsePermalink, type PermalinkTarget } from '../core/forum/permalink.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { CacheState } from '../gateway/cache.ts'
import type { Identities } from '../gateway/identity.ts'
import type { LoginSuccess, SignInRequest } from '../gateway/login.ts'
import { createReads, type Reads } from '../gateway/reads.ts'
import { createWatch, type Watch } from '../gateway/watch.ts'
import { type AccountWrites, createSourceSignIn, createSourceWrites } from '../gateway/writes.ts'
import type { Egress } from '../net/egress.ts'
import type { Guard } from '../net/guard.ts'
import { createLeftOut, fenced } from '../platforms/fence.ts'
import { createHosts, type Hosts } from '../platforms/hosts.ts'
import { kindOf, KINDS } from '../platforms/kinds.ts'
import type { PaceStore } from '../platforms/pace.ts'
import { ANONYMOUS, type Identity } from '../platforms/port.ts'
import type { RequestEvent } from '../platforms/reddit/request.ts'
import { createSourceTrace, type SourceState, type SourceTrace } from '../platforms/source-state.ts'
import { itemAt, type Source, unsupported, withUnsupported } from '../platforms/source.ts'
import type { AccessEnds } from '../runtime/access-ends.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { findHostPace, putHostPace } from '../store/accounts/sources.ts'
import type { Db } from '../store/db/connection.ts'
import { type OpenPlatform, openPlatform, platformWrites } from './platform.ts'

type ConfiguredSource = Config['source'][number]

export type ReadySource = {
  /** Name by which items and feeds know it: {@link HOME} for the first with accounts. */
  key: string
  name: string
  config: ConfiguredSource
  source: Source
  reads: Reads
  /** Null: it cannot be monitored. */
  watch: Watch | null
  writes: {
    acting: AccountWrites
    signIn: (request: SignInRequest) => Promise<LoginSuccess>
  }
  /** Requests a minute that it allows now. */
  perMinute(): number
  state(): SourceState
  /** Null: requests are made without an account, or with the operator's key. */
  accounts: (Omit<OpenPlatform, 'source' | 'hosts'> & { pool: Pool }) | null
}

type Deps = Pick<Runtime, 'clock' | 'log' | 'random'> & {
  egress: Egress
  hosts?: Hosts
  budget: ByteBudget
  on_read: (state: CacheState) => void
  on_recovered?: () => void
  /** Called for each row that is left out. */
  on_row?: (source: string) => void
  /** Keeps the last requests to a host over a restart. */
  paceOf?: (host: string) => PaceStore
}

type AllDeps = Deps & {
  runtime: Runtime
  db: Db
  ring: Ring
  guard: Guard
  signal: AbortSignal
  ends: AccessEnds
  /** Learns of each request to a source with accounts. */
  on_request: (source: string, pool: Pool, event: RequestEvent, through: Identity) => void
  wakePool: () => void
  /** Registers work of polls that should end within `limit_ms`. */
  expect: <T>(limit_ms: number, work: Promise<T>) => Promise<T>
}

/** Creates the adapter of one configured source. Nothing is requested yet. */
export const createSource = (
  config: ConfiguredSource,
  { requests }: Pick<Config, 'requests'>,
  deps: Pick<Deps, 'clock' | 'log' | 'random' | 'egress' | 'hosts' | 'on_recovered' | 'on_row'>,
  trace: SourceTrace = createSourceTrace(deps.clock),
): Source => {
  const { name, base_url } = config
  const api_key = apiKeyOf(config)
  const left_out = createLeftOut(name, deps)
  const source = kindOf(config.kind).open({
    ...deps,
    ...(config.is_added && { egress: guardedEgress(deps.egress) }),
    left_out: left_out.add,
    trace,
    ...('feeds' in config && { feeds: config.feeds }),
    base_url,
    user_agent: config.user_agent || requests.user_agent,
    requests_per_minute: requestsPerMinute(config),
    is_pace_set: 'requests_per_minute' in config && config.requests_per_minute > 0,
    timeout_ms: requests.timeout_s * 1000,
    credential: api_key === '' ? null : api_key,
    // The operator of the site gave the holder of a key access to its API.
    robots: api_key === '',
  })
  return { ...fenced(source, { ...deps, left_out, name, trace }), left_out: left_out.now }
}

/** The address of an added source was checked once; its name may lead elsewhere since, and its target be allowed no more. */
const guardedEgress = ({ send, close }: Egress): Egress => ({
  send: (request) => send({ ...request, route: { ...request.route, guarded: true } }),
  close,
})

/** A source without any capability. */
const NOTHING: Source = {
  kind: '',
  url: '',
  capabilities: new Set(),
  reads: withUnsupported({}, () => {
    throw new Error('a source without reads has no comments')
  }),
  watch: null,
  acts: {},
  authorization: null,
  place_examples: [],
  isPlace: () => false,
  targetOf: () => null,
  clock_offset_ms: () => 0,
  isDown: () => false,
  probe: async () => unsupported('probe'),
}

/** The calls below the path of {@link HOME} where there is no such source: each is refused by its capability. */
export const refusingSource = (config: Config, deps: Deps) => {
  const acting = { source: NOTHING, clock: deps.clock, deadline_ms: 0 }
  return {
    source: NOTHING,
    reads: readsOf(NOTHING, config, { ...deps, identities: ONE_WAY, placeOf: () => null }),
    writes: { acting: createSourceWrites(acting), signIn: createSourceSignIn(acting, '') },
  }
}

/** The identity of a source without a pool: anonymous, or with the operator's key for it. */
const ONE_WAY: Identities = { lease: () => ANONYMOUS, takes_sessions: false, report: () => {} }

/** Connects sources of one daemon, which share the pace of their hosts. Nothing is requested yet. */
export function createConnect(config: Config, deps: AllDeps) {
  const hosts = createHosts(deps.clock, deps.paceOf)
  return (it: ConfiguredSource): ReadySource =>
    it.kind === 'reddit'
      ? withAccounts(it, sourceKey(config, it.name), config, deps)
      : withoutAccounts(it, config, { ...deps, hosts })
}

function withoutAccounts(it: ConfiguredSource, config: Config, deps: Deps): ReadySource {
  const { clock } = deps
  const trace = createSourceTrace(clock)
  const source = createSource(it, config, deps, trace)
  const perMinute = () => Math.min(requestsPerMinute(it), source.perMinute?.() ?? Infinity)
  const acting = { source, clock, deadline_ms: config.requests.read_deadline_s * 1000 }
  return {
    key: it.name,
    name: it.name,
    config: it,
    source,
    reads: readsOf(source, config, {
      ...deps,
      identities: ONE_WAY,
      placeOf: (permalink) => itemAt(permalink, source),
    }),
    watch: createWatch({ name: it.name, source, per_minute: perMinute, clock }),
    writes: {
      acting: createSourceWrites(acting),
      signIn: createSourceSignIn(acting, homeOf(config)?.session_cookie ?? ''),
    },
    perMinute,
    state: trace.state,
    accounts: null,
  }
}

function withAccounts(it: PlatformConfig, key: string, config: Config, deps: AllDeps): ReadySource {
  const { runtime, clock, log, db, ring, signal } = deps
  const { source, ...opened } = openPlatform(
    it,
    config,
    { ...runtime, log },
    {
      ...deps,
      on_request: (event, through) => deps.on_request(key, pool, event, through),
    },
  )
  const pool: Pool = createPool({
    db,
    ring,
    clock,
    log,
    source: key,
    client: opened.client,
    allow_anonymous: it.accounts.allow_anonymous,
    signal,
    nudge: deps.wakePool,
  })
  const { hosts, ...accounts } = opened
  return {
    key,
    name: it.name,
    config: it,
    source,
    reads: readsOf(source, config, {
      ...deps,
      identities: pool,
      placeOf: (permalink) => parsePermalink(permalink, hosts),
    }),
    watch: createWatch({
      name: key,
      source,
      identities: pool,
      per_minute: pool.requestsPerMinute,
      clock,
      deadline_ms: config.requests.read_deadline_s * 1000,
      expect: deps.expect,
    }),
    writes: platformWrites({ source, ...opened }, config, deps, pool),
    perMinute: pool.requestsPerMinute,
    state: opened.forum.state,
    accounts: { ...accounts, pool },
  }
}

/** Keeps the last requests to a host in the database. Without space on the disk they are lost with the process. */
export const hostPaceStore = (
  { db, log }: { db: Db } & Pick<Deps, 'log'>,
  host: string,
): PaceStore => ({
  load: () => findHostPace(db, host),
  save(text) {
    try {
      putHostPace(db, host, text)
    } catch (error) {
      log('debug', 'source.pace_not_stored', { host, error: String(error) })
    }
  },
})

export const watchableOf = (
  config: Config,
  deps: Parameters<typeof createSource>[2],
): ReadonlyMap<string, WatchableSource> =>
  new Map(
    config.source.flatMap((it): [string, WatchableSource][] => {
      const { watch, has_listings, capabilities, isPlace } = createSource(it, config, deps)
      const proof = has_listings === true ? 'time_listing' : watch?.proof
      if (proof === undefined) return []
      const has = (name: Parameters<WatchableSource['has']>[0]) => capabilities.has(name)
      return [[sourceKey(config, it.name), { name: it.name, proof, has, isPlace }]]
    }),
  )

const deadlineOf = ({ requests }: Pick<Config, 'requests'>, { clock }: Pick<Runtime, 'clock'>) =>
  clock.now() + requests.read_deadline_s * 1000

const PROBE_REQUESTS = 5

export const probeSource = (
  source: Source,
  config: Pick<Config, 'requests'>,
  runtime: Pick<Runtime, 'clock'>,
) =>
  source.probe({
    requests: PROBE_REQUESTS,
    deadline_at: deadlineOf(config, runtime),
    use: 'poll',
  })

/** Ways to get the operator's credential at a source; null: it has no such way. */
function accessOf(
  { acts: { login }, authorization }: Source,
  config: Pick<Config, 'requests'>,
  runtime: Pick<Runtime, 'clock' | 'random'>,
) {
  return {
    authorize:
      authorization === null
        ? null
        : async () => {
            const request = await authorization.begin({
              application_name: 'forumd',
              auth_redirect: null,
              random: runtime.random,
            })
            const { authorize_url } = request
            return {
              authorize_url,
              read: (answer: string) => authorization.read(answer, request),
            }
          },
    signIn:
      login === undefined
        ? null
        : (account: Parameters<typeof login>[0]) =>
            login(account, { deadline_at: deadlineOf(config, runtime) }),
  }
}

/** Looks for what is at an address. `guarded`: only where an added source may be. */
export async function discoverBy(
  {
    egress,
    config: { requests },
    guarded,
  }: { egress: Egress; config: Pick<Config, 'requests'>; guarded: boolean },
  address: string,
) {
  const { discover } = await import('../platforms/feed/discovery.ts')
  return discover(address, async (asked) => {
    const sent = await egress.send({
      url: asked,
      headers: { 'user-agent': requests.user_agent, accept: '*/*' },
      route: { proxy: null, guarded },
      timeout_ms: requests.timeout_s * 1000,
    })
    const { status = 0, body: text = '', headers } = sent.ok ? sent.answer : {}
    const location = status >= 300 && status < 400 ? (headers?.get('location') ?? null) : null
    const to = location === null ? null : (URL.parse(location, asked)?.href ?? null)
    return { asked, url: asked, status, text, to }
  })
}

type DeskDeps = Pick<Runtime, 'clock' | 'random'> & {
  egress: Egress
  guard: Guard
  sources: ReadonlyMap<string, ReadySource>
  change: SourceChange
}

/** Changes the sources of the running daemon. */
export type SourceChange = {
  /** Creates the client of a source. Nothing of the daemon knows it yet. */
  connect(source: ConfiguredSource): ReadySource
  start(source: ReadySource): void
  /** Ends one that is stored no more. */
  end(name: string): void
}

export function createSourceDesk(config: Config, deps: DeskDeps): SourceDesk {
  const { guard, sources, change } = deps
  const sourceNamed = (name: string) => sources.get(sourceKey(config, name))?.source
  /** A sentence on an address that the daemon may not request; null: it may. */
  async function refusalOf(address: string): Promise<string | null> {
    const guarded = await guard(address)
    if (guarded.ok) return null
    const lines = guardLines(address, guarded.refusal)
    const way =
      lines === null ? '' : `. These lines of the configuration allow it: ${lines.join(' ')}`
    return REFUSALS[guarded.refusal] + way
  }
  const ways = (name: string) => {
    const source = sourceNamed(name)
    return source === undefined ? null : accessOf(source, config, deps)
  }
  async function tested(source: Source) {
    const answer = await probeSource(source, config, deps)
    return answer.ok
      ? { fault: null, text: null, ...answer.value }
      : {
          fault: faultText(answer.fault),
          text: describe(answer.fault).text,
          title: null,
          version: null,
          notes: [],
        }
  }
  return {
    kinds: KINDS.map(({ kind, title, address }) => ({ kind, title, address })),
    async problems(added) {
      const checked = checkSource(config, added)
      if (!checked.ok)
        return checked.problems.map(({ key, sentence }) => ({ field: key, sentence }))
      // The key of an operator does not give access to the network of the daemon, as its configuration does.
      const sentence = added.base_url === '' ? null : await refusalOf(added.base_url)
      return sentence === null ? [] : [{ field: 'base_url', sentence }]
    },
    async discover(address) {
      const { pasted } = await import('../platforms/feed/discovery.ts')
      const url = pasted(address)?.href
      const why = url === undefined ? null : await refusalOf(url)
      return why === null
        ? discoverBy({ egress: deps.egress, config, guarded: true }, address)
        : { found: null, why, asked: [] }
    },
    async open(added, { untested }) {
      const checked = checkSource(config, added)
      // The first Reddit-style source has the accounts, on which all wiring depends.
      if (!checked.ok || (checked.source.kind === 'reddit' && homeOf(config) === null)) return null
      const ready = change.connect({ ...checked.source, is_added: true })
      return {
        tested: untested ? null : await tested(ready.source),
        start: () => change.start(ready),
      }
    },
    end: change.end,
    async probe(name) {
      const source = sourceNamed(name)
      return source === undefined ? null : tested(source)
    },
    async signIn(name, account) {
      return (await ways(name)?.signIn?.(account)) ?? null
    },
    async authorize(name) {
      const begun = await ways(name)?.authorize?.()
      if (begun === undefined) return null
      return {
        authorize_url: begun.authorize_url,
        read(answer) {
          const read = begun.read(answer)
          return read.ok ? read.value.key : null
        },
      }
    },
  }
}

function readsOf(
  source: Source,
  { requests, limits }: Config,
  {
    clock,
    budget,
    on_read,
    identities,
    placeOf,
  }: Pick<Deps, 'clock' | 'budget' | 'on_read'> & {
    identities: Identities
    placeOf: (permalink: string) => PermalinkTarget | null
  },
): Reads {
  return createReads({
    platform: source.reads,
    identities,
    clock,
    budget,
    on_read,
    read_deadline_ms: requests.read_deadline_s * 1000,
    read_wait_ms: () => limits.read_wait_s * 1000,
    tree_fetches: limits.tree_fetches,
    read_cache_ms: limits.read_cache_s * 1000,
    placeOf,
  })
}

const FEATURES: Readonly<Record<string, keyof Config['features']>> = {
  login: 'login',
  comment: 'comment',
  vote: 'vote',
  downvote: 'vote',
  message: 'dm',
  inbox: 'dm',
  profile: 'profile',
}

const stateOf = (
  { since, last_request_at, ...state }: SourceState,
  requests_per_minute: number,
) => ({
  ...state,
  since: iso(since),
  last_request_at: iso(last_request_at),
  requests_per_minute: requests_per_minute || null,
})

/** The sources as callers see them, the default first. */
export function listSources(
  { features }: Pick<Config, 'features'>,
  sources: ReadonlyMap<string, ReadySource>,
): SourceInfo[] {
  const isAllowed = (capability: string): boolean => {
    const feature = FEATURES[capability]
    return feature === undefined || features[feature]
  }
  return [...sources.values()].map(
    ({ name, config: { ends_at }, source, watch, state, perMinute }) => ({
      name,
      kind: source.kind,
      url: source.url,
      capabilities: [...source.capabilities, ...(watch === null ? [] : ['monitor'])].filter(
        isAllowed,
      ),
      place_examples: source.place_examples,
      proof: watch?.proof ?? null,
      state: stateOf(state(), perMinute()),
      ends_at: ends_at || null,
    }),
  )
}

export const operatedSources = (
  config: Pick<Config, 'features'>,
  sources: ReadonlyMap<string, ReadySource>,
): OperatedSource[] => {
  const ready = [...sources.values()]
  return listSources(config, sources).map((it, at) => {
    const { config: own, accounts, source } = ready[at] ?? {}
    return {
      ...it,
      of_file: own?.is_added !== true,
      account_by:
        source?.authorization != null
          ? 'permission'
          : source?.acts.login === undefined
            ? null
            : 'password',
      requests_per_minute: own === undefined || accounts != null ? null : requestsPerMinute(own),
    }
  })
}

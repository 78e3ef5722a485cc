import type { OperatedSource, SourceDesk } from '../api/operator/sources.ts'
import type { SourceInfo } from '../api/reads/sources.ts'
import { checkSource } from '../config/added-sources.ts'
import { apiKeyOf, type Config, furtherOf, homeOf, requestsPerMinute } from '../config/schema.ts'
import { guardLines, REFUSALS } from '../core/base/address.ts'
import { describe } from '../core/base/fault-texts.ts'
import { faultText, ok } from '../core/base/result.ts'
import { iso, reportedOffset } from '../core/base/time.ts'
import type { WatchableSource } from '../core/filter/feeds.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { CacheState } from '../gateway/cache.ts'
import { createReads, type Reads } from '../gateway/reads.ts'
import { createSourceWatch, type SourceWatch } from '../gateway/watches.ts'
import type { Egress } from '../net/egress.ts'
import type { Guard } from '../net/guard.ts'
import { createLeftOut, fenced } from '../platforms/fence.ts'
import { createHosts, type Hosts } from '../platforms/hosts.ts'
import { kindOf, KINDS } from '../platforms/kinds.ts'
import type { PaceStore } from '../platforms/pace.ts'
import { ANONYMOUS, type Platform } from '../platforms/port.ts'
import { createSourceTrace, type SourceState, type SourceTrace } from '../platforms/source-state.ts'
import {
  ACT_CAPABILITIES,
  itemAt,
  READ_CAPABILITIES,
  type Source,
  unsupported,
} from '../platforms/source.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { findHostPace, putHostPace } from '../store/accounts/sources.ts'
import type { Db } from '../store/db/connection.ts'

type ConfiguredSource = Config['source'][number]

export type ReadySource = {
  name: string
  config: ConfiguredSource
  source: Source
  reads: Reads
  /** Null: it cannot be monitored. */
  watch: SourceWatch | null
  state(): SourceState
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

/** Connects sources of one daemon, which share the pace of their hosts. Nothing is requested yet. */
export function createConnect(config: Config, deps: Deps) {
  const hosts = createHosts(deps.clock, deps.paceOf)
  return (it: ConfiguredSource): ReadySource => {
    const trace = createSourceTrace(deps.clock)
    const source = createSource(it, config, { ...deps, hosts }, trace)
    const watch = createSourceWatch({
      name: it.name,
      source,
      platform: portOf(source),
      requests_per_minute: requestsPerMinute(it),
      clock: deps.clock,
    })
    const reads = readsOf(source, config, deps)
    return { name: it.name, config: it, source, reads, watch, ...trace }
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
    furtherOf(config).flatMap((it): [string, WatchableSource][] => {
      const { watch, capabilities, isPlace } = createSource(it, config, deps)
      const has = (name: Parameters<WatchableSource['has']>[0]) => capabilities.has(name)
      return watch === null ? [] : [[it.name, { name: it.name, has, isPlace }]]
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
export function accessOf(
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

type DeskDeps = Pick<Runtime, 'clock' | 'random'> & {
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
  const ways = (name: string) => {
    const source = sources.get(name)?.source
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
      const guarded = added.base_url === '' ? null : await guard(added.base_url)
      if (guarded === null || guarded.ok) return []
      const lines = guardLines(added.base_url, guarded.refusal)
      const way =
        lines === null ? '' : `. These lines of the configuration allow it: ${lines.join(' ')}`
      return [{ field: 'base_url', sentence: REFUSALS[guarded.refusal] + way }]
    },
    async open(added, { untested }) {
      const checked = checkSource(config, added)
      // The first Reddit-style source is the one of the accounts: everything depends on it.
      if (!checked.ok || (checked.source.kind === 'reddit' && homeOf(config) === null)) return null
      const ready = change.connect({ ...checked.source, is_added: true })
      return {
        tested: untested ? null : await tested(ready.source),
        start: () => change.start(ready),
      }
    },
    end: change.end,
    async probe(name) {
      const source = sources.get(name)?.source
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

function readsOf(source: Source, config: Config, { clock, budget, on_read }: Deps): Reads {
  const reads = createReads({
    platform: portOf(source),
    // A source has one way in: without an account, or with the operator's key for it.
    identities: {
      lease: () => ANONYMOUS,
      takes_sessions: false,
      report: () => {},
    },
    clock,
    budget,
    on_read,
    read_deadline_ms: config.requests.read_deadline_s * 1000,
    read_wait_ms: () => config.limits.read_wait_s * 1000,
    tree_fetches: config.limits.tree_fetches,
    read_cache_ms: config.limits.read_cache_s * 1000,
    hosts: { link: [], short: [] },
  })
  return {
    ...reads,
    place: (permalink) => itemAt(permalink, source),
  }
}

/** The port of a source, which has no callers' sessions. */
const portOf = ({ reads, commentOf, clock_offset_ms }: Source): Platform => ({
  ...reads,
  feed: async () => unsupported('session'),
  me: async () => ok(null),
  commentOf,
  clock_offset_ms: () => reportedOffset(clock_offset_ms()),
  clock_measured_ms: clock_offset_ms,
})

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
  requests_per_minute,
})

/** The sources as callers see them, the default first. */
export function listSources(
  config: Pick<Config, 'source' | 'features'>,
  home_state: { state(): SourceState; requestsPerMinute(): number },
  sources: ReadonlyMap<string, ReadySource>,
): SourceInfo[] {
  const isAllowed = (capability: string): boolean => {
    const feature = FEATURES[capability]
    return feature === undefined || config.features[feature]
  }
  const others = [...sources.values()].map(
    ({ name, config: it, source, watch, state }): SourceInfo => ({
      name,
      kind: source.kind,
      url: source.url,
      capabilities: [...source.capabilities, ...(watch === null ? [] : ['monitor'])].filter(
        isAllowed,
      ),
      place_examples: source.place_examples,
      proof: source.watch?.proof ?? null,
      state: stateOf(state(), Math.min(requestsPerMinute(it), source.perMinute?.() ?? Infinity)),
      ends_at: it.ends_at || null,
    }),
  )
  const home = homeOf(config)
  if (home === null) return others
  const first: SourceInfo = {
    name: home.name,
    kind: home.kind,
    url: home.base_url,
    capabilities: [...READ_CAPABILITIES, ...ACT_CAPABILITIES, 'home', 'monitor'].filter(isAllowed),
    place_examples: ['coffee', 'gardening'],
    proof: 'time_listing',
    state: stateOf(home_state.state(), home_state.requestsPerMinute()),
    ends_at: home.ends_at || null,
  }
  return config.source.flatMap(
    ({ name }) => [first, ...others].find((it) => it.name === name) ?? [],
  )
}

export const operatedSources = (
  ...[config, main, sources]: Parameters<typeof listSources>
): OperatedSource[] =>
  listSources(config, main, sources).map((it) => {
    const ready = sources.get(it.name)
    const { acts, authorization } = ready?.source ?? {}
    return {
      ...it,
      of_file: ready === undefined || !ready.config.is_added,
      account_by:
        authorization != null ? 'permission' : acts?.login === undefined ? null : 'password',
      requests_per_minute: ready === undefined ? null : requestsPerMinute(ready.config),
    }
  })

import type { SourceInfo } from '../api/reads/sources.ts'
import type { Config } from '../config/schema.ts'
import { ok, type Outcome } from '../core/base/result.ts'
import type { WatchableSource } from '../core/filter/feeds.ts'
import type { ByteBudget } from '../core/limits/byte-budget.ts'
import type { CacheState } from '../gateway/cache.ts'
import { createReads, type Reads } from '../gateway/reads.ts'
import { createStreamSource, type StreamSource, type StreamSources } from '../gateway/streams.ts'
import type { Egress } from '../net/egress.ts'
import { createDiscourse } from '../platforms/discourse/adapter.ts'
import { createHackerNews } from '../platforms/hackernews/adapter.ts'
import { createLemmy } from '../platforms/lemmy/adapter.ts'
import type { PaceStore } from '../platforms/pace.ts'
import { ANONYMOUS, type Call, type Platform } from '../platforms/port.ts'
import {
  ACT_CAPABILITIES,
  READ_CAPABILITIES,
  type ReadPort,
  type Source,
  type SourceOptions,
  unsupported,
} from '../platforms/source.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { findSourcePace, putSourcePace } from '../store/accounts/sources.ts'
import type { Db } from '../store/db/connection.ts'

/** A configured source beside the one of `[platform]`. */
type ConfiguredSource = Config['source'][number]

/** A source with its reads. */
export type ReadySource = {
  name: string
  config: ConfiguredSource
  source: Source
  reads: Reads
  /** Null: it cannot be monitored. */
  stream: StreamSource | null
}

const CREATE: Readonly<Record<ConfiguredSource['kind'], (options: SourceOptions) => Source>> = {
  discourse: createDiscourse,
  hackernews: createHackerNews,
  lemmy: createLemmy,
}

type Deps = Pick<Runtime, 'clock' | 'log' | 'random'> & {
  egress: Egress
  budget: ByteBudget
  on_read: (state: CacheState) => void
  on_recovered?: () => void
  /** Keeps the last requests to a source over a restart. */
  pace_store?: (source: string) => PaceStore
}

/** Creates the adapter of one configured source. Nothing is requested yet. */
export const createSource = (
  { name, kind, base_url, user_agent, requests_per_minute, api_key }: ConfiguredSource,
  { platform }: Pick<Config, 'platform'>,
  {
    pace_store,
    ...deps
  }: Pick<Deps, 'clock' | 'log' | 'random' | 'egress' | 'on_recovered' | 'pace_store'>,
): Source =>
  CREATE[kind]({
    ...deps,
    pace_store: pace_store?.(name),
    base_url,
    user_agent: user_agent || platform.user_agent,
    requests_per_minute,
    timeout_ms: platform.timeout_s * 1000,
    credential: api_key === '' ? null : api_key,
  })

/** Creates the configured sources with their reads, by name. */
export function connectSources(config: Config, deps: Deps): Map<string, ReadySource> {
  const created = config.source.map((it) => {
    const source = createSource(it, config, deps)
    const stream = createStreamSource({
      name: it.name,
      source,
      platform: toPlatform(source),
      requests_per_minute: it.requests_per_minute,
      clock: deps.clock,
    })
    return [
      it.name,
      { name: it.name, config: it, source, reads: readsOf(source, config, deps), stream },
    ] as const
  })
  return new Map(created)
}

/** Keeps the last requests to a source in the database. Without space on the disk they are lost with the process. */
export const sourcePaceStore = (
  { db, log }: { db: Db } & Pick<Deps, 'log'>,
  source: string,
): PaceStore => ({
  load: () => findSourcePace(db, source),
  save(text) {
    try {
      putSourcePace(db, source, text)
    } catch (error) {
      log('debug', 'source.pace_not_stored', { source, error: String(error) })
    }
  },
})

/** The sources that can be monitored. */
export const streamsOf = (sources: ReadonlyMap<string, ReadySource>): StreamSources =>
  new Map([...sources].flatMap(([name, { stream }]) => (stream === null ? [] : [[name, stream]])))

/** The rules of the sources that can be monitored, for the command line. */
export const watchableOf = (
  config: Config,
  deps: Parameters<typeof createSource>[2],
): ReadonlyMap<string, WatchableSource> =>
  new Map(
    config.source.flatMap((it): [string, WatchableSource][] => {
      const { stream, capabilities, isPlace } = createSource(it, config, deps)
      const has = (name: Parameters<WatchableSource['has']>[0]) => capabilities.has(name)
      return stream === null ? [] : [[it.name, { name: it.name, has, isPlace }]]
    }),
  )

function readsOf(source: Source, config: Config, { clock, budget, on_read }: Deps): Reads {
  const reads = createReads({
    platform: toPlatform(source),
    // A source has one way in: without an account, or with the operator's key for it.
    identities: { lease: () => ANONYMOUS, report: () => {} },
    clock,
    budget,
    on_read,
    read_deadline_ms: config.platform.read_deadline_s * 1000,
    read_wait_ms: () => config.limits.read_wait_s * 1000,
    tree_fetches: config.limits.tree_fetches,
    read_cache_ms: config.limits.read_cache_s * 1000,
    hosts: { link: [], short: [] },
  })
  return {
    ...reads,
    place(permalink) {
      const url = URL.parse(permalink)
      return url === null ? null : source.targetOf(url)
    },
  }
}

/** Refuses a read with a caller's session: such a source has none. */
const withoutSession =
  <Query, Answer>(read: (query: Query, call: Call) => Promise<Outcome<Answer>>) =>
  async (query: Query, call: Call): Promise<Outcome<Answer>> =>
    call.identity.whose === 'caller' ? unsupported('session') : read(query, call)

/** The port of a source: its reads, for callers without a session. */
function toPlatform(source: Source): Platform {
  const { reads } = source
  const guarded: ReadPort = {
    posts: withoutSession(reads.posts),
    comments: withoutSession(reads.comments),
    search: withoutSession(reads.search),
    searchMedia: withoutSession(reads.searchMedia),
    searchCommunities: withoutSession(reads.searchCommunities),
    searchUsers: withoutSession(reads.searchUsers),
    userComments: withoutSession(reads.userComments),
    userItems: withoutSession(reads.userItems),
    tree: withoutSession(reads.tree),
    more: withoutSession(reads.more),
    postsById: withoutSession(reads.postsById),
    nodesById: withoutSession(reads.nodesById),
    liveness: withoutSession(reads.liveness),
    rules: withoutSession(reads.rules),
    wiki: withoutSession(reads.wiki),
    communities: withoutSession(reads.communities),
    achievements: withoutSession(reads.achievements),
    visibility: withoutSession(reads.visibility),
    user: withoutSession(reads.user),
    community: withoutSession(reads.community),
    moderators: withoutSession(reads.moderators),
  }
  return {
    ...guarded,
    feed: async () => unsupported('session'),
    me: async () => ok(null),
    commentOf: source.commentOf,
    clock_offset_ms: source.clock_offset_ms,
    clock_measured_ms: source.clock_offset_ms,
  }
}

/** The feature of the configuration that allows each act. */
const FEATURES: Readonly<Record<string, keyof Config['features']>> = {
  login: 'login',
  comment: 'comment',
  vote: 'vote',
  downvote: 'vote',
  message: 'dm',
  inbox: 'dm',
  profile: 'profile',
}

/** The sources as callers see them, the one of `[platform]` first. */
export function listSources(
  { platform, features }: Pick<Config, 'platform' | 'features'>,
  main: { isDown(): boolean },
  sources: ReadonlyMap<string, ReadySource>,
): SourceInfo[] {
  const isAllowed = (capability: string): boolean => {
    const feature = FEATURES[capability]
    return feature === undefined || features[feature]
  }
  const first: SourceInfo = {
    name: 'main',
    kind: 'reddit',
    url: platform.base_url,
    capabilities: [...READ_CAPABILITIES, ...ACT_CAPABILITIES, 'home', 'monitor'].filter(isAllowed),
    proof: 'time_listing',
    reachable: !main.isDown(),
    ends_at: platform.ends_at || null,
  }
  const others = [...sources.values()].map(({ name, config, source, stream }): SourceInfo => ({
    name,
    kind: source.kind,
    url: source.url,
    capabilities: [...source.capabilities, ...(stream === null ? [] : ['monitor'])].filter(
      isAllowed,
    ),
    proof: source.stream?.proof ?? null,
    reachable: !source.isDown(),
    ends_at: config.ends_at || null,
  }))
  return [first, ...others]
}

/**
 * Every key of the configuration with its default and bounds. `config.example.toml` documents them; a test compares both.
 */
import { Cron } from 'croner'
import * as z from 'zod'

import {
  auto,
  bool,
  choice,
  day,
  decimal,
  delays,
  dollarAmount,
  file,
  hookAddress,
  host,
  hosts,
  inner,
  integer,
  mailAddress,
  modelName,
  planName,
  programName,
  ranges,
  replicaAddress,
  secret,
  sender,
  serviceAddress,
  sourceName,
  table,
  targets,
  text,
  timeZone,
  userAgent,
  webAddress,
  word,
} from '../core/config/values.ts'
import { HOME } from '../core/forum/items.ts'
import { TAKEN_FIELDS, TAKEN_PLACES } from '../core/forum/session.ts'
import { type KeysOf, KIND_NAMES, type KindName, kindOf, KINDS } from '../platforms/kinds.ts'

const schedule = (initial: string) =>
  text(
    'a cron pattern of 5 fields, or 6 with seconds first, that comes due, such as "0 * * * *"',
    isSchedule,
    initial,
  )

function isSchedule(pattern: string): boolean {
  try {
    return new Cron(pattern, { paused: true }).nextRun(new Date(0)) !== null
  } catch {
    return false
  }
}

const server = table({
  host: host('127.0.0.1'),
  port: integer(8080, 0, 65_535),
  public_url: serviceAddress(),
  hosts: hosts(),
  trusted_proxies: ranges(),
})

const storage = table({
  dir: file('./data', { what: 'the path of a folder', required: true }),
  key_file: file('', { what: 'the path of the key file' }),
  instance_file: file('', { what: 'the path of a file outside of dir' }),
})

const retention = table({
  days: integer(30, 0, 36_500, 'days'),
  snapshots_days: integer(7, 0, 36_500, 'days'),
  recheck_share: decimal(0.1, 0, 0.5),
})

const archive = table({
  keep: choice(['matches', 'feeds', 'nothing'], 'matches'),
  days: integer(90, 1, 36_500, 'days'),
  max_size_mb: integer(2048, 16, 10_000_000, 'MiB'),
})

const requests = table({
  user_agent: userAgent('forumd/1.0'),
  timeout_s: decimal(10, 0.1, 300, 'seconds'),
  read_deadline_s: decimal(30, 0.1, 600, 'seconds'),
  ca_file: file('', { what: 'the path of a PEM file' }),
})

const features = table({
  login: bool(true),
  comment: bool(true),
  vote: bool(true),
  dm: bool(true),
  profile: bool(true),
})

const prices = table({
  read: dollarAmount(0.002, 1000),
  deep_search: dollarAmount(0.02, 1000),
  vote: dollarAmount(0.005, 1000),
  write: dollarAmount(0.012, 1000),
  dm: dollarAmount(0.025, 1000),
})

// Amounts are dollars in the file and micro-dollars after parsing, in keys with the suffix `_micros`.
const billing = table({
  enabled: bool(true),
  starting_credit: dollarAmount(0.5, 1_000_000),
  default_plan: planName('entry'),
  prices: inner(prices),
}).transform(({ starting_credit, prices: price_micros, ...rest }) => ({
  ...rest,
  starting_credit_micros: starting_credit,
  price_micros,
}))

const plan = table({
  slots: integer(10, 0, 1_000_000),
  sitewide_slots: integer(2, 0, 1_000_000),
  cadence_s: integer(60, 1, 86_400, 'seconds'),
  daily_deliveries: integer(10_000, 1, 1_000_000_000),
})

const delivery = table({
  retry_delays_s: delays([0, 5, 30, 120, 300, 780]),
  jitter: decimal(0.2, 0, 0.9),
  timeout_s: decimal(10, 0.1, 300, 'seconds'),
  concurrency: integer(64, 1, 10_000),
  per_target_concurrency: integer(4, 1, 1000),
  pause_after_h: integer(168, 1, 8760, 'hours'),
  ca_file: file('', { what: 'the path of a PEM file' }),
  media_hosts: hosts(),
})

const relevance = table({
  base_url: webAddress(),
  model: modelName(),
  key: secret(),
  timeout_s: decimal(30, 0.1, 600, 'seconds'),
  concurrency: integer(2, 1, 100),
  max_wait_s: integer(300, 1, 86_400, 'seconds'),
  max_calls_per_day: integer(2000, 0, 1_000_000_000),
  max_customer_calls_per_day: integer(0, 0, 1_000_000_000),
})

// 0: no limit, or no cache.
const limit = (initial: number) => integer(initial, 0, 1_000_000)

const limits = table({
  key_burst: limit(20),
  key_rate: decimal(10, 0, 1_000_000),
  key_max_wait_s: decimal(10, 0, 300, 'seconds'),
  writes_per_minute: limit(120),
  uploads_per_minute: limit(10),
  read_wait_s: decimal(8, 0, 600, 'seconds'),
  management_per_minute: limit(60),
  inbox_per_minute: limit(600),
  webhook_test_per_minute: limit(10),
  account_per_minute: limit(30),
  feedback_per_minute: limit(10),
  dashboard_per_minute: limit(30),
  open_per_minute: limit(300),
  feeds_per_minute: limit(120),
  health_per_minute: limit(600),
  failed_auth_per_minute: limit(30),
  unknown_routes_per_minute: limit(60),
  feedback_rows: limit(200),
  feedback_kib: limit(1024),
  feedback_days: integer(365, 0, 36_500, 'days'),
  deep_search_concurrency: limit(2),
  degraded_reads_per_key: limit(4),
  degraded_waiting_per_key: limit(8),
  in_flight_mib: integer(96, 64, 65_536, 'MiB'),
  source_mib_per_day: integer(256, 16, 65_536, 'MiB'),
  tree_fetches: limit(8),
  read_cache_s: decimal(5, 0, 3600, 'seconds'),
  health_cache_s: decimal(10, 0, 3600, 'seconds'),
})

/** Keys of every source, whatever its kind. */
const SOURCE = {
  name: sourceName(),
  base_url: webAddress(),
  user_agent: userAgent(''),
  ends_at: day(),
}

const tableOf = ({ kind, keys }: (typeof KINDS)[number]) =>
  table({ ...SOURCE, kind: z.literal(kind), ...keys })

/** The table of a source, by the kind that it names. */
type SourceConfig = {
  [Name in KindName]: z.output<z.ZodObject<typeof SOURCE>> & {
    kind: Name
  } & z.output<z.ZodObject<KeysOf<Name>>>
}[KindName]

export type PlatformConfig = Extract<SourceConfig, { kind: 'reddit' }>

function sources() {
  const [first, ...others] = KINDS.map(tableOf)
  if (first === undefined) throw new RangeError('there is no kind of source')
  const kinds = z.discriminatedUnion('kind', [first, ...others], {
    error: `one of ${KIND_NAMES.map((it) => `"${it}"`).join(', ')}`,
  })
  return z
    .array(kinds.pipe(z.custom<SourceConfig>()), { error: 'tables of sources, each [[source]]' })
    .max(100, 'at most 100 sources')
}

/** The schema of the file: smol-toml's output to `Config`. */
export const schema = table({
  server,
  storage,
  retention,
  archive,
  requests,
  source: sources(),
  wire: table({
    platform: word('forum', TAKEN_PLACES),
    community: word('subforum', TAKEN_FIELDS),
  }),
  features,
  billing,
  plans: z.record(planName(), plan, { error: 'tables of plans, such as [plans.entry]' }),
  monitor: table({
    schedule: schedule('* * * * * *'),
    time_zone: timeZone('UTC'),
    audit_interval_s: integer(0, 0, 86_400, 'seconds'),
    freshness_s: integer(900, 1, 604_800, 'seconds'),
  }),
  guard: table({ allow_targets: targets(), allow_http: bool(false) }),
  delivery,
  smtp: table({ url: mailAddress(), from: sender(), tls: choice(['auto', 'off'], 'auto') }),
  relevance,
  browser: table({
    executable: file('', { what: 'the path of Chromium or Chrome' }),
    sandbox: auto(),
    max_pages: integer(2, 1, 100),
  }),
  operator: table({ webhook: hookAddress(), secret: secret() }),
  maintenance: table({
    snapshots: schedule('0 * * * *'),
    time_zone: timeZone('UTC'),
    keep_hourly: integer(24, 0, 10_000),
    keep_daily: integer(7, 0, 10_000),
  }),
  standby: table({
    replica: replicaAddress(),
    ttl_s: decimal(30, 3, 3600, 'seconds'),
    litestream: programName('litestream'),
  }),
  limits,
  log: table({
    level: choice(['debug', 'info', 'warn', 'error'], 'info'),
    json: auto(),
    access: bool(false),
  }),
  metrics: table({ token: secret() }),
})

/** Empty tables for those that a file omits, so that their keys have their defaults. */
export const EMPTY_TABLES: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, {}])),
  plans: { entry: {} },
  source: [],
}

type OfFile = z.output<typeof schema>

/** The validated configuration with all defaults. `is_added`: the source is of the database, not of the file. */
export type Config = Omit<OfFile, 'source'> & { source: (SourceConfig & { is_added?: true })[] }

/**
 * The first source of a Reddit-style platform: the ids of its items have no prefix, and the accounts of the pool are for it.
 * Null: there is none.
 */
export const homeOf = ({ source }: Pick<Config, 'source'>): PlatformConfig | null =>
  source.find((it) => it.kind === 'reddit') ?? null

/** All sources but the one of {@link homeOf}. */
export function furtherOf(config: Pick<Config, 'source'>): Config['source'] {
  const home = homeOf(config)
  return config.source.filter((it) => it !== home)
}

/** Names of the feeds of a source that polls each of them alone; undefined: it does not. */
export const feedsOf = (source: Config['source'][number]): string[] | undefined =>
  'feeds' in source
    ? source.feeds.length > 0
      ? source.feeds.map(({ name }) => name)
      : ['feed']
    : undefined

/** Key of a source in items and feeds: its name, or {@link HOME}. */
export const sourceKey = (config: Pick<Config, 'source'>, name: string): string =>
  homeOf(config)?.name === name ? HOME : name

/** Names of the sources that callers need not name, and whose items have no prefix. */
export const sourceWords = (config: Pick<Config, 'source'>) => ({
  default_source: config.source[0]?.name ?? '',
  home: homeOf(config)?.name ?? null,
})

/** Requests a minute to a source, for all reads and monitors together. */
export const requestsPerMinute = (source: Config['source'][number]): number =>
  'requests_per_minute' in source
    ? source.requests_per_minute || kindOf(source.kind).pace
    : source.accounts.session_requests_per_minute

/** The operator's key for a source; '' for none. */
export const apiKeyOf = (source: Config['source'][number]): string =>
  'api_key' in source ? source.api_key : ''

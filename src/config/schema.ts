/**
 * Every key of the configuration with its default and bounds. `config.example.toml` documents them; a test compares both.
 */
import * as z from 'zod'

import { MAIN } from '../core/forum/items.ts'
import { TAKEN_FIELDS, TAKEN_PLACES } from '../core/forum/session.ts'
import {
  auto,
  bool,
  choice,
  cookieName,
  day,
  decimal,
  delays,
  dollarAmount,
  file,
  hookAddress,
  host,
  hosts,
  integer,
  mailAddress,
  modelName,
  planName,
  platformAddress,
  programName,
  ranges,
  replicaAddress,
  schedule,
  secret,
  sender,
  serviceAddress,
  sourceName,
  targets,
  timeZone,
  userAgent,
  webAddress,
  word,
} from './values.ts'

/** A table that rejects unknown keys. */
const table = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: 'a table of keys' })

/** A nested table; if omitted, its keys have their defaults. */
const inner = <T>(it: z.ZodType<T, object>) => it.prefault({})

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

const platform = table({
  base_url: platformAddress(),
  api_url: webAddress(),
  token_url: webAddress(),
  chat_url: webAddress(),
  session_cookie: cookieName(),
  link_hosts: hosts(),
  short_link_hosts: hosts(),
  media_hosts: hosts(),
  user_agent: userAgent('forumd/1.0'),
  timeout_s: decimal(10, 0.1, 300, 'seconds'),
  read_deadline_s: decimal(30, 0.1, 600, 'seconds'),
  retries: integer(3, 0, 10),
  ca_file: file('', { what: 'the path of a PEM file' }),
  ends_at: day(),
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

export const SOURCE_KINDS = ['discourse', 'hackernews', 'lemmy', 'piefed', 'reddit'] as const

/** Requests a minute to a source: those of its table, or where it sets 0, those of its kind. */
export const paceOf = ({
  kind,
  requests_per_minute,
}: {
  kind: (typeof SOURCE_KINDS)[number]
  requests_per_minute: number
}): number => requests_per_minute || (kind === 'lemmy' ? 90 : 60)

const source = table({
  name: sourceName(),
  kind: choice(SOURCE_KINDS),
  base_url: webAddress(),
  user_agent: userAgent(''),
  requests_per_minute: integer(0, 0, 6000),
  api_key: secret(),
  ends_at: day(),
})

/** The schema of the file: smol-toml's output to `Config`. */
export const schema = table({
  server,
  storage,
  retention,
  archive,
  platform,
  source: z
    .array(source, { error: 'tables of sources, each [[source]]' })
    .max(100, 'at most 100 sources'),
  wire: table({
    platform: word('forum', TAKEN_PLACES),
    community: word('subforum', TAKEN_FIELDS),
  }),
  features,
  pool: table({
    allow_anonymous: bool(true),
    session_requests_per_minute: integer(30, 1, 60_000),
    oauth_requests_per_minute: integer(60, 1, 60_000),
  }),
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
export type Config = Omit<OfFile, 'source'> & {
  source: (OfFile['source'][number] & { is_added?: true })[]
}

/** True when there is a source `main`: `[platform]` has an address. Without one the first `[[source]]` is the default. */
export const hasMain = ({ platform: at }: Pick<Config, 'platform'>): boolean => at.base_url !== ''

/** Name of the source of a read or a monitor that names none. */
export const defaultSource = (config: Pick<Config, 'platform' | 'source'>): string =>
  (hasMain(config) ? undefined : config.source[0]?.name) ?? MAIN

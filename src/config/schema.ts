/**
 * Every key of the configuration with its default and its bounds (contract 2). `config.example.toml`
 * shows them to an operator, and a test keeps the two alike.
 */
import * as z from 'zod'

import { TAKEN_FIELDS, TAKEN_PLACES } from '../core/taken-words.ts'
import {
  auto,
  choice,
  cookieName,
  decimal,
  delays,
  dollars,
  file,
  flag,
  hookAddress,
  host,
  hosts,
  mailAddress,
  planName,
  ranges,
  requiredWebAddress,
  schedule,
  secret,
  sender,
  targets,
  timeZone,
  userAgent,
  webAddress,
  whole,
  word,
} from './values.ts'

/** A table with these keys and no others. */
const table = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: 'a table of keys' })

/** A table inside of another: one that is left out is empty, and its keys have their defaults. */
const inner = <T>(it: z.ZodType<T, object>) => it.prefault({})

const server = table({
  host: host('127.0.0.1'),
  port: whole(8080, 0, 65_535),
  public_url: webAddress(),
  hosts: hosts(),
  trusted_proxies: ranges(),
})

const storage = table({
  dir: file('./data', { what: 'the path of a folder', required: true }),
  key_file: file('', { what: 'the path of the key file' }),
  retention_days: whole(0, 0, 36_500, 'days'),
})

const platform = table({
  base_url: requiredWebAddress(),
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
  retries: whole(3, 0, 10),
  ca_file: file('', { what: 'the path of a PEM file' }),
})

const features = table({
  login: flag(true),
  comment: flag(true),
  vote: flag(true),
  dm: flag(true),
  profile: flag(true),
})

const prices = table({
  read: dollars(0.002, 1000),
  deep_search: dollars(0.02, 1000),
  vote: dollars(0.005, 1000),
  write: dollars(0.012, 1000),
  dm: dollars(0.025, 1000),
})

// Money is dollars in the file and micro-dollars from here on, under names that say so.
const billing = table({
  enabled: flag(true),
  starting_credit: dollars(0.5, 1_000_000),
  default_plan: planName('entry'),
  prices: inner(prices),
}).transform(({ starting_credit, prices: price_micros, ...rest }) => ({
  ...rest,
  starting_credit_micros: starting_credit,
  price_micros,
}))

const plan = table({
  slots: whole(10, 0, 1_000_000),
  sitewide_slots: whole(2, 0, 1_000_000),
  cadence_s: whole(60, 1, 86_400, 'seconds'),
  daily_deliveries: whole(10_000, 1, 1_000_000_000),
})

const delivery = table({
  retry_delays_s: delays([0, 5, 30, 120, 300, 780]),
  jitter: decimal(0.2, 0, 0.9),
  timeout_s: decimal(10, 0.1, 300, 'seconds'),
  concurrency: whole(64, 1, 10_000),
  per_target_concurrency: whole(4, 1, 1000),
  pause_after_h: whole(168, 1, 8760, 'hours'),
  ca_file: file('', { what: 'the path of a PEM file' }),
})

// 0 is no limit, and no cache.
const limit = (initial: number) => whole(initial, 0, 1_000_000)

const limits = table({
  key_burst: limit(20),
  key_rate: decimal(10, 0, 1_000_000),
  key_max_wait_s: decimal(10, 0, 300, 'seconds'),
  management_per_minute: limit(60),
  webhook_test_per_minute: limit(10),
  account_per_minute: limit(30),
  feedback_per_minute: limit(10),
  dashboard_per_minute: limit(30),
  unknown_routes_per_minute: limit(60),
  deep_search_concurrency: limit(2),
  degraded_reads_per_key: limit(4),
  degraded_waiting_per_key: limit(8),
  tree_fetches: limit(8),
  read_cache_s: decimal(5, 0, 3600, 'seconds'),
  health_cache_s: decimal(10, 0, 3600, 'seconds'),
})

/** The whole file, as smol-toml reads it, to what the rest of the house works with. */
export const schema = table({
  server,
  storage,
  platform,
  wire: table({
    platform: word('forum', TAKEN_PLACES),
    community: word('subforum', TAKEN_FIELDS),
  }),
  features,
  pool: table({
    allow_anonymous: flag(true),
    session_requests_per_minute: whole(30, 1, 60_000),
    oauth_requests_per_minute: whole(60, 1, 60_000),
  }),
  billing,
  plans: z.record(planName(), plan, { error: 'tables of plans, such as [plans.entry]' }),
  monitor: table({
    schedule: schedule('* * * * * *'),
    time_zone: timeZone('UTC'),
    freshness_s: whole(900, 1, 604_800, 'seconds'),
  }),
  guard: table({ allow_targets: targets(), allow_http: flag(false) }),
  delivery,
  smtp: table({ url: mailAddress(), from: sender() }),
  browser: table({
    executable: file('', { what: 'the path of Chromium or Chrome' }),
    sandbox: auto(),
    max_pages: whole(2, 1, 100),
  }),
  operator: table({ webhook: hookAddress(), secret: secret() }),
  upkeep: table({
    snapshots: schedule('0 * * * *'),
    time_zone: timeZone('UTC'),
    keep_hourly: whole(24, 0, 10_000),
    keep_daily: whole(7, 0, 10_000),
  }),
  limits,
  log: table({
    level: choice(['debug', 'info', 'warn', 'error'], 'info'),
    json: auto(),
  }),
  metrics: table({ token: secret() }),
})

/** What stands for the tables that a file leaves out: the keys of an empty one have their defaults. */
export const ABSENT: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, {}])),
  plans: { entry: {} },
}

/** Everything an operator can set, checked, with every default filled in. */
export type Config = z.output<typeof schema>

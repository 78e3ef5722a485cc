/** What is told of one number: what kind of number, what it counts, by which labels. */
export type Described = {
  kind: 'counter' | 'gauge' | 'histogram'
  help: string
  labels?: readonly string[]
  /** Upper ends of a histogram's buckets, in seconds. */
  bounds?: readonly number[]
}

const SHORT = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** From a match to its receiver: at once, or as late as the ladder's last rung. */
const LADDER = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800]
const STALLS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter', help, labels }) as const
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge', help, labels }) as const
const histogram = (help: string, bounds: readonly number[], ...labels: string[]) =>
  ({ kind: 'histogram', help, bounds, labels }) as const

/** Every number of `/metrics`, by its name: `forumd_` is put before each but those of the process. */
export const METRICS = {
  upstream_budget_allowance: gauge(
    'Requests that one window of an account allows, as the platform tells it, or else our own bucket; an empty account is nobody.',
    'account',
  ),
  upstream_budget_used: gauge('Requests of the present window that are spent.', 'account'),
  upstream_budget_waiting: gauge('Requests that wait for their turn.', 'account'),
  upstream_requests_total: counter(
    'Requests to the platform, by kind, by whose eyes, and how they ended.',
    'kind',
    'whose',
    'outcome',
  ),
  upstream_request_seconds: histogram(
    'Requests to the platform, from asking to the last byte.',
    SHORT,
  ),
  pool_accounts: gauge('Accounts of the pool, by state.', 'state'),
  pool_usable: gauge('1 while the platform can be read at all.'),
  human_checks_total: counter('Writes and logins that the platform answered with a human check.'),
  reads_health: gauge('1 for what /health says of reads, 0 for the others.', 'state'),
  reads_cache_total: counter(
    'Reads of what everybody sees: kept from before, shared with one under way, or asked.',
    'state',
  ),

  streams: gauge('Feeds that are looked at.', 'kind'),
  poll_lag_seconds: gauge(
    'How far past its promised interval the latest feed of a kind is; 0 while all are in time.',
    'kind',
  ),
  poll_late_streams: gauge('Feeds that are more than half an interval late.', 'kind'),
  checks_total: counter('Looks at feeds, by whether they met where the last one ended.', 'outcome'),
  matches_total: counter('Matches, written down.'),
  monitors: gauge(
    'Monitors by what their last day covers; unknown are those that are paused.',
    'coverage',
  ),

  match_to_attempt_seconds: histogram(
    'From a delivery being written with its match to its first attempt.',
    LADDER,
  ),
  match_to_acceptance_seconds: histogram(
    'From a delivery being written with its match to its acceptance.',
    LADDER,
  ),
  deliveries_written_total: counter(
    'Deliveries of matches as they were written: to be sent, withheld, or refused by a paused target.',
    'status',
    'kind',
  ),
  deliveries_ended_total: counter(
    'Deliveries that were to be sent and have ended, by an attempt or without one.',
    'status',
    'kind',
  ),
  delivery_attempts_total: counter(
    'Attempts by what they met; retry, failed and dead have the class of the error.',
    'kind',
    'outcome',
    'error',
  ),
  deliveries_pending: gauge(
    'Deliveries that wait or are on their way, by failed attempts; counted up to 5,000.',
    'rung',
  ),
  delivery_oldest_pending_seconds: gauge(
    'Age of the oldest delivery that waits; the oldest of 5,000 when more do.',
  ),
  delivery_overdue_seconds: gauge('How far past its time the next attempt to make is.'),
  webhooks: gauge('Targets of deliveries, by kind and state.', 'kind', 'state'),

  billing_calls_total: counter(
    'Metered calls, by price and whether they were billed.',
    'tier',
    'billed',
  ),
  billing_held_micro_usd_total: counter('Prices put on hold.', 'tier'),
  billing_settled_micro_usd_total: counter('Prices settled.', 'tier'),
  billing_refunded_micro_usd_total: counter('Prices given back.', 'tier'),
  billing_open_holds: gauge('Prices on hold now.'),
  billing_open_holds_micro_usd: gauge('What is on hold now.'),
  customers: gauge('Customers by credit: none cannot pay a read, unlimited need not.', 'credit'),

  http_requests_total: counter(
    'Calls answered; one of the dashboard or of MCP is one, whatever it asks of the API.',
    'method',
    'route',
    'status',
  ),
  http_request_seconds: histogram(
    'From the arrival of a call to its answer.',
    SHORT,
    'method',
    'route',
  ),
  event_loop_late_seconds: histogram(
    'How late a timer came that is set every 20 ms: what held it up held up everything.',
    STALLS,
  ),
  event_loop_stall_max_seconds: gauge('The longest stall of the last minute.'),
  log_events_total: counter('Events told to the log, written or not.', 'event', 'level'),

  db_bytes: gauge('Size of the database.'),
  db_wal_bytes: gauge('Size of its write-ahead log.'),
  db_commit_seconds: histogram('Commits, from the last statement to the disk.', SHORT),
  disk_free_bytes: gauge('What the disk of the data folder has left.'),
  disk_free_files: gauge('Files that it has room for; absent where it has no bound.'),
  ballast: gauge('1 while the space is there that is held back for a full disk.'),
  storage_trouble: gauge('1 while something is wrong with what is stored.'),
  auditor_findings: gauge('Invariants that the auditor found broken when it last looked.'),
  auditor_last_run_timestamp_seconds: gauge('When it last looked; absent before it has.'),

  scrape_failures_total: counter(
    'Questions of a scrape that found no answer; their numbers are absent.',
  ),
  build_info: gauge('1; which build this is.', 'version', 'runtime'),
  process_start_time_seconds: gauge('When the process began.'),
  process_cpu_seconds_total: counter('Time spent on the processors.'),
  process_resident_memory_bytes: gauge('Memory in use.'),
  process_open_fds: gauge('Open files and sockets; absent where the system does not tell.'),
} as const satisfies Record<string, Described>

/** A number of `/metrics`, without its prefix. */
export type MetricName = keyof typeof METRICS

/** A number's name as Prometheus sees it. */
export const fullName = (name: string): string =>
  name.startsWith('process_') ? name : `forumd_${name}`

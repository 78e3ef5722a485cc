export type MetricSpec = {
  kind: 'counter' | 'gauge' | 'histogram'
  help: string
  labels?: readonly string[]
  bounds?: readonly number[]
}

const SHORT_BUCKETS_S = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** From a match to its acceptance: immediate, or up to the last delay of the retry schedule. */
const RETRY_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800]
const STALL_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter', help, labels }) as const
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge', help, labels }) as const
const histogram = (help: string, bounds: readonly number[], ...labels: string[]) =>
  ({ kind: 'histogram', help, bounds, labels }) as const

/** Metrics of `/metrics` by name; all except those of the process get the prefix `forumd_`. */
export const METRICS = {
  upstream_budget_allowance: gauge(
    'Requests allowed in one window: the limit of the platform, or the local one; accounts with cookies at one address share it; an empty account is anonymous.',
    'account',
  ),
  upstream_budget_used: gauge('Requests used in the current window.', 'account'),
  upstream_budget_waiting: gauge('Requests waiting for their rate budget.', 'account'),
  upstream_requests_total: counter(
    'Requests to the platform, by kind, identity and outcome.',
    'kind',
    'identity',
    'outcome',
  ),
  upstream_request_seconds: histogram(
    'Duration of requests to the platform, to the last byte.',
    SHORT_BUCKETS_S,
  ),
  pool_accounts: gauge('Accounts of the pool, by state.', 'state'),
  pool_usable: gauge('1 while at least one identity can read the platform.'),
  human_checks_total: counter('Writes and logins that the platform answered with a human check.'),
  reads_health: gauge('1 for the state of reads in /health, 0 for the others.', 'state'),
  platform_unreachable: gauge(
    '1 while connections to the platform fail and one probe at a time is sent.',
  ),
  reads_cache_total: counter(
    'Reads of public content: cached, shared with a request in progress, or fetched.',
    'state',
  ),

  feeds: gauge('Feeds that are polled.', 'kind'),
  poll_lag_seconds: gauge(
    'Delay of the most overdue feed of a kind beyond its promised interval; 0 while all are in time.',
    'kind',
  ),
  poll_overdue_feeds: gauge('Feeds that are more than half an interval late.', 'kind'),
  source_lag_seconds: gauge(
    'Seconds since the instant up to which all items of a further source were read; absent while none is watched.',
    'source',
  ),
  source_lag_ids: gauge(
    'Ids of a further source that are known and not read yet; absent while none is watched.',
    'source',
  ),
  source_open_ids: gauge(
    'Ids of a further source that had no item, or were passed without a request, and are still missing; absent while none is watched.',
    'source',
    'reason',
  ),
  source_rows_left_out_total: counter(
    'Rows of a source that were left out because a value of theirs cannot be; absent before the first.',
    'source',
  ),
  source_requests_per_minute: gauge(
    'Requests of checks of a further source, on the average of the last five minutes; absent while none is watched.',
    'source',
  ),
  checks_total: counter(
    'Checks of feeds, by whether they reached the previous checkpoint.',
    'outcome',
  ),
  matches_total: counter('Matches stored.'),
  items_erased_total: counter(
    'Stored items erased because they were deleted at their source, by reason; absent before the first. author_gone: their author alone.',
    'reason',
  ),
  kept_items_due: gauge(
    'Stored items that are due to be read again; counted up to 5,000 of each source.',
  ),
  kept_items_lag_seconds: gauge('By how long the most overdue check of a stored item is late.'),
  projection_unread: gauge(
    'Matches that have yet to reach the inbox and the checks of stored items, or the archive.',
    'projection',
  ),
  filters_too_slow_total: counter(
    'Monitors paused because their patterns exceeded the processor time of a monitor.',
  ),
  monitors: gauge('Monitors by coverage of the last day; unknown while paused.', 'coverage'),

  match_to_attempt_seconds: histogram(
    'Time from storing a delivery with its match to its first attempt.',
    RETRY_BUCKETS_S,
  ),
  match_to_acceptance_seconds: histogram(
    'Time from storing a delivery with its match to its acceptance.',
    RETRY_BUCKETS_S,
  ),
  relevance_calls_total: counter(
    "Calls of the operator's model, by outcome: judged, or the fault.",
    'outcome',
  ),
  relevance_results_total: counter(
    'Matches that waited for a verdict, by result: relevant, irrelevant, unjudged (delivered without one), or abandoned.',
    'outcome',
  ),
  relevance_waiting: gauge('Matches that wait for a verdict.'),
  relevance_oldest_waiting_seconds: gauge('Age of the oldest of them; 0 without one.'),
  relevance_model_up: gauge(
    "0 while the operator's model cannot be used; absent while none is configured.",
  ),
  relevance_day_calls: gauge('Calls of the UTC day; absent while no model is configured.'),
  relevance_day_limit: gauge(
    'Most calls of the UTC day; 0: no limit; absent while no model is configured.',
  ),
  deliveries_written_total: counter(
    'Deliveries by their status when stored: pending, suppressed, or failed because of a paused target.',
    'status',
    'kind',
  ),
  deliveries_ended_total: counter(
    'Pending deliveries that have ended, by an attempt or without one.',
    'status',
    'kind',
  ),
  delivery_attempts_total: counter(
    'Attempts by outcome; retry, failed and dead have the class of the error.',
    'kind',
    'outcome',
    'error',
  ),
  deliveries_pending: gauge(
    'Deliveries waiting or being sent, by failed attempts; counted up to 5,000.',
    'retry_index',
  ),
  delivery_oldest_pending_seconds: gauge(
    'Age of the oldest waiting delivery; the oldest of 5,000 when more wait.',
  ),
  delivery_overdue_seconds: gauge('Delay of the next attempt beyond its scheduled time.'),
  webhooks: gauge('Targets of deliveries, by kind and state.', 'kind', 'state'),

  billing_calls_total: counter(
    'Metered calls, by price tier and by whether they were billed.',
    'tier',
    'billed',
  ),
  billing_held_micro_usd_total: counter('Sum of prices held.', 'tier'),
  billing_settled_micro_usd_total: counter('Sum of prices settled.', 'tier'),
  billing_refunded_micro_usd_total: counter('Sum of prices released.', 'tier'),
  billing_open_holds: gauge('Number of open holds.'),
  billing_open_holds_micro_usd: gauge('Sum of open holds.'),
  customers: gauge(
    'Customers by credit: none cannot pay for a read, unlimited is not billed.',
    'credit',
  ),

  http_requests_total: counter(
    'Calls answered; a call of the dashboard or of MCP counts once, with all of its API requests.',
    'method',
    'route',
    'status',
  ),
  http_request_seconds: histogram(
    'Time from the arrival of a call to its answer.',
    SHORT_BUCKETS_S,
    'method',
    'route',
  ),
  auth_failures_total: counter(
    'Calls without a valid key, token or session; rate_limited: refused before the lookup.',
    'reason',
  ),
  bytes_in_flight: gauge(
    'Bytes of memory held for calls and answers; limits.in_flight_mib bounds their sum.',
    'held_for',
  ),
  overloaded_total: counter(
    'Calls and answers refused by a memory limit: owner is that of one key or address, process that of all.',
    'held_for',
    'limit',
  ),
  write_timeouts_total: counter('Connections closed because their client did not read its answer.'),
  event_loop_late_seconds: histogram(
    'Delay of a timer that is due every 20 ms, which is the delay of all other work.',
    STALL_BUCKETS_S,
  ),
  clock_offset_seconds: gauge(
    "Lead of the platform's clock over the local clock, to about a second; absent until three answers have shown it.",
  ),
  loop_failing: gauge('1 while consecutive iterations of a loop fail.', 'loop'),
  lease_remaining_seconds: gauge(
    'Time until this process ends unless it renews its lease; absent without a standby.',
  ),
  event_loop_stall_max_seconds: gauge('Longest stall of the last minute.'),
  log_events_total: counter(
    'Log events, including those below the configured level.',
    'event',
    'level',
  ),

  db_bytes: gauge('Size of the database.'),
  db_wal_bytes: gauge('Size of the write-ahead log.'),
  db_commit_seconds: histogram(
    'Duration of commits, from the last statement to the disk.',
    SHORT_BUCKETS_S,
  ),
  disk_free_bytes: gauge('Free space on the disk of the data folder.'),
  disk_free_files: gauge('Free inodes on the disk of the data folder; absent without a limit.'),
  reserve_file: gauge('1 while the reserve file for a full disk exists.'),
  storage_failing: gauge('1 while the storage has a problem.'),

  backup_last_timestamp_seconds: gauge('Time of the last backup; absent before the first.'),
  snapshot_last_timestamp_seconds: gauge('Time of the newest snapshot; absent without one.'),
  config_last_reload_successful: gauge(
    '0 after a SIGHUP with a refused configuration, until one is accepted.',
  ),
  config_last_reload_success_timestamp_seconds: gauge(
    'Time at which the active configuration was read: at the start, or at the last accepted SIGHUP.',
  ),

  scrape_failures_total: counter('Values that a scrape could not determine; they are absent.'),
  build_info: gauge(
    'Constant 1, with the version and the runtime as labels.',
    'version',
    'runtime',
  ),
  process_start_time_seconds: gauge('Start time of the process.'),
  process_cpu_seconds_total: counter('Processor time used.'),
  process_resident_memory_bytes: gauge('Resident memory.'),
  process_open_fds: gauge('Open files and sockets; absent when the system does not report it.'),
  process_max_fds: gauge(
    'Maximum of open files and sockets; absent when the system does not report it.',
  ),
} as const satisfies Record<string, MetricSpec>

export type MetricName = keyof typeof METRICS

export const fullName = (name: string): string =>
  name.startsWith('process_') ? name : `forumd_${name}`

import { words } from './show.ts'

// The API's codes, said for people. What is not in here is shown as it came, so that nothing is hidden.

const COVERAGE: { [code: string]: string } = {
  monitor_paused: 'It is paused and looks at nothing.',
  poll_log_unreadable: 'The record of its checks could not be read.',
  loss_events_not_observed:
    'Nothing is known to be missing, but for a while nobody could have noticed.',
  streams_not_polling: 'At least one of its feeds is not being checked.',
  stream_liveness_unknown: 'Its feeds have not been checked yet, or it is not known.',
  streams_awaiting_first_poll: 'It was made moments ago; its first check is on the way.',
  never_polled: 'has never been checked',
  stalled: 'has not been checked for three times its interval',
  unregistered: 'is not registered to be checked: a fault of the service',
}

const GAPS: { [code: string]: string } = {
  poll_overflow: 'More came at once than one look can show.',
  listing_exhausted: 'The platform shows no further back.',
  page_restart: 'The list began again while it was read.',
  empty_listing: 'The platform showed an empty list.',
  error: 'The platform could not be read.',
  storage_full: 'The disk was full.',
  clock_jump: 'The clock of this machine jumped.',
  feed_replaced: 'The platform showed another list than before.',
  log_pruned: 'The record of that time is gone.',
  restore_detected: 'The database came from a backup.',
  process_down: 'The daemon was not running.',
  poll_log_failed: 'A check could not be written down.',
}

const ERRORS: { [code: string]: string } = {
  timeout: 'the receiver did not answer in time',
  dns_failed: "the receiver's name does not resolve",
  connect_failed: 'no connection could be made',
  tls_failed: 'no trusted TLS connection could be made',
  target_not_public: 'the address is not public',
  webhook_paused: 'the webhook is paused or switched off',
  webhook_deleted: 'the webhook was deleted',
  interrupted_repeatedly: 'cut short again and again',
  bad_answer: 'the answer was not one that this kind of target gives',
}

const PAUSES: { [code: string]: string } = {
  failing: 'everything sent to it failed for a week',
  gone: 'the receiver answered 410: gone for good',
}

const SUPPRESSIONS: { [code: string]: string } = {
  stale_item: 'no longer fresh when it was first seen',
  delivery_ceiling: "over the plan's ceiling for the day",
  low_relevance: "below the filter's relevance",
}

/** Why coverage or liveness is what it is. */
export const coverageReason = (code: string): string => COVERAGE[code] ?? words(code)
/** Why something may have been missed. */
export const gapReason = (code: string): string => GAPS[code] ?? words(code)
/** Why a target takes nothing. */
export const pauseReason = (code: string): string => PAUSES[code] ?? words(code)
/** Why a match was not sent. */
export const suppression = (code: string): string => SUPPRESSIONS[code] ?? words(code)

/** Why an attempt did not succeed. */
export function errorReason(code: string): string {
  const status = /^http_(\d+)$/.exec(code)?.[1]
  if (status) return `the receiver answered ${status}`
  const mail = /^smtp_(\d+)$/.exec(code)?.[1]
  return mail ? `the mail server answered ${mail}` : (ERRORS[code] ?? words(code))
}

import { words } from './format.ts'

// Texts for the codes of the API. Unknown codes are shown as words, so that no information is lost.

const COVERAGE: { [code: string]: string } = {
  monitor_paused: 'Paused. Polling stops until you resume the monitor.',
  filter_too_slow: 'Paused because its patterns took too long. Simplify them, then resume it.',
  poll_log_unreadable: 'The poll log could not be read.',
  loss_events_not_observed: 'No known gaps, but part of the time was not observed.',
  streams_not_polling: 'At least one of its feeds is not being polled.',
  not_audited: 'At least one of its feeds has not been verified by an audit for two intervals.',
  stream_liveness_unknown: 'Its feeds have not been polled yet, or their state is unknown.',
  streams_awaiting_first_poll: 'Created moments ago; the first poll is pending.',
  source_unreachable: 'The last check of a source failed; the next one continues at the same item.',
  catching_up: 'A source has items that were not read yet.',
  ids_skipped: 'Too many items came at once: those that were passed are read later.',
  order_is_not_arrival: 'A source lists its items in an order that proves nothing.',
  copy_of_remote: 'The place is a copy of another server, where items may arrive late or never.',
  seen_as_anonymous: 'A source answered as if forumd had no key, which hides items.',
  not_affordable: 'A source has more items than its requests a minute can read.',
  no_paging: 'A source lists its newest items only.',
  places_not_read:
    'The source has not shown the place yet, or could not read the tags of some new items.',
  not_verified: 'Not verified by an audit or by ids.',
  before_start: 'Before the monitor was created.',
  not_watched: 'None of its feeds was watched.',
  no_history: 'The records do not reach back to here.',
  many_changes: 'More changes than a day can list.',
  never_polled: 'never polled',
  stalled: 'not polled for three times its interval',
  unregistered: 'not registered for polling: an internal error',
}

const GAPS: { [code: string]: string } = {
  unanswered: 'The source has no item under these ids, so far.',
  skipped: 'More new items than the source allows to read at once; they are read later.',
  poll_overflow: 'More new items than one poll can read.',
  listing_exhausted: 'The platform lists no older items.',
  page_restart: 'The listing restarted while it was read.',
  empty_listing: 'The platform returned an empty listing.',
  login_wall: 'The platform asks for a login.',
  placeholder: 'The platform showed a notice in place of the listing.',
  profile_hidden: 'The profile is hidden, although it has posts or comments.',
  emptied: 'The platform returned an empty listing although its items exist.',
  error: 'The platform could not be read.',
  storage_full: 'The disk was full.',
  clock_jump: "The daemon's clock jumped.",
  ids_went_back: 'The ids of the source went back, as after a restore of its database.',
  proof_lowered: 'The verified time was later than the clock, and was set back.',
  feed_replaced: 'The platform returned a different listing than before.',
  log_pruned: 'The poll log of that time was pruned.',
  restore_detected: 'The database was restored from a copy.',
  process_down: 'The daemon was not running.',
  poll_log_failed: 'A poll could not be recorded.',
}

const ERRORS: { [code: string]: string } = {
  timeout: 'the receiver did not answer in time',
  dns_failed: "the receiver's name does not resolve",
  connect_failed: 'no connection could be made',
  connection_closed: 'the receiver closed the connection without a response',
  tls_failed: 'no trusted TLS connection could be made',
  target_not_public: 'the address is not public',
  webhook_paused: 'the webhook is paused or switched off',
  webhook_deleted: 'the webhook was deleted',
  interrupted_repeatedly: 'interrupted repeatedly',
  bad_answer: 'the response is not valid for this kind of target',
}

const PAUSES: { [code: string]: string } = {
  failing: 'all deliveries failed for a week',
  gone: 'the receiver answered 410 Gone',
}

const REFUSALS: { [code: string]: string } = {
  pending: 'it is still pending',
  no_webhook: 'it has no webhook',
  webhook_deleted: 'its webhook was deleted',
  webhook_disabled: 'its webhook is switched off',
  webhook_paused: 'its webhook is paused: test it to resume it',
  unconfirmed: 'the recipient has not confirmed the address',
  unsubscribed: 'the recipient has unsubscribed from this monitor',
  content_erased: 'its content is past its retention and was erased',
}

const SUPPRESSIONS: { [code: string]: string } = {
  stale_item: 'no longer fresh when it was first seen',
  delivery_ceiling: "over the plan's daily ceiling",
  low_relevance: "below the filter's minimum relevance",
  irrelevant: "below the minimum score of the model's verdict",
  unjudged: 'no verdict of the model before its monitor was removed or its content expired',
}

export const coverageReason = (code: string): string => COVERAGE[code] ?? words(code)
export const dayGapReason = ({ status, reason }: { status: string; reason: string }): string =>
  status === 'degraded' || reason === 'process_down' ? gapReason(reason) : coverageReason(reason)
export const gapReason = (code: string): string => GAPS[code] ?? words(code)
export const pauseReason = (code: string): string => PAUSES[code] ?? words(code)
/** Text for the reason why a delivery cannot be sent again. */
export const redeliverRefusal = (code: string): string => REFUSALS[code] ?? words(code)
export const suppression = (code: string): string => SUPPRESSIONS[code] ?? words(code)

export function errorReason(code: string): string {
  const status = /^http_(\d+)$/.exec(code)?.[1]
  if (status?.startsWith('3'))
    return `the receiver answered ${status}: redirects are not followed, register the address it points to`
  if (status) return `the receiver answered ${status}`
  const broker = /^mqtt_(\d+)$/.exec(code)?.[1]
  if (broker) return `the broker answered ${broker}`
  const mail = /^smtp_(\d+)$/.exec(code)?.[1]
  return mail ? `the mail server answered ${mail}` : (ERRORS[code] ?? words(code))
}

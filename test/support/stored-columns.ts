/**
 * Kind of data in a column. `content`: texts of items, or digests of them. `author`: the writer of an item. `customer`: what
 * customers and operators have entered. `person`: addresses of their people. `sealed`: encrypted. `plain`: ids, codes,
 * hashes and settings.
 */
type DataClass = 'content' | 'author' | 'customer' | 'person' | 'sealed' | 'plain'

/**
 * Every column with text or bytes, by its table and by what it holds: names separated by spaces. A new column gets its
 * place here, one with content its line in `ERASED_PLACES` too, and its table a row in docs/privacy.md;
 * `test/unit/store/erasure/places.test.ts` fails otherwise.
 */
export const COLUMN_CLASSES: Readonly<Record<string, Partial<Record<DataClass, string>>>> = {
  accounts: {
    customer: 'name username',
    sealed: 'secrets jar',
    plain: 'source id kind proxy_id status',
  },
  alarms: { plain: 'monitor_id kind' },
  api_keys: { customer: 'name', plain: 'id customer_id hash prefix scopes' },
  archive_queue: { content: 'item', plain: 'item_id scopes' },
  attempts: { content: 'headers body_start', plain: 'error' },
  audit: { plain: 'kind subject detail' },
  bundle_items: { content: 'body', plain: 'item_id' },
  bundles: { plain: 'customer_id monitor_id webhook_id' },
  candidates: { content: 'item', plain: 'monitor_id item_id' },
  checks: { plain: 'cut_reason' },
  confirmation_mails: { person: 'address', plain: 'customer_id' },
  customers: { customer: 'name', plain: 'id plan' },
  deliveries: {
    plain: 'id customer_id monitor_id webhook_id status reason last_error suppressed',
  },
  drafts: {
    customer: 'body answer account',
    plain: 'id customer_id key_id action source state',
  },
  feed_items: { content: 'digest', plain: 'item_id found_by' },
  feedback: {
    customer: 'title details area evidence response',
    plain: 'id customer_id type status',
  },
  feeds: { customer: 'key place', plain: 'source kind last_fault state' },
  gaps: { plain: 'reason anchor_ids' },
  holds: { plain: 'id customer_id tier' },
  idempotent_writes: { sealed: 'answer', plain: 'key_id route name body_hash' },
  inbox_actions: {
    customer: 'change previous',
    plain: 'id customer_id key_id kind sample undoes undone_by',
  },
  inbox_items: {
    author: 'author',
    customer: 'label',
    plain: 'customer_id item_id source place state changed_by',
  },
  inbox_matches: { plain: 'monitor_id' },
  instance: { plain: 'id key_fingerprint inodes' },
  item_tombstones: { plain: 'item_id source reason' },
  kept_items: {
    content: 'digest',
    author: 'author author_id',
    plain: 'item_id source thread',
  },
  judgements: {
    content: 'body reason',
    plain: 'monitor_id item_id customer_id outcome model fault',
  },
  loop_state: { plain: 'loop name value' },
  matches: { plain: 'monitor_id item_id' },
  message_items: { plain: 'item_id' },
  messages: { content: 'body', plain: 'monitor_id event digest' },
  monitor_days: { plain: 'monitor_id gaps' },
  monitor_feeds: { plain: 'monitor_id' },
  monitors: {
    customer: 'name filter_spec relevance',
    plain: 'id customer_id baseline_item_id webhook_ids pause_reason attention',
  },
  observation_events: { plain: 'kind' },
  operator_actions: {
    customer: 'key_name subject_name',
    person: 'address',
    plain: 'key_id key_prefix action subject detail',
  },
  operator_events: { customer: 'body', plain: 'id kind subject status' },
  payments: { customer: 'note', plain: 'id customer_id kind' },
  poll_batches: { plain: 'kind anchor_ids' },
  proxies: { customer: 'name', sealed: 'url', plain: 'id last_error' },
  sign_in_links: { plain: 'hash key_id' },
  source_accounts: { sealed: 'credential', plain: 'source' },
  sources: { customer: 'name base_url', plain: 'kind' },
  usage_hours: { plain: 'customer_id tier' },
  web_sessions: { person: 'address', plain: 'hash key_id browser' },
  webhook_hours: { plain: 'webhook_id' },
  webhooks: {
    customer: 'name',
    person: 'url',
    sealed: 'secret old_secret credentials',
    plain: 'id customer_id kind pause_reason events public_key unsubscribed',
  },
}

/** Columns of a class as names of tables and columns. */
export const columnsOf = (of: DataClass): { table: string; column: string }[] =>
  Object.entries(COLUMN_CLASSES).flatMap(([table, classes]) =>
    (classes[of] ?? '')
      .split(' ')
      .filter(Boolean)
      .map((column) => ({ table, column })),
  )

type Kind = 'config' | 'commands' | 'paths' | 'methods'

const BY_CALLS =
  'the model is limited by calls: use relevance.max_calls_per_day and relevance.max_customer_calls_per_day'

/**
 * Names of earlier revisions, each with the sentence that refuses it: what was removed, and what to use instead.
 * - `config`: a key by dotted name, or a table by its name; `source.*` and `plans.*` stand for one entry
 * - `commands`: as typed after `forumd`; an option of a command after its name
 * - `paths`: a path of the HTTP API; it stands for all paths below it too
 * - `methods`: a method of a path that has others
 */
export const REMOVED: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  config: {
    platform: 'a Reddit-style platform is a source too: a [[source]] table of the kind reddit',
    pool: 'accounts belong to a source of the kind reddit: [source.accounts]',
    'standby.lease':
      'the lease lies in the object store that Litestream replicates to: set standby.replica',
    'standby.name': 'a node is named by its host: remove it',
    'standby.skew_s': 'a fifth of ttl_s is left as a margin: remove it',
    'standby.replicate': 'forumd runs Litestream by itself: set standby.replica',
    'standby.restore': 'forumd runs Litestream by itself: set standby.replica',
    'standby.restore_every_s': 'a standby restores when it takes over: remove it',
    'standby.unsettled_s': 'writes are not refused after a failover: remove it',
    'relevance.batch': 'it needs no setting any more: remove it',
    'relevance.cache_days': 'a verdict is not used again: remove it',
    'relevance.max_cost_usd_per_day': BY_CALLS,
    'relevance.max_tokens_per_day': BY_CALLS,
    'relevance.price_input_per_million': BY_CALLS,
    'relevance.price_output_per_million': BY_CALLS,
  },
  commands: {
    'account add --no-check': 'use --untested',
    approve: 'use forumd draft list, show, approve or decline',
    failover: 'planned moves were removed: stop the primary, and the other node goes on',
    replica:
      'replica status was removed: /health shows the role of a node, its log whether it replicates',
    'feedback list':
      'the list of feedback was removed: a notice to [operator] webhook and the problems of the dashboard have each id and text; forumd feedback answer ID TEXT answers it',
    'customer export':
      'moving a customer was removed: take its settings with forumd export, or the whole instance with forumd backup',
    'customer import':
      'moving a customer was removed: take over its settings with forumd apply, or the whole instance with forumd restore',
    'purge --prove':
      'the search for erased content was removed: it leaves the database and the archive at once, and snapshots within a day, see docs/privacy.md',
    certificate:
      'signed certificates were removed: coverage by day is at GET /forum/monitor/coverage',
  },
  paths: {
    '/.well-known/forumd-keys.json':
      'signed certificates were removed: coverage by day is at GET /forum/monitor/coverage',
    '/forum/monitor/certificate':
      'signed certificates were removed: coverage by day is at GET /forum/monitor/coverage',
    '/operator/feedback':
      'the lists of feedback were removed: GET /operator/problems has what is not answered, and forumd feedback answer ID TEXT answers it',
    '/forum/inbox/proposals':
      'proposals were removed: list /forum/inbox?state=dismissed, and exclude what you see with /forum/inbox/mute',
    '/forum/inbox/stats':
      'the statistics of the inbox were removed: /forum/inbox/counts has numbers by state and label, for any filter',
    '/forum/inbox/views':
      'saved views were removed: the address of the dashboard page has the whole filter, so save it as a bookmark',
    '/forum/inbox/stream':
      'the event stream of the inbox was removed: /forum/monitor/stream sends new matches, and /forum/inbox lists states',
  },
  methods: {
    'GET /feedback': 'the list of feedback was removed: GET /feedback/ID has one with its answer',
  },
}

/** The sentence for a removed key, command or method; null: no such name was removed. */
export const removedText = (kind: Exclude<Kind, 'paths'>, name: string): string | null =>
  Object.entries(REMOVED[kind]).find(([it]) => it === name)?.[1] ?? null

/** The sentence for a removed path, or for a path below one. */
export const removedPathText = (path: string): string | null =>
  Object.entries(REMOVED.paths).find(([it]) => path === it || path.startsWith(`${it}/`))?.[1] ??
  null

type NoticeKind = {
  kind: string
  subject: (fields: Readonly<Record<string, unknown>>) => unknown
  message: (subject: string, reason: string, fields: Readonly<Record<string, unknown>>) => string
  /** Sent each time, because the source logs it once. Other kinds are sent once in six hours per subject. */
  every_time?: true
  /** Sent once for each subject, as long as events are kept. */
  once?: true
}

const because = (reason: string) => (reason === '' ? '' : ` (${reason})`)
const host = ({ host: name }: Readonly<Record<string, unknown>>) => name
const secondsOf = (ms: unknown): number => Math.round(Number(ms) / 1000)
const account = ({ account: name }: Readonly<Record<string, unknown>>) => name
const invariant = (message: NoticeKind['message']): Pick<NoticeKind, 'kind' | 'message'> => ({
  kind: 'invariant_broken',
  message,
})

const ACCESS_ENDS: Readonly<Record<string, (subject: string) => string>> = {
  client_revoked: (name) =>
    `The platform does not know the application of the account ${name} any more: it was revoked. It is not used until the platform accepts it again.`,
  login_wall: (name) =>
    `The platform ${name} asks for a login before it answers: anonymous reads have ended. Add an account.`,
  placeholder: (name) =>
    `The platform shows a notice in place of ${name}: it wants a login or an age check for such listings.`,
  profile_hidden: (name) =>
    `The profile of ${name} is empty although it has karma or known posts: its user hides it.`,
  emptied: (name) =>
    `The platform answers empty pages for ${name}, whose items exist: nothing is believed to be empty there.`,
}

const subjectOf = ({ subject }: Readonly<Record<string, unknown>>) => subject

/** Operator events by log event: logging the event is enough to notify the operator. */
const NOTICE_KINDS: Readonly<Record<string, NoticeKind>> = {
  'account.needs_login': {
    kind: 'account_needs_login',
    subject: account,
    message: (name, reason) =>
      `The account ${name} needs you to sign it in${because(reason)}: forumd account login ${name}`,
  },
  'account.suspended': {
    kind: 'account_suspended',
    subject: account,
    message: (name) => `The platform has suspended the account ${name}; it is no longer used.`,
  },
  'account.locked': {
    kind: 'account_locked',
    subject: account,
    message: (name) =>
      `The platform wants a new password for the account ${name}: set one there, then forumd account login ${name}`,
  },
  'account.unreadable': {
    ...invariant(
      (name) =>
        `The stored credentials of the account ${name} cannot be decrypted with the key file.`,
    ),
    subject: account,
  },
  'pool.empty': {
    kind: 'pool_empty',
    subject: () => 'pool',
    message: () =>
      'No account of the pool can be used: reads are degraded and monitors see nothing.',
  },
  'access.ended': {
    kind: 'access_ended',
    subject: subjectOf,
    message: (subject, reason) =>
      ACCESS_ENDS[reason]?.(subject) ?? `A way in has ended at ${subject}${because(reason)}.`,
  },
  'access.restored': {
    kind: 'access_restored',
    subject: subjectOf,
    message: (subject, reason) => `The platform answers for ${subject} again${because(reason)}.`,
    every_time: true,
  },
  'source.ending': {
    kind: 'source_ending',
    subject: ({ source, warning }) => `${textOf(source)} ${Number(warning)}`,
    message: (_, __, { source, ends_at, days }) =>
      `Access to the source ${textOf(source)} ends on ${textOf(ends_at)}, in ${Number(days)} days.`,
    once: true,
  },
  'source.ended': {
    kind: 'source_ended',
    subject: ({ source }) => source,
    message: (source, _, { ends_at }) =>
      `Access to the source ${source} has ended on ${textOf(ends_at)}, says its configuration.`,
    once: true,
  },
  'platform.unreachable': {
    kind: 'platform_unreachable',
    subject: host,
    message: (name) =>
      `The platform ${name} cannot be reached: reads are degraded and monitors see nothing until it answers.`,
    every_time: true,
  },
  'platform.recovered': {
    kind: 'platform_recovered',
    subject: host,
    message: (name, _, fields) =>
      `The platform ${name} answers again after ${secondsOf(fields['duration_ms'])} s; monitors poll again.`,
    every_time: true,
  },
  'act.blocked': {
    kind: 'upstream_blocked',
    subject: ({ act }) => act,
    message: (act) =>
      `The platform requires a human check before it accepts a ${act}. forumd does not solve it: import the account's cookies from its owner's own browser.`,
  },
  'feed.stalled': {
    kind: 'stream_stalled',
    subject: ({ feed }) => feed,
    message: (feed) => `The stream ${feed} has not been polled for three of its intervals.`,
  },
  'feedback.received': {
    kind: 'feedback_received',
    subject: ({ id }) => id,
    message: (id, _, { customer, type, title, details, area, evidence }) =>
      [
        `Feedback of the customer ${textOf(customer)} (${textOf(type)}): ${textOf(title)}`,
        textOf(details),
        ...[area, evidence].map(textOf).filter((it) => it !== ''),
        `Answer it on the host: forumd feedback answer ${id} TEXT`,
      ].join('\n\n'),
    once: true,
  },
  'filter.too_slow': {
    kind: 'filter_too_slow',
    subject: ({ monitor }) => monitor,
    message: (id) =>
      `The patterns of the monitor ${id} exceeded their time budget. The monitor is paused until its owner resumes it.`,
  },
  'loop.failing': {
    kind: 'loop_failing',
    subject: ({ loop }) => loop,
    message: (loop, _, { code }) =>
      `The ${loop} loop keeps failing (${String(code)}) and makes no progress; see the log.`,
    every_time: true,
  },
  'loop.recovered': {
    kind: 'loop_recovered',
    subject: ({ loop }) => loop,
    message: (loop, _, fields) =>
      `The ${loop} loop works again after ${secondsOf(fields['duration_ms'])} s.`,
    every_time: true,
  },
  'standby.took_over': {
    kind: 'failover',
    subject: () => 'node',
    message: () =>
      'This node has taken over with a copy of the database of the other one; monitors name the time between as not observed.',
    every_time: true,
  },
  'standby.replication_ended': {
    kind: 'replication_failed',
    subject: () => 'replication',
    message: () => 'Litestream ends again and again: a failover would lose what is written now.',
  },
  'process.out_of_files': {
    kind: 'out_of_files',
    subject: () => 'process',
    message: () =>
      'The daemon can open no more files or connections: deliveries wait. Raise its limit (LimitNOFILE=).',
  },
  'webhook.paused': {
    kind: 'webhook_paused',
    subject: ({ webhook_id }) => webhook_id,
    message: (id, reason) =>
      `The webhook ${id} no longer accepts deliveries and is paused${because(reason)}.`,
  },
  'storage.low': {
    kind: 'disk_low',
    subject: () => 'disk',
    message: () =>
      'The disk of the data folder is nearly full: free space, or storing will stop soon.',
  },
  'storage.full': {
    kind: 'disk_low',
    subject: () => 'disk full',
    message: () => 'The disk of the data folder is full: polling stops until there is space.',
  },
  'storage.snapshot_failed': {
    kind: 'snapshot_failed',
    subject: () => 'snapshot',
    message: (_, reason) => `No snapshot could be taken${because(reason)}.`,
  },
  'erasure.snapshots_failed': {
    kind: 'snapshot_failed',
    subject: () => 'erasure',
    message: (_, reason) => `Snapshots still hold content that was erased${because(reason)}.`,
  },
  'delivery.body_damaged': {
    ...invariant((id) => `The stored body of the delivery ${id} has changed; it was not sent.`),
    subject: ({ delivery_id }) => delivery_id,
  },
}

/** Sections of docs/operations.md that say what to do, by kind. */
const RUNBOOK_SECTIONS: Readonly<Record<string, string>> = {
  access_ended: 'access-ends',
  access_restored: 'access-ends',
  account_locked: 'no-account-can-read',
  account_needs_login: 'no-account-can-read',
  account_suspended: 'no-account-can-read',
  disk_low: 'disk-full',
  failover: 'a-failover',
  filter_too_slow: 'errors-in-the-log',
  invariant_broken: 'storage-damaged',
  loop_failing: 'a-loop-fails',
  loop_recovered: 'a-loop-fails',
  out_of_files: 'file-descriptors',
  platform_recovered: 'platform-unreachable',
  platform_unreachable: 'platform-unreachable',
  pool_empty: 'no-account-can-read',
  replication_failed: 'a-failover',
  source_ended: 'access-ends',
  source_ending: 'access-ends',
  snapshot_failed: 'backups-are-old',
  stream_stalled: 'polls-are-late',
  upstream_blocked: 'a-human-check',
  webhook_paused: 'deliveries-fail',
}

/**
 * The section of the operations guide for a kind of event: at the daemon's own public address, or as a path in the
 * repository where none is configured. Null: it has none.
 */
export function runbookUrl(kind: string, public_url: string): string | null {
  const section = RUNBOOK_SECTIONS[kind]
  if (section === undefined) return null
  const page = public_url === '' ? 'docs/operations.md' : `${public_url}/docs/operations`
  return `${page}#${section}`
}

export type OperatorNotice = {
  kind: string
  subject: string
  message: string
  every_time?: true
  once?: true
}

/** The operator event of a log event; null for nearly all of them. */
export function noticeFor(
  event: string,
  fields: Readonly<Record<string, unknown>>,
): OperatorNotice | null {
  const kind = NOTICE_KINDS[event]
  if (kind === undefined) return null
  const subject = textOf(kind.subject(fields))
  const message = kind.message(subject, textOf(fields['reason']), fields)
  return {
    kind: kind.kind,
    subject,
    message,
    ...(kind.every_time && { every_time: true }),
    ...(kind.once && { once: true }),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

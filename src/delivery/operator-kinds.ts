/** One kind of operator event: which log event tells it, whom it is about, and what it says to a person. */
type Kind = {
  kind: string
  subject: (fields: Readonly<Record<string, unknown>>) => unknown
  says: (subject: string, reason: string) => string
}

const because = (reason: string) => (reason === '' ? '' : ` (${reason})`)
const account = ({ account: name }: Readonly<Record<string, unknown>>) => name
const invariant = (says: Kind['says']): Pick<Kind, 'kind' | 'says'> => ({
  kind: 'invariant_broken',
  says,
})

/** What an operator hears of, by the log event that says it: whoever has something to tell just logs it. */
const KINDS: Readonly<Record<string, Kind>> = {
  'account.needs_login': {
    kind: 'account_needs_login',
    subject: account,
    says: (name, reason) =>
      `The account ${name} has to be signed in by you${because(reason)}: forumd account login ${name}`,
  },
  'account.suspended': {
    kind: 'account_suspended',
    subject: account,
    says: (name) => `The platform has suspended the account ${name}; nothing is asked through it.`,
  },
  'account.locked': {
    kind: 'account_locked',
    subject: account,
    says: (name) =>
      `The platform wants a new password for the account ${name}: set one there, then forumd account login ${name}`,
  },
  'account.unreadable': {
    ...invariant(
      (name) => `What is stored of the account ${name} does not open with the key file.`,
    ),
    subject: account,
  },
  'pool.empty': {
    kind: 'pool_empty',
    subject: () => 'pool',
    says: () => 'No account of the pool can be used: reads are degraded and monitors see nothing.',
  },
  'act.blocked': {
    kind: 'upstream_blocked',
    subject: ({ act }) => act,
    says: (act) =>
      `The platform wants to see a person before it takes a ${act}. Nothing answers for one: import the account's cookies from its owner's own browser.`,
  },
  'stream.stalled': {
    kind: 'stream_stalled',
    subject: ({ stream }) => stream,
    says: (stream) => `The stream ${stream} has not been looked at for three of its intervals.`,
  },
  'webhook.paused': {
    kind: 'webhook_paused',
    subject: ({ webhook_id }) => webhook_id,
    says: (id, reason) =>
      `The webhook ${id} takes nothing any more and is paused${because(reason)}.`,
  },
  'storage.invariant_broken': {
    ...invariant((subject) => `What is stored contradicts itself at ${subject}; the log says how.`),
    subject: ({ target }) => target,
  },
  'storage.low': {
    kind: 'disk_low',
    subject: () => 'disk',
    says: () =>
      'The disk of the data folder is nearly full: make room, or nothing can be kept soon.',
  },
  'storage.full': {
    kind: 'disk_low',
    subject: () => 'disk full',
    says: () => 'The disk of the data folder is full: nothing new is watched until there is room.',
  },
  'storage.snapshot_failed': {
    kind: 'snapshot_failed',
    subject: () => 'snapshot',
    says: (_, reason) => `No snapshot could be taken${because(reason)}.`,
  },
  'delivery.body_damaged': {
    ...invariant((id) => `The stored body of the delivery ${id} has changed; it was not sent.`),
    subject: ({ delivery_id }) => delivery_id,
  },
}

/** What the operator is told: its kind, whom or what it is about, and a sentence. */
export type Told = { kind: string; subject: string; message: string }

/** What a log event means to the operator; null for nearly all of them. */
export function toldBy(event: string, fields: Readonly<Record<string, unknown>>): Told | null {
  const kind = KINDS[event]
  if (kind === undefined) return null
  const subject = textOf(kind.subject(fields))
  return { kind: kind.kind, subject, message: kind.says(subject, textOf(fields['reason'])) }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

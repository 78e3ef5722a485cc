import { DRAFT_HOURS, EXPIRED, statusOf } from '../core/draft.ts'
import { iso } from '../core/instant.ts'
import { findAccountByName } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import { type Draft, findDraft, listDrafts, moveDraft } from '../store/drafts.ts'
import { openInstance } from '../store/instance.ts'
import { command, EXIT, JSON_OPTION, Refusal, type Surroundings, UsageError } from './command.ts'
import { readConfig } from './config-file.ts'
import { plain } from './plain.ts'
import { table } from './table.ts'

const LIST_MAX = 1000
const SHOWN_MAX = 60
const CARD_MAX = 12_000
/** A daemon looks about once a second, and a write may have to wait for the platform. */
const TAKEN_UP_WITHIN_MS = 10_000
const WRITTEN_WITHIN_MS = 120_000
const LOOK_EVERY_MS = 200

const shown = (it: Draft, now: number) => ({
  id: it.id,
  customer: it.customer_name,
  action: it.action,
  body: it.body,
  status: statusOf(it, now),
  account: it.account,
  created_at: iso(it.created_at),
  expires_at: iso(it.expires_at),
  answer: it.answer,
})

/** What a stranger's program wrote, as JSON. */
const asJson = (value: unknown): string => plain(JSON.stringify(value))

/** The same, cut where nobody reads on: a picture may be among it. `--json` has all of it. */
function clipped(value: unknown): string {
  const text = asJson(value)
  return text.length > CARD_MAX ? `${text.slice(0, CARD_MAX)}… (${text.length} characters)` : text
}

/** The same, short enough for a row: what is said before where it is said. */
function oneLine({ text: said, ...rest }: Record<string, unknown>): string {
  const text = asJson(said === undefined ? rest : { text: said, ...rest })
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}

export const approve = command({
  name: 'approve',
  summary: 'shows what programs want to write, and writes what you agree to',
  operands: ['[ID]'],
  options: {
    account: { type: 'string', value: 'NAME', help: 'write it as this account of the pool' },
    decline: { type: 'boolean', help: 'have it not written' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd approve',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001 --account main',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001 --decline',
  ],
  notes: `Without an ID it lists the drafts that wait; with one alone it shows that draft whole. The running daemon writes what you approve, once, and its customer pays for it. A draft ends after ${DRAFT_HOURS} hours.`,
  async run({ values, operands: [id], ...around }) {
    const { account, decline, json } = values
    if (id === undefined && (account !== undefined || decline))
      throw new UsageError('which draft? its ID is needed: see forumd approve')
    if (account !== undefined && decline)
      throw new UsageError('--account NAME and --decline do not go together')
    const { config } = readConfig(values.config, { env: around.env })
    const { clock, random } = await around.parts.createOutside(config.log, around.stdout)
    const { dir, key_file } = config.storage
    const instance = openInstance({ dir, key_file, clock, random }, { mode: 'beside' })
    const { db } = instance
    try {
      if (id === undefined) return list(db, clock.now(), json, around)
      const draft = read(db, id)
      if (decline) {
        if (!moveDraft(db, id, { from: 'waiting', to: 'declined', now: clock.now() }))
          throw over(draft, clock.now())
      } else if (account !== undefined) {
        if (findAccountByName(db, account) === null)
          throw new Refusal(`there is no account "${account}": see forumd account list`)
        if (!moveDraft(db, id, { from: 'waiting', to: 'queued', account, now: clock.now() }))
          throw over(draft, clock.now())
        await written(db, id, clock)
      }
      return tell(read(db, id), clock.now(), json, around, account !== undefined)
    } finally {
      instance.close()
    }
  },
})

function read(db: Db, id: string): Draft {
  const draft = findDraft(db, id, null)
  if (draft !== null) return draft
  throw new Refusal(`there is no draft "${id}": see forumd approve`)
}

const over = (draft: Draft, now: number): Refusal =>
  new Refusal(`this draft is ${statusOf(draft, now)} already, and cannot be decided on again`)

function list(db: Db, now: number, json: boolean, { stdout }: Surroundings): number {
  const rows = listDrafts(db, {
    customer_id: null,
    waiting: true,
    now,
    after_id: null,
    limit: LIST_MAX,
  })
  stdout.write(
    json
      ? `${JSON.stringify({ drafts: rows.map((it) => shown(it, now)) })}\n`
      : table(
          rows.map((it) => ({
            id: it.id,
            customer: it.customer_name,
            action: it.action,
            what: oneLine(it.body),
            ends: iso(it.expires_at),
          })),
          'No drafts wait.',
        ),
  )
  return EXIT.done
}

/** Waits until the daemon has written it, or nobody seems to. */
async function written(
  db: Db,
  id: string,
  { mono, sleep }: { mono(): number; sleep(ms: number): Promise<void> },
): Promise<void> {
  const began = mono()
  for (;;) {
    const { state } = read(db, id)
    const waited = mono() - began
    if (state !== 'queued' && state !== 'running') return
    if (waited >= (state === 'queued' ? TAKEN_UP_WITHIN_MS : WRITTEN_WITHIN_MS)) return
    await sleep(LOOK_EVERY_MS)
  }
}

/** What became of it; 1 where it was approved and not written. */
function tell(
  draft: Draft,
  now: number,
  json: boolean,
  { stdout }: Surroundings,
  approved: boolean,
): number {
  const failed = draft.state === 'failed' || draft.state === 'waiting'
  const code = approved && failed ? EXIT.failed : EXIT.done
  if (json) {
    stdout.write(`${JSON.stringify(shown(draft, now))}\n`)
    return code
  }
  const { id, customer_name, action, body, answer } = draft
  const lines = [
    `${id}: ${action} by a program of ${customer_name}`,
    ...Object.entries(body).map(([name, value]) => `  ${name}: ${clipped(value)}`),
    standing(draft, now),
    ...(answer === null ? [] : [`answer: ${asJson(answer)}`]),
  ]
  stdout.write(`${lines.join('\n')}\n`)
  return code
}

function standing(draft: Draft, now: number): string {
  const { id, state, account, expires_at, answer } = draft
  switch (state) {
    case 'done':
      return account === null ? 'written' : `written as ${account}`
    case 'queued':
      return statusOf(draft, now) === 'expired'
        ? 'approved, but no daemon wrote it in time: it has ended'
        : `approved for ${account}; no daemon has taken it up yet: one that runs before ${iso(expires_at)} writes it`
    case 'running':
      return 'being written'
    case 'failed':
      return 'failed: it is not tried again'
    case 'declined':
      return 'declined: it is not written'
    case 'waiting': {
      if (statusOf(draft, now) === 'expired') return `ended: ${EXPIRED}`
      const again = answer === null ? '' : 'not written, it waits again; '
      return `${again}approve it before ${iso(expires_at)}: forumd approve ${id} --account NAME`
    }
  }
}

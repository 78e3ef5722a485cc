import { apiKeyOf, type Config } from '../../config/schema.ts'
import { iso } from '../../core/base/time.ts'
import { DRAFT_HOURS, EXPIRED, statusOf } from '../../core/forum/draft.ts'
import { findAccountByName } from '../../store/accounts/accounts.ts'
import { listSourceAccounts } from '../../store/accounts/sources.ts'
import { type Draft, findDraft, listDrafts, moveDraft } from '../../store/customers/drafts.ts'
import type { Db } from '../../store/db/connection.ts'
import { openInstance } from '../../store/maintenance/instance.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  UsageError,
} from '../command.ts'
import { openConfig } from '../configuration.ts'
import { escapeControl, table } from '../output.ts'

const LIST_MAX = 1000
const ROW_TEXT_MAX = 60
const CARD_MAX = 12_000
/** Waits for the daemon, which polls about once a second, and for the write, which may wait for the platform. */
const PICKUP_TIMEOUT_MS = 10_000
const WRITE_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 200

const toView = (it: Draft, now: number) => ({
  id: it.id,
  customer: it.customer_name,
  action: it.action,
  body: it.body,
  source: it.source,
  status: statusOf(it, now),
  account: it.account,
  created_at: iso(it.created_at),
  expires_at: iso(it.expires_at),
  answer: it.answer,
})

/** The untrusted content of a draft, as JSON. */
const asJson = (value: unknown): string => escapeControl(JSON.stringify(value))

/** The same, shortened: it may hold a picture. `--json` prints all of it. */
function clipped(value: unknown): string {
  const text = asJson(value)
  return text.length > CARD_MAX ? `${text.slice(0, CARD_MAX)}… (${text.length} characters)` : text
}

/** The same, short enough for a row: the text before its place. */
function oneLine({ text: content, ...rest }: Record<string, unknown>): string {
  const text = asJson(content === undefined ? rest : { text: content, ...rest })
  return text.length > ROW_TEXT_MAX ? `${text.slice(0, ROW_TEXT_MAX)}…` : text
}

export const approve = command({
  name: 'approve',
  summary: 'lists drafts and approves or declines them',
  operands: ['[ID]'],
  options: {
    account: {
      type: 'string',
      value: 'NAME',
      help: 'account of the pool, or name of the source, to write as',
    },
    decline: { type: 'boolean', help: 'decline the draft' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd approve',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001 --account main',
    'forumd approve drf_0199a000-0000-7000-8000-000000000001 --decline',
  ],
  notes: `Without an ID it lists open drafts; with an ID alone it shows the whole draft. The running daemon sends an approved draft once and bills its customer. A draft expires after ${DRAFT_HOURS} hours.`,
  async run({ values, operands: [id], ...context }) {
    const { account, decline, json } = values
    if (id === undefined && (account !== undefined || decline))
      throw new UsageError('ID is needed: list the drafts with forumd approve')
    if (account !== undefined && decline)
      throw new UsageError('--account and --decline exclude each other')
    const { config, storage } = openConfig(context)
    const { clock, random } = await context.factories.createRuntime(config.log, context.stdout)
    const instance = openInstance({ ...storage, clock, random }, { mode: 'beside' })
    const { db } = instance
    try {
      if (id === undefined) return list(db, clock.now(), json, context)
      const draft = read(db, id)
      if (decline) {
        if (!moveDraft(db, id, { from: 'waiting', to: 'declined', now: clock.now() }))
          throw alreadyDecided(draft, clock.now())
      } else if (account !== undefined) {
        checkAccount(db, config, draft, account)
        if (!moveDraft(db, id, { from: 'waiting', to: 'queued', account, now: clock.now() }))
          throw alreadyDecided(draft, clock.now())
        await waitUntilWritten(db, id, clock)
      }
      return printDraft(read(db, id), clock.now(), json, context, account !== undefined)
    } finally {
      instance.close()
    }
  },
})

/** @throws {CommandRefusal} if there is none of this name where the draft belongs */
function checkAccount(db: Db, config: Config, { source }: Draft, account: string): void {
  if (source === null) {
    if (findAccountByName(db, account) !== null) return
    throw new CommandRefusal(`there is no account "${account}": see forumd account list`)
  }
  if (account !== source)
    throw new CommandRefusal(`this draft is for the source ${source}: --account ${source}`)
  const has_key = config.source.some((it) => it.name === source && apiKeyOf(it) !== '')
  if (!has_key && !listSourceAccounts(db).some((it) => it.source === source))
    throw new CommandRefusal(
      `there is no account at ${source}: forumd account add --source ${source}`,
    )
}

function read(db: Db, id: string): Draft {
  const draft = findDraft(db, id, null)
  if (draft !== null) return draft
  throw new CommandRefusal(`there is no draft "${id}": see forumd approve`)
}

const alreadyDecided = (draft: Draft, now: number): CommandRefusal =>
  new CommandRefusal(`this draft is ${statusOf(draft, now)} already; its decision is final`)

function list(db: Db, now: number, json: boolean, { stdout }: CommandContext): number {
  const rows = listDrafts(db, {
    customer_id: null,
    waiting: true,
    now,
    after_id: null,
    limit: LIST_MAX,
  })
  stdout.write(
    json
      ? `${JSON.stringify({ drafts: rows.map((it) => toView(it, now)) })}\n`
      : table(
          rows.map((it) => ({
            id: it.id,
            customer: it.customer_name,
            action: it.action,
            what: oneLine(it.body),
            ends: iso(it.expires_at),
          })),
          'There is no open draft.',
        ),
  )
  return EXIT.done
}

/** Waits until the daemon has sent the draft, or until a timeout. */
async function waitUntilWritten(
  db: Db,
  id: string,
  { mono, sleep }: { mono(): number; sleep(ms: number): Promise<void> },
): Promise<void> {
  const began = mono()
  for (;;) {
    const { state } = read(db, id)
    const waited = mono() - began
    if (state !== 'queued' && state !== 'running') return
    if (waited >= (state === 'queued' ? PICKUP_TIMEOUT_MS : WRITE_TIMEOUT_MS)) return
    await sleep(POLL_INTERVAL_MS)
  }
}

/** Prints the state of a draft; 1 when it was approved and not sent. */
function printDraft(
  draft: Draft,
  now: number,
  json: boolean,
  { stdout }: CommandContext,
  approved: boolean,
): number {
  const failed = draft.state === 'failed' || draft.state === 'waiting'
  const code = approved && failed ? EXIT.failed : EXIT.done
  if (json) {
    stdout.write(`${JSON.stringify(toView(draft, now))}\n`)
    return code
  }
  const { id, customer_name, action, body, answer } = draft
  const lines = [
    `${id}: ${action} by a program of ${customer_name}`,
    ...Object.entries(body).map(([name, value]) => `  ${name}: ${clipped(value)}`),
    statusText(draft, now),
    ...(answer === null ? [] : [`answer: ${asJson(answer)}`]),
  ]
  stdout.write(`${lines.join('\n')}\n`)
  return code
}

function statusText(draft: Draft, now: number): string {
  const { id, state, account, expires_at, answer } = draft
  switch (state) {
    case 'done':
      return account === null ? 'written' : `written as ${account}`
    case 'queued':
      return statusOf(draft, now) === 'expired'
        ? 'approved, but no daemon sent it in time: it has expired'
        : `approved for ${account}; no daemon has started it yet: a daemon that runs before ${iso(expires_at)} writes it`
    case 'running':
      return 'being written'
    case 'failed':
      return 'failed: it is not retried'
    case 'declined':
      return 'declined: it is not written'
    case 'waiting': {
      if (statusOf(draft, now) === 'expired') return `ended: ${EXPIRED}`
      const again = answer === null ? '' : 'not written, it is open again; '
      return `${again}approve it before ${iso(expires_at)}: forumd approve ${id} --account NAME`
    }
  }
}

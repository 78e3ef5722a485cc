/** Commands that request the operator API: beside a running daemon over its address, else in this process. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type * as z from 'zod'

import type { Action, Printed, PrintedTable, PrintedValue } from '../api/operator/action.ts'
import { errorCode } from '../core/base/errors.ts'
import { createSources, FROM } from './account/credentials.ts'
import {
  type Command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  type Option,
  UsageError,
} from './command.ts'
import { openConfig } from './configuration.ts'
import { card, escapeControl, table } from './output.ts'

/** The actions of operators as commands, by name. Loaded where no other command is meant: they load the store. */
export async function operatorCommands(): Promise<Map<string, () => Promise<Command>>> {
  const { ACTIONS } = await import('../api/operator/commands.ts')
  return new Map(ACTIONS.map((it) => [it.command, () => Promise.resolve(commandOf(it))]))
}

function commandOf(action: Action): Command {
  const { command: name, summary, operands, stdin, secret, examples, notes, print } = action
  const fields = Object.entries(action.fields?.() ?? {})
  const is_optional = new Set(
    fields.flatMap(([field, schema]) => (schema.safeParse(undefined).success ? [field] : [])),
  )
  const options = fields.flatMap(([field, schema]) =>
    operands.includes(field) || field === stdin ? [] : [[field, optionOf(field, schema)] as const],
  )
  const in_path = fieldsOfPath(action.route)
  return {
    name,
    summary,
    operands: operands.map((it) =>
      is_optional.has(it) || it === secret ? `[${it.toUpperCase()}]` : it.toUpperCase(),
    ),
    options: {
      ...Object.fromEntries(options.map(([field, option]) => [typed(field), option])),
      ...(secret !== undefined && {
        [`${secret}-file`]: {
          type: 'string',
          value: FROM,
          help: `the ${secret}, with credentials`,
        },
      }),
      json: JSON_OPTION,
    },
    examples,
    ...(notes !== undefined && { notes }),
    async run({ values, operands: given, ...context }) {
      const input: Record<string, unknown> = {}
      for (const [at, field] of operands.entries()) {
        const text = given[at]
        const is_piped = text === '-' && !in_path.includes(field)
        input[field] = is_piped ? await context.readStdin() : text
      }
      if (stdin !== undefined) {
        if (context.stdinIsTerminal)
          context.warn(`Paste the ${stdin}, then press Enter and Ctrl-D:`)
        input[stdin] = await context.readStdin()
      }
      const chosen = new Map<string, unknown>(Object.entries(values))
      for (const [field] of options) input[field] = chosen.get(typed(field))
      if (secret !== undefined)
        input[secret] = await secretOf(context, secret, values, input[secret])
      const answer = await requestAction(context, action, input)
      if ('json' in values && values.json === true)
        context.stdout.write(`${JSON.stringify(answer)}\n`)
      else show(context, print(answer, input))
      return action.failed?.(answer) === true ? EXIT.failed : EXIT.done
    },
  }
}

/** A field that may hold a secret: the operand without one, the content of its file, or what a person types. */
async function secretOf(
  context: CommandContext,
  field: string,
  values: object,
  operand: unknown,
): Promise<unknown> {
  const sources = createSources(context, { ...values })
  const from = new Map<string, unknown>(Object.entries(values)).get(`${field}-file`)
  if (operand !== undefined && from !== undefined)
    throw new UsageError(`${field.toUpperCase()} and --${field}-file exclude each other`)
  if (String(operand).includes('@'))
    throw new UsageError(
      `credentials on the command line are visible to other users: use --${field}-file`,
    )
  if (operand !== undefined) return operand
  return typeof from === 'string'
    ? sources.read(`${field}-file`, from)
    : ((await sources.prompt(`${field}: `)) ?? undefined)
}

const typed = (field: string) => field.replaceAll('_', '-')

function optionOf(field: string, schema: z.ZodType): Option {
  const help = schema.description ?? field
  return schema.safeParse(true).success
    ? { type: 'boolean', help }
    : { type: 'string', value: field.toUpperCase(), help }
}

const fieldsOfPath = (route: string): string[] =>
  [...route.matchAll(/:(\w+)/g)].map(([, field = '']) => field)

function show({ stdout, warn }: CommandContext, text: Printed): void {
  if (typeof text === 'string') stdout.write(`${escapeControl(text)}\n`)
  else if (isTable(text)) stdout.write(table(text.rows, text.none, text.below))
  else if (isValue(text)) {
    for (const note of text.notes) warn(escapeControl(note), 'info')
    if (text.value !== null) stdout.write(`${text.value}\n`)
  } else stdout.write(card(text))
}

const isTable = (it: Exclude<Printed, string>): it is PrintedTable =>
  'rows' in it && Array.isArray(it.rows)
const isValue = (it: Exclude<Printed, string>): it is PrintedValue =>
  'notes' in it && Array.isArray(it.notes)

/** @throws {UsageError | CommandRefusal} with the message of the API */
export async function requestAction(
  context: CommandContext,
  { route, needs_daemon }: Pick<Action, 'route' | 'needs_daemon'>,
  input: Readonly<Record<string, unknown>>,
): Promise<object> {
  const [method = '', pattern = ''] = route.split(' ')
  const in_path = fieldsOfPath(route)
  const sent = Object.entries(input).filter(
    ([field, value]) => !in_path.includes(field) && value !== undefined,
  )
  const query = new URLSearchParams()
  if (method === 'GET') for (const [field, value] of sent) query.set(field, String(value))
  const path = pattern
    .replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(input[field])))
    .concat(query.size > 0 ? `?${query.toString()}` : '')
  const idempotency_key = crypto.randomUUID()
  const init = (key: string | null) => ({
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      'idempotency-key': idempotency_key,
    },
    ...(method === 'POST' && { body: JSON.stringify(Object.fromEntries(sent)) }),
  })
  const { config, storage } = openConfig(context)
  const runtime = await context.factories.createRuntime(config.log, context.stdout)
  const daemon = daemonOf(config.storage.dir)
  const beside =
    daemon &&
    (await runtime
      .fetch(`${daemon.url}/operator${path}`, init(daemon.key))
      .catch((error: unknown) => {
        if (method === 'GET' || NOT_CONNECTED.has(errorCode(error))) return null
        throw new CommandRefusal(
          `the daemon at ${daemon.url} closed the connection before it answered: it may have done this or not. Look at the present state before you try again`,
        )
      }))
  if (beside !== null && beside.status !== 401) return readAnswer(beside)
  if (needs_daemon === true)
    throw new CommandRefusal(`no daemon runs on ${config.storage.dir}: start it with forumd serve`)
  const request = new Request(`http://localhost/operator${path}`, init(daemon?.key ?? null))
  const quiet = { ...runtime, log: () => {} }
  return readAnswer(await context.factories.answer(config, quiet, storage, request))
}

/** Codes of requests that no daemon has read: the file with its address is left over from a process that was killed. */
const NOT_CONNECTED = new Set(['ConnectionRefused', 'ECONNREFUSED'])

export async function readAnswer(answer: Response): Promise<object> {
  const body: unknown = await answer.json().catch(() => null)
  if (answer.ok) return Object(body)
  const { message, error } = Object(body)
  const sentence = String(message ?? error ?? `the daemon answers ${answer.status}`)
  throw answer.status === 400 ? new UsageError(sentence) : new CommandRefusal(sentence)
}

/** Address and key of the daemon of a data folder; null if none runs. */
function daemonOf(dir: string): { url: string; key: string } | null {
  try {
    const read = (name: string) => readFileSync(join(dir, name), 'utf8').trim()
    const url = read('forumd.address')
      .replace('//0.0.0.0:', '//127.0.0.1:')
      .replace('//[::]:', '//[::1]:')
    return { url, key: read('command.key') }
  } catch {
    return null
  }
}

import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'

import * as z from 'zod'

import { newCustomer } from '../../api/operator/actions/customers.ts'
import { createSignInLink, linkSentence, newKey } from '../../api/operator/actions/keys.ts'
import { ConfigError, parseConfig } from '../../config/load.ts'
import { homeOf } from '../../config/schema.ts'
import { errorCode } from '../../core/base/errors.ts'
import { describe } from '../../core/base/fault-texts.ts'
import { findCustomerByName } from '../../store/customers/customers.ts'
import { OWNER_SCOPES } from '../../store/customers/keys.ts'
import { transact } from '../../store/db/connection.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  type Invocation,
  JSON_OPTION,
  type Option,
  UsageError,
} from '../command.ts'
import { openConfig, withInstance, withPlatformTools } from '../configuration.ts'
import { parseName, parseWhole } from '../inputs.ts'
import { readAnswer } from '../operator.ts'
import { table } from '../output.ts'
import { ownBinary, userUnit } from '../serve/systemd.ts'
import { checkSetup } from '../setup-checks.ts'
import { alertOf, configText, type SetupAnswers, SOURCE_FORMS } from './answers.ts'

const FILE = 'forumd.toml'
const UNIT = 'forumd.service'
const CUSTOMER = 'me'
const PORT = 8080
const PORTS_TRIED = 20
const LAST_PORT = 65_535
const TRIES_MAX = 5
const FORM_WIDTH = 26

const OPTIONS = {
  yes: { type: 'boolean', help: 'ask nothing: take the defaults of what is not given' },
  sources: {
    type: 'string',
    value: 'LIST',
    help: `comma-separated, each ${[...SOURCE_FORMS.keys()].join(' | ')} (default: hn)`,
  },
  words: {
    type: 'string',
    value: 'LIST',
    help: 'comma-separated words to watch for in all sources (default: none)',
  },
  alert: {
    type: 'string',
    value: 'TARGET',
    help: 'where matches are sent, tried at once: the address of an ntfy topic, a Discord or Slack webhook and others, or KIND ADDRESS (default: nowhere)',
  },
  contact: {
    type: 'string',
    value: 'TEXT',
    help: 'mail or web address in the User-Agent (default: none)',
  },
  dir: { type: 'string', value: 'PATH', help: 'data folder (default: ./data)' },
  port: {
    type: 'string',
    value: 'N',
    help: `port on 127.0.0.1 (default: ${PORT}, or the next free one)`,
  },
  'public-url': { type: 'string', value: 'URL', help: 'public address of a TLS proxy before it' },
  customer: {
    type: 'string',
    value: 'NAME',
    help: `customer that gets a key (default: ${CUSTOMER})`,
  },
  unit: { type: 'boolean', help: `write ${UNIT}, a systemd unit of your user` },
  offline: { type: 'boolean', help: 'do not request the sources' },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

type Call = Invocation<typeof OPTIONS>

export const init = command({
  name: 'init',
  summary: 'writes a configuration, a key and a sign-in link',
  options: OPTIONS,
  examples: [
    'forumd init',
    'forumd init --yes',
    'forumd init --yes --words Ledgerly --alert https://ntfy.sh/my-topic',
    'forumd init --yes --sources hn --contact ops@example.org --port 8443',
  ],
  notes:
    'On a terminal it asks what is not given as an option: sources, words, alerts, contact, data folder, port or public address, systemd unit. It never overwrites a configuration. The file is ./forumd.toml or that of --config, checked by the loader of the daemon and readable by you alone. Each source is requested once, unless --offline is given; exit code 1 if one does not answer, with everything written. With words it adds a monitor of all sources, with an address for alerts a webhook, and sends it a test alert; exit code 1 if that is not accepted. The key is printed once: it is that of a customer and of the operator.',
  async run(call) {
    const file = resolve(call.configuration.named ?? FILE)
    refuseExisting(file)
    const is_interactive = !call.values.yes
    if (is_interactive && (!call.stdinIsTerminal || call.ask === undefined))
      throw new UsageError(
        'standard input is not a terminal: add --yes, which takes the default of every option that is not given',
      )
    const customer = parseName(call.values.customer ?? CUSTOMER)
    const answers = await collect(call, file)
    const wants_unit = await wantsUnit(call)
    const text = checked(answers, file)
    const context: CommandContext = {
      ...call,
      configuration: { named: file, caller: call.configuration.caller },
      // The path is part of the result below.
      warn: (line, level) => {
        if (level !== 'info') call.warn(line)
      },
    }
    create(file, text)
    let made: Made
    try {
      made = await makeKeys(context, customer)
    } catch (error) {
      // Without its keys a second run has to be possible.
      rmSync(file, { force: true })
      throw error
    }
    const unit = wants_unit ? writeUnit(file) : null
    const sources = call.values.offline ? null : await test(context)
    const alert = await firstAlert(context, made.key, answers)
    const result = { file, unit, sources, customer, alert, ...made }
    call.stdout.write(call.values.json ? `${JSON.stringify(result)}\n` : asText(result))
    const is_done = sources?.every(works) !== false && (alert?.problem ?? null) === null
    return is_done ? EXIT.done : EXIT.failed
  },
})

function refuseExisting(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return
  throw new CommandRefusal(
    `${file} exists, and init overwrites nothing: edit it, then run forumd check-config, or name another file with --config FILE`,
  )
}

async function collect(call: Call, file: string): Promise<SetupAnswers> {
  const { values } = call
  const given: SetupAnswers = {
    sources: values.sources ?? 'hn',
    words: values.words ?? '',
    alert: values.alert ?? '',
    contact: values.contact ?? '',
    dir: resolve(values.dir ?? join(dirname(file), 'data')),
    port:
      values.port === undefined ? await freePort() : parseWhole('port', values.port, 1, LAST_PORT),
    public_url: values['public-url'] ?? '',
  }
  checked(given, file)
  if (values.yes) return given
  let answers = given
  /** Asks until the configuration with this answer is valid. */
  const question = async (
    text: string,
    fallback: string,
    take: (line: string) => Partial<SetupAnswers>,
  ) => {
    answers = await asked(call, `${text} [${fallback}]: `, (line) => {
      const next = line === '' ? answers : { ...answers, ...take(line) }
      checked(next, file)
      return next
    })
  }
  if (values.sources === undefined) {
    const forms = [...SOURCE_FORMS].map(([form, what]) => `  ${form.padEnd(FORM_WIDTH)}${what}\n`)
    call.stdout.write(`Sources, each one of:\n${forms.join('')}`)
    await question('Your sources, separated by commas', 'hn', (sources) => ({ sources }))
  }
  if (values.words === undefined)
    await question('Words to watch for, separated by commas', 'none', (words) => ({ words }))
  if (values.alert === undefined)
    await question(
      'Send alerts to the address of an ntfy topic, a Discord, Slack or other webhook, mailto:',
      'nowhere yet',
      (alert) => ({ alert }),
    )
  if (values.contact === undefined)
    await question('Contact for the sites (mail or web address)', 'none', (contact) => ({
      contact,
    }))
  if (values.dir === undefined)
    await question('Data folder', given.dir, (dir) => ({ dir: resolve(dir) }))
  if (values.port === undefined && values['public-url'] === undefined)
    await question('Port, or public https address of your proxy', String(given.port), (line) =>
      /^\d+$/.test(line) ? { port: portOf(line) } : { public_url: line },
    )
  return answers
}

function portOf(line: string): number {
  const port = Number(line)
  if (port >= 1 && port <= LAST_PORT) return port
  throw new UsageError(`found ${line}; allowed: a port from 1 to ${LAST_PORT}, or an address`)
}

/** Asks a question until `read` takes the answer. */
async function asked<T>(call: Call, question: string, read: (line: string) => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return read((await call.ask?.(question))?.trim() ?? '')
    } catch (error) {
      if (!(error instanceof UsageError) || tries >= TRIES_MAX) throw error
      call.warn(`  ${error.message}`)
    }
  }
}

async function wantsUnit(call: Call): Promise<boolean> {
  const { values } = call
  // The service of root is the system's, which has a user and folders of its own.
  const is_root = call.configuration.caller === 0
  if (values.unit && is_root)
    throw new UsageError(
      '--unit is for other users than root: forumd service-unit prints the unit of a system service',
    )
  if (values.unit || values.yes || is_root || !existsSync('/run/systemd/system')) return values.unit
  return asked(call, `Write ${UNIT} for systemd, to run it as your user (y or n) [n]: `, (line) => {
    if (/^(y|yes|n|no|)$/i.test(line)) return /^y/i.test(line)
    throw new UsageError('allowed: y or n')
  })
}

/** @throws {UsageError} Every problem; no positions, since there is no file yet. */
function checked(answers: SetupAnswers, file: string): string {
  const text = configText(answers)
  try {
    const config = parseConfig(text, { file, readFile: (path) => readFileSync(path, 'utf8') })
    checkSetup(config, { file, text })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const lines = error.problems.map(({ key, found, allowed }) => `${key}: ${found}; ${allowed}`)
    throw new UsageError(lines.join('\n  '))
  }
  return text
}

/** The default port, or the next one on which nothing listens. */
async function freePort(): Promise<number> {
  for (let port = PORT; port < PORT + PORTS_TRIED; port++) if (await isFree(port)) return port
  return PORT
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve: settle } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => settle(false))
  server.listen(port, '127.0.0.1', () => server.close(() => settle(true)))
  return promise
}

/** Creates a file with its whole text at once, for this user alone; another one of that name is not replaced. */
function create(file: string, text: string): void {
  const temporary = join(dirname(file), `.forumd-${randomUUID()}`)
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true })
    // Unlike a rename, a link fails if the name is taken meanwhile.
    linkSync(temporary, file)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') refuseExisting(file)
    throw new CommandRefusal(
      `${file} cannot be written (${errorCode(error) || String(error)}): run init in a folder of your own, or name another file with --config FILE`,
    )
  } finally {
    rmSync(temporary, { force: true })
  }
}

type Made = { key: string; link: string; sentence: string }

function makeKeys(context: CommandContext, name: string): Promise<Made> {
  return withInstance(context, (opened) =>
    transact(opened.db, () => {
      const { db, config } = opened
      const { host, port } = config.server
      const listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
      const { starting_credit_micros, default_plan: plan } = config.billing
      const { id: customer_id } =
        findCustomerByName(db, name) ??
        newCustomer({ ...opened, starting_credit_micros }, { name, plan, unlimited: false })
      const key = newKey(opened, { customer_id, name: 'init', scopes: OWNER_SCOPES }).token
      const link = createSignInLink(opened, {
        as: { customer: name },
        url: config.server.public_url || listening,
      })
      return { key, link: link.url, sentence: linkSentence(link) }
    }),
  )
}

/** Writes the unit beside the configuration; null: there is one, which stays. */
function writeUnit(file: string): string | null {
  const unit = join(dirname(file), UNIT)
  if (existsSync(unit)) return null
  create(unit, userUnit({ binary: ownBinary(), config: file }))
  return unit
}

type Alert = { target: string | null; monitor: string | null; problem: string | null }

const created = z.looseObject({ id: z.string() })

/** Creates the webhook and the monitor of the answers by the API, and sends a test alert; null: nothing was asked for. */
async function firstAlert(
  context: CommandContext,
  key: string,
  { words, alert }: SetupAnswers,
): Promise<Alert | null> {
  const include_any = words
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
  if (include_any.length === 0 && alert === '') return null
  const { config, storage } = openConfig(context)
  const runtime = await context.factories.createRuntime(config.log, context.stdout)
  async function post(path: string, body: object): Promise<unknown> {
    const request = new Request(`http://localhost/forum/monitor/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const quiet = { ...runtime, log: () => {} }
    return readAnswer(await context.factories.answer(config, quiet, storage, request))
  }
  const made: Alert = { target: null, monitor: null, problem: null }
  try {
    if (include_any.length > 0) {
      const kind = homeOf(config) === null ? 'both' : 'post'
      const filter_spec = { source: 'all', kind, include_any }
      const monitor = await post('add', { name: include_any[0], filter_spec })
      made.monitor = created.parse(monitor).id
    }
    if (alert !== '') {
      const { id } = created.parse(await post('webhook/create', alertOf(alert)))
      made.target = alertOf(alert).url
      const report = z
        .looseObject({ ok: z.boolean(), error: z.string().nullish(), hint: z.string().nullish() })
        .parse(await post('webhook/test', { webhook_id: id }))
      if (!report.ok) made.problem = report.hint ?? report.error ?? 'the receiver did not accept it'
    }
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandRefusal)) throw error
    made.problem = error.message
  }
  return made
}

type Tested = { source: string; answer: string; title: string | null }

const works = ({ answer }: Tested): boolean => answer === 'works'

function test(context: CommandContext): Promise<Tested[]> {
  return withPlatformTools(
    context,
    async (tools) =>
      (await tools.trySources(null)).map(({ name, answer }) => ({
        source: name,
        answer: answer.ok ? 'works' : describe(answer.fault).text,
        title: answer.ok ? answer.value.title : null,
      })),
    { for_accounts: false },
  )
}

type Result = Made & {
  file: string
  unit: string | null
  sources: Tested[] | null
  customer: string
  alert: Alert | null
}

function alertLines({ target, monitor, problem }: Alert): string[] {
  return [
    ...(monitor === null ? [] : ['', 'A monitor of all sources watches for these words.']),
    ...(target === null || problem !== null ? [] : [`A test alert was sent to ${target}.`]),
    ...(problem === null ? [] : ['', `No alert can be sent yet: ${problem}`]),
  ]
}

function asText({ file, unit, sources, alert, ...made }: Result): string {
  const option = file === resolve(FILE) ? '' : ` --config ${file}`
  return [
    '',
    `${file} is written and valid.`,
    ...(sources === null ? [] : ['', table(sources, '').trimEnd()]),
    ...(sources === null || sources.every(works)
      ? []
      : [
          'The daemon asks a source again that does not answer now. The reason, and what to do:',
          `  forumd doctor${option}`,
        ]),
    ...(alert === null ? [] : alertLines(alert)),
    '',
    'Your key for the API and the dashboard, printed once. Store it:',
    `  ${made.key}`,
    '',
    'Start the daemon:',
    `  forumd serve${option}`,
    ...(unit === null
      ? []
      : ['or as a service of your user:', `  systemctl --user enable --now ${unit}`]),
    '',
    made.sentence,
    `  ${made.link}`,
    '',
  ].join('\n')
}

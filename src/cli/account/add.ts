import { type Config, homeOf, type PlatformConfig, sourceKey } from '../../config/schema.ts'
import {
  type AccountResult,
  type AccountStatus,
  newStatus,
  unsigned,
} from '../../core/accounts/status.ts'
import { HOME } from '../../core/forum/items.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import {
  type Account,
  type AccountSecrets,
  changeAccount,
  type CheckedCredentials,
  findAccountByName,
  insertAccount,
  openAccount,
  type StoredJar,
} from '../../store/accounts/accounts.ts'
import { findProxyByName, openProxy } from '../../store/accounts/proxies.ts'
import { transact } from '../../store/db/connection.ts'
import {
  command,
  CommandRefusal,
  EXIT,
  type Invocation,
  JSON_OPTION,
  type Option,
  UsageError,
} from '../command.ts'
import {
  configWithSources,
  type OpenInstance,
  withInstance,
  withPlatformTools,
} from '../configuration.ts'
import { checkTotp, createSources, FROM, type Sources } from './credentials.ts'
import type { PlatformTools } from './platform-tools.ts'
import { addSourceAccount } from './source-account.ts'
import { accountNamed, explainBlocked, explainSignIn, parsePoolName } from './test.ts'

export const SIGN_IN = {
  jar: { type: 'string', value: FROM, help: "cookies exported from the owner's own browser" },
  username: { type: 'string', value: 'TEXT', help: 'name to sign in with (default: NAME)' },
  'password-file': { type: 'string', value: FROM, help: 'password, to sign in now and later' },
  'totp-file': { type: 'string', value: FROM, help: 'base32 secret of the second factor' },
} as const satisfies Record<string, Option>

/** {@link SIGN_IN} and the options of a new account. */
export const ADD = {
  ...SIGN_IN,
  kind: { type: 'string', value: 'session|oauth', help: 'default: session' },
  'client-id': {
    type: 'string',
    value: 'TEXT',
    help: 'client id of the application, with --kind oauth',
  },
  'client-secret-file': { type: 'string', value: FROM, help: 'client secret of the application' },
  'refresh-token-file': {
    type: 'string',
    value: FROM,
    help: 'refresh token; without one it acts as the application alone',
  },
  proxy: {
    type: 'string',
    value: 'NAME',
    help: 'proxy for all of its requests (default: direct)',
  },
  source: {
    type: 'string',
    value: 'NAME',
    help: 'source of the account (default: the first with a pool); elsewhere NAME is left out, and it is used for approved drafts',
  },
  'no-check': { type: 'boolean', help: 'add without checking the sign-in' },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

export type AccountCredentials = {
  secrets: AccountSecrets
  jar: StoredJar | null
  username: string | null
}

type SignInValues = Pick<Invocation<typeof SIGN_IN>['values'], keyof typeof SIGN_IN>
type AddValues = Invocation<typeof ADD>['values']

/**
 * The kind of an account; the default is `session`.
 * @throws {UsageError} Another kind is named.
 */
export function kindOf(text = 'session'): AccountSecrets['kind'] {
  if (text === 'session' || text === 'oauth') return text
  throw new UsageError(`--kind is "${text}": allowed are session and oauth`)
}

/** Credentials of a session account: cookies, a password, or both. */
export async function sessionCredentials(
  name: string,
  values: AddValues,
  tools: Pick<PlatformTools, 'readJar'>,
  sources: Sources,
): Promise<AccountCredentials> {
  for (const option of ['client-id', 'client-secret-file', 'refresh-token-file'] as const)
    if (values[option] !== undefined) throw new UsageError(`--${option} goes with --kind oauth`)
  const given = await readGiven(values, sources)
  const jar = given.jar === null ? null : parseJar(given.jar, tools)
  const password =
    given.password ??
    (jar ? null : await sources.prompt(`Password of ${values.username ?? name}: `))
  if (jar === null && password === null)
    throw new UsageError('--jar or --password-file is needed: forumd help account add')
  const username = values.username ?? (password === null ? null : name)
  return { jar, username, secrets: { kind: 'session', password, totp_secret: given.totp_secret } }
}

export async function oauthCredentials(
  values: AddValues,
  sources: Sources,
): Promise<AccountCredentials> {
  for (const option of ['jar', 'username', 'password-file', 'totp-file'] as const)
    if (values[option] !== undefined) throw new UsageError(`--${option} goes with --kind session`)
  const { 'client-id': client_id, 'client-secret-file': secret_from } = values
  if (client_id === undefined || secret_from === undefined)
    throw new UsageError('--kind oauth needs --client-id and --client-secret-file')
  const client_secret = await sources.secret('client-secret-file', secret_from)
  const token_from = values['refresh-token-file']
  const refresh_token =
    token_from === undefined ? null : await sources.secret('refresh-token-file', token_from)
  return {
    jar: null,
    username: null,
    secrets: { kind: 'oauth', client_id, client_secret, refresh_token },
  }
}

export async function renewedCredentials(
  account: Account,
  current: AccountSecrets,
  values: SignInValues,
  tools: Pick<PlatformTools, 'readJar'>,
  sources: Sources,
): Promise<AccountCredentials> {
  const username = values.username ?? account.username
  if (current.kind === 'oauth') {
    if (values.jar !== undefined || values['password-file'] !== undefined)
      throw new UsageError(
        `${account.name} is an OAuth application, which has neither cookies nor a password`,
      )
    return { jar: null, username, secrets: current }
  }
  const given = await readGiven(values, sources)
  const jar = given.jar === null ? null : parseJar(given.jar, tools)
  const password =
    given.password ??
    current.password ??
    (jar ? null : await sources.prompt(`Password of ${username ?? account.name}: `))
  if (jar === null && password === null)
    throw new UsageError(`${account.name} has no stored password: use --jar or --password-file`)
  const totp_secret = given.totp_secret ?? current.totp_secret
  return {
    jar,
    username: username ?? account.name,
    secrets: { kind: 'session', password, totp_secret },
  }
}

function parseJar(text: string, tools: Pick<PlatformTools, 'readJar'>): StoredJar {
  const read = tools.readJar(text)
  if (read.ok) return read.jar
  throw new UsageError(`--jar: ${read.problems.join('; ')}`)
}

/** Reads every named source before any of them is parsed. */
async function readGiven(values: SignInValues, sources: Sources) {
  const { jar: jar_from, 'password-file': password_from, 'totp-file': totp_from } = values
  const jar = jar_from === undefined ? null : await sources.read('jar', jar_from)
  const password =
    password_from === undefined ? null : await sources.secret('password-file', password_from)
  const totp = totp_from === undefined ? null : await sources.secret('totp-file', totp_from)
  return { jar, password, totp_secret: totp === null ? null : checkTotp(totp) }
}

export type VerifiedAccount = CheckedCredentials & {
  /** A sentence for the operator; null: no problem. */
  remark: string | null
}

export type VerificationInput = AccountCredentials & { proxy: Proxy | null }

const LATER = 'the daemon checks again'

/** @throws {CommandRefusal} The platform rejects them definitely. */
export async function verifyAccount(
  tools: Pick<PlatformTools, 'verify'>,
  input: VerificationInput,
): Promise<VerifiedAccount> {
  const { secrets, jar, username } = input
  const checked = await tools.verify(input)
  if (!checked.ok)
    throw new CommandRefusal(
      REFUSALS[checked.reason ?? ''] ??
        `${username} cannot be signed in: ${explainSignIn(checked.reason)}`,
    )
  const { finding, reason, blocked = [], ok: _, ...verified } = checked
  const is_signed = jar !== null || secrets.kind === 'oauth' || verified.jar !== null
  return {
    ...verified,
    remark: is_signed
      ? ((finding && REMARKS[finding]) ?? explainBlocked(blocked))
      : `not signed in yet: ${explainSignIn(reason)}`,
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  token_refused: 'the platform does not accept this application or its refresh token',
  logged_out:
    'the platform does not recognise these cookies: sign in with your browser and export them again',
}

const REMARKS: Readonly<Partial<Record<AccountResult['kind'], string>>> = {
  suspended: 'the platform has suspended it; no requests are sent through it',
  locked: 'the platform requires a new password for it; no requests are sent through it',
  blocked: `the platform answers with a block page; ${LATER}`,
  throttled: `the platform limits its rate; ${LATER}`,
  unclear: `the platform gave no readable answer; ${LATER}`,
}

/** @throws {UsageError} A key of the source is missing. */
export function checkOauth(at: PlatformConfig): void {
  for (const key of ['token_url', 'api_url'] as const)
    if (at[key] === '')
      throw new UsageError(`--kind oauth needs ${key} in the [[source]] table of ${at.name}`)
}

/** The source with a pool that has this name; absent: the first. Null: it is no source with a pool. */
const poolOf = (config: Config, name: string | undefined): PlatformConfig | null =>
  name === undefined
    ? homeOf(config)
    : (config.source.find((it): it is PlatformConfig => it.kind === 'reddit' && it.name === name) ??
      null)

/** The operations at the source of an account. */
const toolsAt = ({ readJar, verify }: PlatformTools, source: string) => ({
  readJar: (text: string) => readJar(text, source),
  verify: (account: Parameters<typeof verify>[0]) => verify(account, source),
})

const NOTES =
  'FILE may be - for standard input or env:NAME for an environment variable; secrets are not accepted on the command line. A cookie jar may be a cookies.txt, a JSON export or a Cookie header.'

export const accountAdd = command({
  name: 'account add',
  summary: 'adds an account to the pool or at a source',
  operands: ['[NAME]'],
  options: ADD,
  examples: [
    'forumd account add main --jar cookies.txt',
    'forumd account add main --jar - < cookies.json',
    'forumd account add second --username ann --password-file ann.pw --totp-file ann.totp --proxy home',
    'PW=... forumd account add third --password-file env:PW',
    'forumd account add app --kind oauth --client-id ID --client-secret-file app.secret --refresh-token-file app.token',
    'forumd account add reader --source other --jar cookies.txt',
    'forumd account add --source meta',
    'forumd account add --source cats --username ann --password-file ann.pw --totp-file ann.totp',
  ],
  notes: `${NOTES} Without a jar and a password, it prompts for the password on a terminal.`,
  async run(call) {
    const { values, operands, ...context } = call
    const sources = createSources(context, values)
    const all = await configWithSources(call)
    const at = poolOf(all, values.source)
    if (values.source !== undefined && at === null) {
      if (operands.length > 0)
        throw new UsageError(`${values.source} has no pool of accounts: leave NAME out`)
      return addSourceAccount(call, values.source, sources)
    }
    if (operands[0] === undefined)
      throw new UsageError(
        values.source === undefined
          ? 'NAME or --source is needed'
          : `${values.source} has a pool of accounts: NAME is needed`,
      )
    const name = parsePoolName(operands[0])
    const proxy = await withInstance(context, (opened) => {
      if (findAccountByName(opened.db, name))
        throw new CommandRefusal(
          `there is an account "${name}" already; to replace its cookies or password: forumd account login ${name}`,
        )
      return proxyNamed(opened, values.proxy)
    })
    const source = at === null ? HOME : sourceKey(all, at.name)
    const verify = async (opened: PlatformTools, _: Config, now: number) => {
      const tools = toolsAt(opened, source)
      const oauth = kindOf(values.kind) === 'oauth'
      if (oauth && at !== null) checkOauth(at)
      const credentials = oauth
        ? await oauthCredentials(values, sources)
        : await sessionCredentials(name, values, tools, sources)
      if (values['no-check'])
        return { ...credentials, status: uncheckedStatus(credentials, now), remark: null }
      return verifyAccount(tools, { ...credentials, proxy: proxy?.address ?? null })
    }
    const verified = await withPlatformTools(call, verify, { all })
    await withInstance(context, ({ db, ring, now, random }) =>
      insertAccount(db, ring, {
        id: `acc_${random.uuid()}`,
        name,
        source,
        ...verified,
        proxy_id: proxy?.id ?? null,
        created_at: now,
      }),
    )
    return printResult(call, name, verified, values.json)
  },
})

export const accountLogin = command({
  name: 'account login',
  summary: 'signs an account in again, or replaces its cookies',
  operands: ['NAME'],
  options: { ...SIGN_IN, json: ADD.json },
  examples: [
    'forumd account login main',
    'forumd account login main --jar cookies.txt',
    'forumd account login second --password-file new.pw',
  ],
  notes: `${NOTES} Without a jar or a new password it signs in with the stored password, or prompts for one on a terminal.`,
  async run(call) {
    const { values, operands, ...context } = call
    const sources = createSources(context, values)
    const existing = await withInstance(context, ({ db, ring, config }) => {
      const account = accountNamed(db, operands[0] ?? '')
      const opened = openAccount(db, ring, account.id)
      if (!opened) throw new CommandRefusal(`there is no account "${account.name}" any more`)
      const proxy = account.proxy_id === null ? null : openProxy(db, ring, account.proxy_id)
      return { account, secrets: opened.secrets, proxy, all: config }
    })
    const { account, proxy, all } = existing
    const verify = async (opened: PlatformTools) => {
      const tools = toolsAt(opened, account.source)
      const credentials = await renewedCredentials(
        existing.account,
        existing.secrets,
        values,
        tools,
        sources,
      )
      return verifyAccount(tools, { ...credentials, proxy })
    }
    const verified = await withPlatformTools(call, verify, { all })
    await withInstance(context, ({ db, ring }) =>
      transact(db, () => {
        const { secrets, username, status, jar } = verified
        changeAccount(db, ring, account.id, { secrets, username, status, ...(jar && { jar }) })
      }),
    )
    return printResult(call, account.name, verified, values.json)
  },
})

/** @throws {CommandRefusal} No proxy has this name. */
function proxyNamed({ db, ring }: OpenInstance, name: string | undefined) {
  if (name === undefined) return null
  const proxy = findProxyByName(db, name)
  const address = proxy && openProxy(db, ring, proxy.id)
  if (proxy && address) return { id: proxy.id, address }
  throw new CommandRefusal(`there is no proxy "${name}": see forumd proxy list`)
}

const uncheckedStatus = ({ secrets, jar }: AccountCredentials, now: number): AccountStatus =>
  jar !== null || secrets.kind === 'oauth' ? newStatus(now) : unsigned(now)

function printResult(
  { stdout, warn }: Pick<Invocation<object>, 'stdout' | 'warn'>,
  name: string,
  it: VerifiedAccount,
  json: boolean,
) {
  const { username, status, remark } = it
  if (json) {
    const { state, state_reason: reason } = status
    stdout.write(`${JSON.stringify({ name, username, state, reason, remark })}\n`)
  } else {
    const who = username === null ? '' : `, ${username} on the platform`
    stdout.write(`${name} is in the pool${who}: ${status.state}\n`)
    if (remark !== null) warn(`${name}: ${remark}`)
  }
  return status.state === 'ready' ? EXIT.done : EXIT.failed
}

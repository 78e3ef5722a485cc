import { newStanding, type Standing, unsigned } from '../core/pool.ts'
import {
  type Account,
  type AccountSecrets,
  changeAccount,
  findAccountByName,
  insertAccount,
  type Jar,
  openAccount,
} from '../store/accounts.ts'
import { transact } from '../store/db.ts'
import { findProxyByName, openWay } from '../store/proxies.ts'
import { checkTotp, createSources, FROM, type Sources } from './account-secrets.ts'
import { checkOauth, prove, type Proven } from './account-sign.ts'
import { parsePoolName } from './account-words.ts'
import { accountNamed } from './account.ts'
import { type Call, command, EXIT, type Option, Refusal, UsageError } from './command.ts'
import type { Desk } from './desk.ts'
import { type Opened, withInstance } from './instance.ts'
import { withDesk } from './open-desk.ts'

const SIGN_IN = {
  jar: { type: 'string', value: FROM, help: "cookies exported from the owner's own browser" },
  username: { type: 'string', value: 'TEXT', help: 'what it signs in with; without it its name' },
  'password-file': { type: 'string', value: FROM, help: 'its password, to sign it in and again' },
  'totp-file': { type: 'string', value: FROM, help: 'the base32 secret of its second factor' },
} as const satisfies Record<string, Option>

const ADD = {
  ...SIGN_IN,
  kind: { type: 'string', value: 'session|oauth', help: 'session, unless told' },
  'client-id': { type: 'string', value: 'TEXT', help: 'of the application, with --kind oauth' },
  'client-secret-file': { type: 'string', value: FROM, help: 'its secret' },
  'refresh-token-file': {
    type: 'string',
    value: FROM,
    help: 'whom it acts for; without it itself',
  },
  proxy: {
    type: 'string',
    value: 'NAME',
    help: 'the way out it always takes; without it the direct one',
  },
  'no-check': { type: 'boolean', help: 'do not ask the platform now' },
  json: { type: 'boolean', help: 'answer as JSON' },
} as const satisfies Record<string, Option>

const NOTES =
  'FILE may be - for standard input or env:NAME for an environment variable; secrets are never taken from the command line. A cookie jar may be a cookies.txt, a JSON export or a Cookie header. With neither a jar nor a password, a terminal is asked for the password.'

type Claims = { secrets: AccountSecrets; jar: Jar | null; username: string | null }

export const accountAdd = command({
  name: 'account add',
  summary: 'takes a login on the platform into the pool',
  operands: ['NAME'],
  options: ADD,
  examples: [
    'forumd account add main --jar cookies.txt',
    'forumd account add main --jar - < cookies.json',
    'forumd account add second --username ann --password-file ann.pw --totp-file ann.totp --proxy home',
    'PW=... forumd account add third --password-file env:PW',
    'forumd account add app --kind oauth --client-id ID --client-secret-file app.secret --refresh-token-file app.token',
  ],
  notes: NOTES,
  async run(call) {
    const { values, operands, ...around } = call
    const name = parsePoolName(operands[0] ?? '')
    const proxy = await withInstance(values.config, around, (opened) => {
      if (findAccountByName(opened.db, name))
        throw new Refusal(
          `there is an account "${name}" already; new cookies or a new password for it: forumd account login ${name}`,
        )
      return proxyNamed(opened, values.proxy)
    })
    const proven = await withDesk(call, async (desk, config, now) => {
      const sources = createSources(around)
      const oauth = kindOf(values.kind) === 'oauth'
      if (oauth) checkOauth(config)
      const claims = oauth
        ? await application(values, sources)
        : await session(name, values, desk, sources)
      if (values['no-check']) return { ...claims, standing: unchecked(claims, now), remark: null }
      return prove(desk, { ...claims, proxy: proxy?.way ?? null, now })
    })
    await withInstance(values.config, around, ({ db, ring, now, random }) =>
      insertAccount(db, ring, {
        id: `acc_${random.uuid()}`,
        name,
        ...proven,
        proxy_id: proxy?.id ?? null,
        created_at: now,
      }),
    )
    return tell(call, name, proven, values.json)
  },
})

export const accountLogin = command({
  name: 'account login',
  summary: 'signs an account in anew, or gives it new cookies',
  operands: ['NAME'],
  options: { ...SIGN_IN, json: ADD.json },
  examples: [
    'forumd account login main',
    'forumd account login main --jar cookies.txt',
    'forumd account login second --password-file new.pw',
  ],
  notes: `${NOTES} Without any of them it signs in with the password it has.`,
  async run(call) {
    const { values, operands, ...around } = call
    const known = await withInstance(values.config, around, ({ db, ring }) => {
      const account = accountNamed(db, operands[0] ?? '')
      const opened = openAccount(db, ring, account.id)
      if (!opened) throw new Refusal(`there is no account "${account.name}" any more`)
      const way = account.proxy_id === null ? null : openWay(db, ring, account.proxy_id)
      return { account, secrets: opened.secrets, way }
    })
    const { account, way } = known
    const proven = await withDesk(call, async (desk, _, now) => {
      const claims = await anew(known.account, known.secrets, values, desk, createSources(around))
      return prove(desk, { ...claims, proxy: way, now })
    })
    await withInstance(values.config, around, ({ db, ring }) =>
      transact(db, () => {
        const { secrets, username, standing, jar } = proven
        changeAccount(db, ring, account.id, { secrets, username, standing, ...(jar && { jar }) })
      }),
    )
    return tell(call, account.name, proven, values.json)
  },
})

type SignInValues = Pick<Call<typeof SIGN_IN>['values'], keyof typeof SIGN_IN>
type AddValues = Call<typeof ADD>['values']

function kindOf(text = 'session'): AccountSecrets['kind'] {
  if (text === 'session' || text === 'oauth') return text
  throw new UsageError(`--kind is "${text}": allowed are session and oauth`)
}

/** What a session's account has been given: cookies, a password, or both. */
async function session(
  name: string,
  values: AddValues,
  desk: Desk,
  sources: Sources,
): Promise<Claims> {
  for (const option of ['client-id', 'client-secret-file', 'refresh-token-file'] as const)
    if (values[option] !== undefined) throw new UsageError(`--${option} goes with --kind oauth`)
  const given = await readGiven(values, sources)
  const jar = given.jar === null ? null : jarOf(given.jar, desk)
  const password =
    given.password ?? (jar ? null : await sources.ask(`Password of ${values.username ?? name}: `))
  if (jar === null && password === null)
    throw new UsageError('--jar or --password-file is needed: forumd help account add')
  const username = values.username ?? (password === null ? null : name)
  return { jar, username, secrets: { kind: 'session', password, totp_secret: given.totp_secret } }
}

async function application(values: AddValues, sources: Sources): Promise<Claims> {
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

/** What an account that is there already proves itself with from now on. */
async function anew(
  account: Account,
  known: AccountSecrets,
  values: SignInValues,
  desk: Desk,
  sources: Sources,
): Promise<Claims> {
  const username = values.username ?? account.username
  if (known.kind === 'oauth') {
    if (values.jar !== undefined || values['password-file'] !== undefined)
      throw new UsageError(
        `${account.name} is an application and has neither cookies nor a password`,
      )
    return { jar: null, username, secrets: known }
  }
  const given = await readGiven(values, sources)
  const jar = given.jar === null ? null : jarOf(given.jar, desk)
  const password =
    given.password ??
    known.password ??
    (jar ? null : await sources.ask(`Password of ${username ?? account.name}: `))
  if (jar === null && password === null)
    throw new UsageError(`${account.name} has no password here: give --jar or --password-file`)
  const totp_secret = given.totp_secret ?? known.totp_secret
  return {
    jar,
    username: username ?? account.name,
    secrets: { kind: 'session', password, totp_secret },
  }
}

function jarOf(text: string, desk: Desk): Jar {
  const read = desk.readJar(text)
  if (read.ok) return read.jar
  throw new UsageError(`--jar: ${read.problems.join('; ')}`)
}

/** Everything that was named, read before any of it is looked at. */
async function readGiven(values: SignInValues, sources: Sources) {
  const { jar: jar_from, 'password-file': password_from, 'totp-file': totp_from } = values
  const jar = jar_from === undefined ? null : await sources.read('jar', jar_from)
  const password =
    password_from === undefined ? null : await sources.secret('password-file', password_from)
  const totp = totp_from === undefined ? null : await sources.secret('totp-file', totp_from)
  return { jar, password, totp_secret: totp === null ? null : checkTotp(totp) }
}

/** A way out by its name, opened. Throws Refusal when there is none. */
function proxyNamed({ db, ring }: Opened, name: string | undefined) {
  if (name === undefined) return null
  const proxy = findProxyByName(db, name)
  const way = proxy && openWay(db, ring, proxy.id)
  if (proxy && way) return { id: proxy.id, way }
  throw new Refusal(`there is no proxy "${name}": see forumd proxy list`)
}

const unchecked = ({ secrets, jar }: Claims, now: number): Standing =>
  jar !== null || secrets.kind === 'oauth' ? newStanding(now) : unsigned(now)

function tell(
  { stdout, warn }: Pick<Call<object>, 'stdout' | 'warn'>,
  name: string,
  it: Proven,
  json: boolean,
) {
  const { username, standing, remark } = it
  if (json) {
    const { state, state_reason: reason } = standing
    stdout.write(`${JSON.stringify({ name, username, state, reason, remark })}\n`)
  } else {
    const who = username === null ? '' : `, ${username} on the platform`
    stdout.write(`${name} is in the pool${who}: ${standing.state}\n`)
    if (remark !== null) warn(`${name}: ${remark}`)
  }
  return standing.state === 'ready' ? EXIT.done : EXIT.failed
}

import type { Account, AccountSecrets, Jar } from '../store/accounts.ts'
import { checkTotp, FROM, type Sources } from './account-secrets.ts'
import { type Call, JSON_OPTION, type Option, UsageError } from './command.ts'
import type { Desk } from './desk.ts'

/** What an account may sign in with. */
export const SIGN_IN = {
  jar: { type: 'string', value: FROM, help: "cookies exported from the owner's own browser" },
  username: { type: 'string', value: 'TEXT', help: 'what it signs in with; without it its name' },
  'password-file': { type: 'string', value: FROM, help: 'its password, to sign in now and later' },
  'totp-file': { type: 'string', value: FROM, help: 'the base32 secret of its second factor' },
} as const satisfies Record<string, Option>

/** The same, with what is said of an account when it comes into the pool. */
export const ADD = {
  ...SIGN_IN,
  kind: { type: 'string', value: 'session|oauth', help: 'session, unless told' },
  'client-id': { type: 'string', value: 'TEXT', help: 'of the application, with --kind oauth' },
  'client-secret-file': { type: 'string', value: FROM, help: 'its secret' },
  'refresh-token-file': {
    type: 'string',
    value: FROM,
    help: 'its refresh token; without one it acts for no person',
  },
  proxy: {
    type: 'string',
    value: 'NAME',
    help: 'the way out it always takes; without it the direct one',
  },
  'no-check': { type: 'boolean', help: 'do not ask the platform now' },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

/** What an account proves itself with. */
export type Claims = { secrets: AccountSecrets; jar: Jar | null; username: string | null }

type SignInValues = Pick<Call<typeof SIGN_IN>['values'], keyof typeof SIGN_IN>
type AddValues = Call<typeof ADD>['values']

/** The kind of an account, a session unless told. */
export function kindOf(text = 'session'): AccountSecrets['kind'] {
  if (text === 'session' || text === 'oauth') return text
  throw new UsageError(`--kind is "${text}": allowed are session and oauth`)
}

/** What a session's account has been given: cookies, a password, or both. */
export async function session(
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

/** What an application has been given. */
export async function application(values: AddValues, sources: Sources): Promise<Claims> {
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
export async function anew(
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

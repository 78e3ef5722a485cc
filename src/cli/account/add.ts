import {
  command,
  type CommandContext,
  EXIT,
  type Invocation,
  JSON_OPTION,
  type Option,
  UsageError,
} from '../command.ts'
import { requestAction } from '../operator.ts'
import { createSources, FROM, type Sources } from './credentials.ts'

const SIGN_IN = {
  jar: { type: 'string', value: FROM, help: "cookies exported from the owner's own browser" },
  username: { type: 'string', value: 'TEXT', help: 'name to sign in with (default: NAME)' },
  'password-file': { type: 'string', value: FROM, help: 'password, to sign in now and later' },
  'totp-file': { type: 'string', value: FROM, help: 'base32 secret of the second factor' },
  'client-secret-file': { type: 'string', value: FROM, help: 'client secret of the application' },
  'refresh-token-file': {
    type: 'string',
    value: FROM,
    help: 'refresh token; without one it acts as the application alone',
  },
  json: JSON_OPTION,
} as const satisfies Record<string, Option>

const ADD = {
  ...SIGN_IN,
  kind: { type: 'string', value: 'session|oauth', help: 'default: session' },
  'client-id': {
    type: 'string',
    value: 'TEXT',
    help: 'client id of the application, with --kind oauth',
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
  untested: { type: 'boolean', help: 'add without checking the sign-in' },
} as const satisfies Record<string, Option>

type SignInValues = Invocation<typeof SIGN_IN>['values']

/** The credentials of the options, by the fields of the API. */
async function credentialsOf(values: SignInValues, sources: Sources) {
  const read = async (
    option: 'jar' | 'password-file' | 'totp-file' | 'client-secret-file' | 'refresh-token-file',
  ) => {
    const from = values[option]
    return from === undefined ? undefined : sources.read(option, from)
  }
  return {
    username: values.username,
    jar: await read('jar'),
    password: await read('password-file'),
    totp_secret: await read('totp-file'),
    client_secret: await read('client-secret-file'),
    refresh_token: await read('refresh-token-file'),
  }
}

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
  async run({ values, operands: [name], ...context }) {
    const sources = createSources(context, values)
    const { source, kind, proxy, untested } = values
    if (name === undefined && source === undefined)
      throw new UsageError('NAME or --source is needed')
    const given = await credentialsOf(values, sources)
    const wants_password =
      kind !== 'oauth' &&
      given.jar === undefined &&
      given.password === undefined &&
      (name !== undefined || given.username !== undefined)
    if (wants_password)
      given.password =
        (await sources.prompt(`Password of ${given.username ?? name}: `)) ?? undefined
    if (name === undefined) {
      const answer = await addAtSource({ ...context, source: source ?? '' }, given)
      context.stdout.write(
        values.json ? `${JSON.stringify(answer)}\n` : `your account at ${source} is added\n`,
      )
      return EXIT.done
    }
    const fields = { name, kind, source, proxy, client_id: values['client-id'], ...given }
    const answer = await requestAction(
      context,
      { route: 'POST /accounts' },
      { ...fields, ...(untested && { untested }) },
    )
    return printResult(context, answer, values.json)
  },
})

/** By a sign-in if there is a username, else by the permission of a person in a browser. */
async function addAtSource(
  { source, ...context }: CommandContext & { source: string },
  { username, password, totp_secret, ...others }: Awaited<ReturnType<typeof credentialsOf>>,
): Promise<object> {
  const path = { source }
  for (const [field, value] of Object.entries(others))
    if (value !== undefined)
      throw new UsageError(`${field} does not go with an account without NAME`)
  if (username !== undefined)
    return requestAction(
      context,
      { route: 'POST /sources/:source/account' },
      { ...path, username, password, totp_secret },
    )
  const begun = await requestAction(
    context,
    { route: 'POST /sources/:source/account/begin', needs_daemon: true },
    path,
  )
  const { request, authorize_url } = Object(begun)
  context.warn(
    `Open this address in your browser, and allow the access:\n${authorize_url}\nPaste the text that the forum then shows, then press Ctrl-D:`,
  )
  const answer = await context.readStdin()
  return requestAction(
    context,
    { route: 'POST /sources/:source/account/finish', needs_daemon: true },
    { ...path, request, answer },
  )
}

export const accountLogin = command({
  name: 'account login',
  summary: 'signs an account in again, or replaces its cookies',
  operands: ['NAME'],
  options: SIGN_IN,
  examples: [
    'forumd account login main',
    'forumd account login main --jar cookies.txt',
    'forumd account login second --password-file new.pw',
  ],
  notes: `${NOTES} Without a jar or a new password it signs in with the stored password.`,
  async run({ values, operands: [name], ...context }) {
    const given = await credentialsOf(values, createSources(context, values))
    const route = 'POST /accounts/:name/login'
    const answer = await requestAction(context, { route }, { name, ...given })
    return printResult(context, answer, values.json)
  },
})

function printResult(
  { stdout, warn }: Pick<CommandContext, 'stdout' | 'warn'>,
  answer: object,
  json: boolean,
) {
  const { name, username, status, remark } = Object(answer)
  if (json) stdout.write(`${JSON.stringify(answer)}\n`)
  else {
    const who = username === null ? '' : `, ${username} on the platform`
    stdout.write(`${name} is in the pool${who}: ${status}\n`)
    if (remark !== null) warn(`${name}: ${remark}`)
  }
  return status === 'ready' ? EXIT.done : EXIT.failed
}

import { putSourceAccount } from '../../store/accounts/sources.ts'
import { type CommandContext, CommandRefusal, EXIT, UsageError } from '../command.ts'
import { configWithSources, withInstance, withPlatformTools } from '../configuration.ts'
import { checkTotp, type Sources } from './credentials.ts'
import type { PlatformTools } from './platform-tools.ts'

type AddCall = CommandContext & {
  values: {
    username?: string | undefined
    'password-file'?: string | undefined
    'totp-file'?: string | undefined
    json: boolean
  }
}

/** Options of accounts of the pool only. */
const POOL_ONLY = [
  'jar',
  'kind',
  'client-id',
  'client-secret-file',
  'refresh-token-file',
  'proxy',
  'no-check',
] as const
const SIGN_IN_ONLY = ['username', 'password-file', 'totp-file'] as const

/**
 * Adds the operator's account at a source, in place of an earlier one: by the permission of a person,
 * or by a sign-in, as the source has it.
 * @throws {UsageError} for an unknown source and for options that do not go with it
 */
export async function addSourceAccount(
  call: AddCall,
  name: string,
  sources: Sources,
): Promise<number> {
  refuse(call, POOL_ONLY, '--source')
  const all = await configWithSources(call)
  if (!all.source.some((it) => it.name === name))
    throw new UsageError(`there is no source "${name}": see forumd source list`)
  const ask = async (tools: PlatformTools) => {
    const { authorize, signIn } = await tools.sourceAccess(name)
    if (authorize !== null) {
      refuse(call, SIGN_IN_ONLY, `--source ${name}, which is connected in a browser`)
      return connect(call, await authorize())
    }
    if (signIn !== null) return signInAt(call, name, sources, signIn)
    throw new CommandRefusal(`${name} has no acts: it needs no account`)
  }
  const credential = await withPlatformTools(call, ask, { for_accounts: false, all })
  await withInstance(call, ({ db, ring, now }) =>
    putSourceAccount(db, ring, { source: name, credential, created_at: now }),
  )
  const { json } = call.values
  call.stdout.write(
    json ? `${JSON.stringify({ source: name })}\n` : `your account at ${name} is added\n`,
  )
  return EXIT.done
}

function refuse({ values }: AddCall, options: readonly string[], with_: string): void {
  const set = new Map<string, unknown>(Object.entries(values))
  const given = options.find((option) => (set.get(option) ?? false) !== false)
  if (given !== undefined) throw new UsageError(`--${given} does not go with ${with_}`)
}

type Access = Awaited<ReturnType<PlatformTools['sourceAccess']>>

async function connect(
  call: AddCall,
  { authorize_url, read }: Awaited<ReturnType<NonNullable<Access['authorize']>>>,
): Promise<string> {
  call.warn(
    `Open this address in your browser, and allow the access:\n${authorize_url}\nPaste the text that the forum then shows, then press Ctrl-D:`,
  )
  const answer = read(await call.readStdin())
  if (answer.ok) return answer.value.key
  throw new CommandRefusal('this is not the answer to this request: begin again')
}

async function signInAt(
  { values }: AddCall,
  name: string,
  sources: Sources,
  signIn: NonNullable<Access['signIn']>,
): Promise<string> {
  const { username, 'password-file': password_from, 'totp-file': totp_from } = values
  if (username === undefined) throw new UsageError(`--username is needed with --source ${name}`)
  const password =
    password_from === undefined
      ? await sources.prompt(`Password of ${username}: `)
      : await sources.secret('password-file', password_from)
  if (password === null) throw new UsageError('--password-file is needed')
  const totp = totp_from === undefined ? null : await sources.secret('totp-file', totp_from)
  const signed = await signIn({ username, password, totp_secret: totp && checkTotp(totp) })
  if (signed.ok) return signed.credential
  throw new CommandRefusal(`${username} cannot be signed in: ${signed.code}`)
}

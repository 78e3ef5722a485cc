import { readFileSync, statSync } from 'node:fs'

import { iso } from '../../core/base/time.ts'
import {
  CERTIFICATE_BYTES_MAX,
  checkCertificate,
  readTrustedKeys,
  type TrustedKey,
} from '../../core/certificate/signed.ts'
import { createNaming } from '../../core/forum/naming.ts'
import { KEYS_MAX, rotateKey } from '../../store/certificate/keys.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  UsageError,
} from '../command.ts'
import { localDaemon, NoConfiguration, readConfig, withInstance } from '../configuration.ts'
import { daemonUrl, keyFrom } from '../inputs.ts'
import { escapeControl } from '../output.ts'

const KEYS_PATH = '/.well-known/forumd-keys.json'
const QUIET = { level: 'error', json: false } as const
const REQUEST_TIMEOUT_MS = 30_000
const KEYS_BYTES_MAX = 256 * 1024

/** A key that a person trusts may be named by file or by its text. */
function keysNamed(value: string): TrustedKey[] {
  const direct = readTrustedKeys(value)
  if (direct !== null) return direct
  const keys = readTrustedKeys(textOf(value, '--key', KEYS_BYTES_MAX))
  if (keys !== null) return keys
  throw new UsageError(
    `--key: ${value} holds no key: allowed are a JSON Web Key, a set of them, or the 32 bytes of an Ed25519 key in base64url`,
  )
}

function textOf(path: string, what: string, max: number): string {
  try {
    if (statSync(path).size <= max) return readFileSync(path, 'utf8')
  } catch {
    throw new UsageError(`${what}: ${path} cannot be read`)
  }
  throw new UsageError(`${what}: ${path} is larger than ${max} bytes`)
}

/** The body of an answer of a daemon, at most `max` bytes. */
async function ask(
  context: CommandContext,
  url: string,
  { headers = {}, max }: { headers?: Record<string, string>; max: number },
): Promise<{ status: number; text: string }> {
  const runtime = await context.factories.createRuntime(QUIET, context.stdout)
  try {
    const response = await runtime.fetch(url, {
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of response.body ?? []) {
      length += chunk.length
      if (length > max) throw new Error(`the answer is larger than ${max} bytes`)
      chunks.push(chunk)
    }
    return { status: response.status, text: Buffer.concat(chunks).toString('utf8') }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${new URL(url).origin} does not answer: ${reason}`)
  }
}

async function keysAt(context: CommandContext, given: string): Promise<TrustedKey[]> {
  const url = daemonUrl(given)
  // Anyone on the way could answer with a key of their own.
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !LOOPBACK.includes(hostname))
    throw new UsageError('--url must begin with https://, except for this machine')
  const { status, text } = await ask(context, `${url}${KEYS_PATH}`, { max: KEYS_BYTES_MAX })
  const keys = status === 200 ? readTrustedKeys(text) : null
  if (keys !== null) return keys
  throw new UsageError(`${url}${KEYS_PATH} holds no keys (status ${status})`)
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

export const certificateVerify = command({
  name: 'certificate verify',
  summary: 'verifies a certificate of coverage',
  operands: ['FILE'],
  options: {
    key: {
      type: 'string',
      value: 'KEY',
      help: 'the key to trust: base64url, or a file with a JSON Web Key or a set',
    },
    url: { type: 'string', value: 'URL', help: 'trust the keys that this instance publishes' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd certificate verify coverage.json --url https://forumd.example',
    'forumd certificate verify coverage.json --key forumd-keys.json',
  ],
  notes:
    'Exit code 0: signed by a trusted key, unchanged to the byte. 1: it is not. 2: it cannot be judged, because the file or the keys cannot be read, or no key is named: then only the signature is checked, with the key that the file itself names, which anyone can make. Needs no configuration.',
  async run({ values, operands, ...context }) {
    const [file = ''] = operands
    if (values.key !== undefined && values.url !== undefined)
      throw new UsageError('--key and --url exclude each other')
    const text = textOf(file, 'FILE', CERTIFICATE_BYTES_MAX)
    const trusted = await trustedBy(values, context)
    const { clock } = await context.factories.createRuntime(QUIET, context.stdout)
    const verdict = checkCertificate(text, trusted, clock.now())
    if (values.json) {
      const { kind } = verdict
      const answer =
        verdict.kind === 'invalid'
          ? { result: kind, reason: verdict.reason }
          : { result: kind, key_id: verdict.certificate.key_id, issued_at: iso(verdict.issued_at) }
      context.stdout.write(`${JSON.stringify(answer)}\n`)
    } else context.stdout.write(`${escapeControl(sentence(verdict))}\n`)
    return { valid: EXIT.done, invalid: EXIT.failed, untrusted: EXIT.usage }[verdict.kind]
  },
})

const trustedBy = (
  { key, url }: { key: string | undefined; url: string | undefined },
  context: CommandContext,
): Promise<TrustedKey[]> | TrustedKey[] | null => {
  if (key !== undefined) return keysNamed(key)
  return url === undefined ? null : keysAt(context, url)
}

function sentence(verdict: ReturnType<typeof checkCertificate>): string {
  if (verdict.kind === 'invalid') return `INVALID: ${verdict.reason}`
  const { statement, key_id } = verdict.certificate
  const coverage = JSON.stringify(field(statement['coverage'], 'status'))
  const about = `monitor ${JSON.stringify(field(statement['monitor'], 'id'))}, ${JSON.stringify(field(statement['period'], 'from'))} to ${JSON.stringify(field(statement['period'], 'until'))}, coverage ${coverage}, issued ${iso(verdict.issued_at)}, instance ${JSON.stringify(statement['instance_id'] ?? null)}`
  return verdict.kind === 'valid'
    ? `VALID: ${about}, key ${key_id}`
    : `UNTRUSTED: the signature fits the key ${key_id} in the file, which was not compared with any; name the key by --key or --url. ${about}`
}

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (Reflect.get(value, name) ?? null) : null

export const certificateGet = command({
  name: 'certificate get',
  summary: 'prints the certificate of coverage of a monitor',
  operands: ['MONITOR'],
  options: {
    from: {
      type: 'string',
      value: 'DAY',
      help: 'first day in UTC (default: 29 days before the last)',
    },
    to: { type: 'string', value: 'DAY', help: 'last day in UTC (default: today)' },
    url: {
      type: 'string',
      value: 'URL',
      help: 'address of the daemon (default: from the configuration of this machine)',
    },
    'key-file': {
      type: 'string',
      value: 'FILE',
      help: 'file with the API key (default: the environment variable FORUMD_KEY)',
    },
  },
  examples: [
    'FORUMD_KEY=fk_... forumd certificate get mon_1 --from 2026-10-01 --to 2026-10-31 > october.json',
  ],
  notes:
    'The file is exactly the answer of the API: a change of a byte makes it invalid. Needs the scope monitor.',
  async run({ values, operands, ...context }) {
    const [id = ''] = operands
    const key = keyFrom(values['key-file'], context)
    const url = values.url === undefined ? localDaemon(context).url : daemonUrl(values.url)
    const query = new URLSearchParams({ id })
    for (const name of ['from', 'to'] as const) {
      const day = values[name]
      if (day !== undefined) query.set(name, day)
    }
    const { status, text } = await ask(context, `${url}${pathOf(context)}?${query.toString()}`, {
      headers: { authorization: `Bearer ${key}` },
      max: CERTIFICATE_BYTES_MAX,
    })
    if (status !== 200)
      throw new CommandRefusal(`status ${status}: ${escapeControl(text.slice(0, 500))}`)
    context.stdout.write(`${text}\n`)
    return EXIT.done
  },
})

/** Path of certificates: its name is configured, and without a configuration here the default one. */
function pathOf(context: CommandContext): string {
  try {
    return `${createNaming(readConfig(context).config.wire).monitor}/certificate`
  } catch (error) {
    if (error instanceof NoConfiguration) return `${createNaming(WIRE).monitor}/certificate`
    throw error
  }
}
const WIRE = { platform: 'forum', community: 'subforum' }

export const certificateRotateKey = command({
  name: 'certificate rotate-key',
  summary: 'replaces the key that signs certificates',
  options: {
    revoke: {
      type: 'boolean',
      help: 'the former key may be known to others: nothing it signed is valid any more',
    },
    json: JSON_OPTION,
  },
  examples: ['forumd certificate rotate-key', 'forumd certificate rotate-key --revoke'],
  notes: `The former key stays published as retired, so that its certificates can be verified; its private part is deleted. A running daemon signs with the new key at once. An instance may have ${KEYS_MAX} keys.`,
  async run({ values, ...context }) {
    const { revoke } = values
    const done = await withInstance(context, (opened) => rotateKey(opened, { revoke }))
    if (done === null)
      throw new CommandRefusal(`there are ${KEYS_MAX} keys, which is all that is allowed`)
    if (values.json) context.stdout.write(`${JSON.stringify(done)}\n`)
    else {
      const end = revoke ? 'revoked' : 'retired'
      const before = done.former === null ? 'there was none before' : `${end}: ${done.former}`
      context.stdout.write(`key: ${done.id}\n${before}\n`)
    }
    return EXIT.done
  },
})

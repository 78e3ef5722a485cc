import { command, EXIT, UsageError } from '../command.ts'
import { parseWhole } from '../inputs.ts'
import { SANDBOX_KINDS, type SandboxKind } from './kinds.ts'

const ANY_PORT = 0
const LAST_PORT = 65_535

export const sandboxCommand = command({
  name: 'sandbox',
  summary: 'runs a simulated platform for tests and development',
  options: {
    kind: {
      type: 'string',
      value: 'KIND',
      help: `platform: ${SANDBOX_KINDS.join(', ')} (default: ${SANDBOX_KINDS[0]})`,
    },
    port: { type: 'string', value: 'N', help: 'port on 127.0.0.1 (default: any free port)' },
    'bearer-port': {
      type: 'string',
      value: 'N',
      help: 'port of its bearer host; 0: any free port',
    },
    'chat-port': { type: 'string', value: 'N', help: 'port of its chat host; 0: any free port' },
    domain: {
      type: 'string',
      value: 'D',
      help: 'serves www.D, oauth.D and chat.D on one port',
    },
    'tls-cert': { type: 'string', value: 'FILE', help: 'serves TLS with this certificate, in PEM' },
    'tls-key': { type: 'string', value: 'FILE', help: 'key of the certificate, in PEM' },
    seed: { type: 'string', value: 'N', help: 'the same seed gives the same content (default: 1)' },
    speed: {
      type: 'string',
      value: 'X',
      help: 'rate of new content (default: 1); 0: only content added on request',
    },
  },
  examples: [
    'forumd sandbox --port 8090 --bearer-port 8091',
    'forumd sandbox --port 8090 --seed 7 --speed 0',
    `forumd sandbox --kind ${SANDBOX_KINDS[1]} --port 8092`,
    'forumd sandbox --port 443 --domain forum.test --tls-cert cert.pem --tls-key key.pem',
  ],
  notes:
    'GET /__sandbox/ lists its accounts with their credentials, and its controls. The names under --domain must resolve to 127.0.0.1.',
  async run({ values, stdout, stopped, factories }) {
    const stop = stopped()
    const { domain } = values
    const { 'bearer-port': bearer_port, 'chat-port': chat_port } = values
    const kind = parseKind(values.kind ?? SANDBOX_KINDS[0])
    if (kind !== SANDBOX_KINDS[0] && (bearer_port ?? chat_port) !== undefined)
      throw new UsageError(`--bearer-port and --chat-port belong to --kind ${SANDBOX_KINDS[0]}`)
    const tls = await readTls(values['tls-cert'], values['tls-key'])
    const runtime = await factories.createRuntime({ level: 'info', json: 'auto' }, stdout)
    const options = {
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      ...(domain !== undefined && { domain: parseDomain(domain) }),
      ...(tls !== null && { tls }),
      seed: parseWhole('seed', values.seed ?? '1', 0, 999_999_999),
      speed: parseSpeed(values.speed ?? '1'),
      runtime,
    }
    if (kind !== SANDBOX_KINDS[0]) {
      await using source = await factories.startSource(kind, options)
      stdout.write(
        `The platform (${kind}) is at ${source.url}. Its accounts and controls: ${source.url}/__sandbox/\n`,
      )
      await stop
      return EXIT.done
    }
    await using sandbox = await factories.startSandbox({
      ...options,
      ...(bearer_port !== undefined && {
        bearer_port: parseWhole('bearer-port', bearer_port, ANY_PORT, LAST_PORT),
      }),
      ...(chat_port !== undefined && {
        chat_port: parseWhole('chat-port', chat_port, ANY_PORT, LAST_PORT),
      }),
    })
    const { url, bearer_url, chat_url } = sandbox
    stdout.write(
      [
        `The platform is at ${url}. For a daemon that reads it:`,
        '',
        '[[source]]',
        'name = "forum"',
        `kind = "${SANDBOX_KINDS[0]}"`,
        `base_url = "${url}"`,
        `session_cookie = "${sandbox.session_cookie}"`,
        ...(bearer_url === null
          ? []
          : [`api_url = "${bearer_url}"`, `token_url = "${url}/api/v1/access_token"`]),
        ...(chat_url === null ? [] : [`chat_url = "${chat_url}"`]),
        '',
      ].join('\n'),
    )
    await stop
    return EXIT.done
  },
})

export const demoCommand = command({
  name: 'demo',
  summary: 'runs platforms, daemon and receiver in one process',
  options: {
    port: { type: 'string', value: 'N', help: 'port of the daemon (default: any free port)' },
    seconds: { type: 'string', value: 'N', help: 'stop after this many seconds' },
  },
  examples: ['forumd demo', 'forumd demo --port 8080 --seconds 60'],
  notes:
    'The data folder is temporary and removed at the end. With --seconds the exit code is 0 only after a read and a verified delivery of each platform.',
  async run({ values, stdout, stopped, factories }) {
    const { seconds } = values
    const { demo } = await import('./demo.ts')
    return demo({
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      seconds: seconds === undefined ? null : parseWhole('seconds', seconds, 1, 86_400),
      stdout,
      stopped,
      factories,
    })
  },
})

function parseKind(text: string): SandboxKind {
  const kind = SANDBOX_KINDS.find((each) => each === text)
  if (kind !== undefined) return kind
  throw new UsageError(`--kind is "${text}": allowed are ${SANDBOX_KINDS.join(', ')}`)
}

function parseSpeed(text: string): number {
  const speed = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (speed <= 1000) return speed
  throw new UsageError(`--speed is "${text}": allowed is a number from 0 to 1000`)
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

function parseDomain(text: string): string {
  if (text.length <= 200 && DOMAIN.test(text)) return text
  throw new UsageError(`--domain is "${text}": allowed is a name in lower case, such as forum.test`)
}

/** Certificate and key from their files; null: neither is named. */
async function readTls(
  cert: string | undefined,
  key: string | undefined,
): Promise<{ cert: string; key: string } | null> {
  if (cert === undefined && key === undefined) return null
  if (cert === undefined || key === undefined)
    throw new UsageError('--tls-cert and --tls-key must be used together')
  return { cert: await readPem('tls-cert', cert), key: await readPem('tls-key', key) }
}

async function readPem(option: string, path: string): Promise<string> {
  const text = await Bun.file(path)
    .text()
    .catch(() => {
      throw new UsageError(`--${option} is "${path}", which cannot be read`)
    })
  if (text.includes('-----BEGIN ')) return text
  throw new UsageError(`--${option} is "${path}", which is not PEM`)
}

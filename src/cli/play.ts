import { command, EXIT, UsageError } from './command.ts'
import { parseWhole } from './inputs.ts'

const ANY_PORT = 0
const LAST_PORT = 65_535

export const playSandbox = command({
  name: 'sandbox',
  summary: 'runs a simulated platform to practise on',
  options: {
    port: { type: 'string', value: 'N', help: 'where it listens on 127.0.0.1; without it any' },
    'bearer-port': { type: 'string', value: 'N', help: 'where its bearer host listens; 0 is any' },
    'chat-port': { type: 'string', value: 'N', help: 'where its chat host listens; 0 is any' },
    domain: {
      type: 'string',
      value: 'D',
      help: 'answers for www.D, oauth.D and chat.D on the one port',
    },
    'tls-cert': { type: 'string', value: 'FILE', help: 'speaks TLS: the certificate, in PEM' },
    'tls-key': { type: 'string', value: 'FILE', help: 'its key, in PEM' },
    seed: { type: 'string', value: 'N', help: 'the same seed gives the same world; 1 unless told' },
    speed: {
      type: 'string',
      value: 'X',
      help: '1, unless told, is lively; 0 adds only what is asked for',
    },
  },
  examples: [
    'forumd sandbox --port 8090 --bearer-port 8091',
    'forumd sandbox --port 8090 --seed 7 --speed 0',
    'forumd sandbox --port 443 --domain forum.test --tls-cert cert.pem --tls-key key.pem',
  ],
  notes:
    'GET /__sandbox/ tells who can sign in with what, and what can be done to it. The names under --domain have to lead to 127.0.0.1.',
  async run({ values, stdout, stopped, parts }) {
    const stop = stopped()
    const { domain } = values
    const { 'bearer-port': bearer_port, 'chat-port': chat_port } = values
    const tls = await readTls(values['tls-cert'], values['tls-key'])
    const outside = await parts.createOutside({ level: 'info', json: 'auto' }, stdout)
    await using sandbox = await parts.startSandbox({
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      ...(bearer_port !== undefined && {
        bearer_port: parseWhole('bearer-port', bearer_port, ANY_PORT, LAST_PORT),
      }),
      ...(chat_port !== undefined && {
        chat_port: parseWhole('chat-port', chat_port, ANY_PORT, LAST_PORT),
      }),
      ...(domain !== undefined && { domain: parseDomain(domain) }),
      ...(tls !== null && { tls }),
      seed: parseWhole('seed', values.seed ?? '1', 0, 999_999_999),
      speed: parseSpeed(values.speed ?? '1'),
      outside,
    })
    const { url, bearer_url, chat_url } = sandbox
    stdout.write(
      [
        `The platform is at ${url}. For a daemon that reads it:`,
        '',
        '[platform]',
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

export const playDemo = command({
  name: 'demo',
  summary: 'shows all of it at work: a platform, a daemon and a receiver in one process',
  options: {
    port: { type: 'string', value: 'N', help: 'where the daemon listens; without it any' },
    seconds: { type: 'string', value: 'N', help: 'end by itself after this long' },
  },
  examples: ['forumd demo', 'forumd demo --port 8080 --seconds 60'],
  notes:
    'Nothing is kept: the data folder is a temporary one. With --seconds the exit code is 0 only when a read, a match and a verified delivery all happened.',
  async run({ values, stdout, stopped, parts }) {
    const { seconds } = values
    const { demo } = await import('./demo.ts')
    return demo({
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      seconds: seconds === undefined ? null : parseWhole('seconds', seconds, 1, 86_400),
      stdout,
      stopped,
      parts,
    })
  },
})

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

/** Certificate and key from their files; null where neither is named. */
async function readTls(
  cert: string | undefined,
  key: string | undefined,
): Promise<{ cert: string; key: string } | null> {
  if (cert === undefined && key === undefined) return null
  if (cert === undefined || key === undefined)
    throw new UsageError('--tls-cert and --tls-key belong together')
  return { cert: await readPem('tls-cert', cert), key: await readPem('tls-key', key) }
}

async function readPem(option: string, path: string): Promise<string> {
  const text = await Bun.file(path)
    .text()
    .catch(() => {
      throw new UsageError(`--${option} is "${path}", which cannot be read`)
    })
  if (text.includes('-----BEGIN ')) return text
  throw new UsageError(`--${option} is "${path}", which holds nothing in PEM`)
}

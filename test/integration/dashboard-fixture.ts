import { head, sendRaw } from '../support/raw-connection.ts'

/** Parts of an answer as sent; header names in lower case. */
export type RawAnswer = { status: number; headers: Headers; body: string }

/** One request as a browser sends it, unchanged and unchecked. */
export type RawRequest = {
  method?: string
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string
}

/** Sends a request to a server on the loopback, with any Host. */
export async function sendRawTo(url: string, request: RawRequest): Promise<RawAnswer> {
  const { method = 'GET', path, headers = {}, body = '' } = request
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return parse(await sendRaw(url, head(`${method} ${path} HTTP/1.1`, ...lines, ...length) + body))
}

function parse(text: string): RawAnswer {
  const [top = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = top.split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(first.split(' ')[1]), headers, body: rest.join('\r\n\r\n') }
}

/** Two files and a document, as the page build provides them. */
export const PAGE = {
  shell:
    '<!doctype html><title>forumd</title><script src="/dashboard/assets/app-1a2b.js"></script>',
  files: new Map([
    [
      'app-1a2b.js',
      { type: 'text/javascript; charset=utf-8', body: new TextEncoder().encode('x'.repeat(4096)) },
    ],
    ['mark-3c4d.svg', { type: 'image/svg+xml', body: new TextEncoder().encode('<svg/>') }],
  ]),
}
export const page = () => Promise.resolve(PAGE)

/** Cookie of an answer's Set-Cookie, as a browser returns it. */
export const cookieOf = ({ headers }: { headers: Headers }): string =>
  headers.get('set-cookie')?.split(';')[0] ?? ''

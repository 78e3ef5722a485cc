import type { Far } from './handshake.ts'

/** One request without TLS, as the browser asked its proxy for it. */
export type Plain = { method: string; url: URL; lines: readonly string[] }

/** What the browser asks of its proxy: a tunnel, or one plain request. */
export type Asked = {
  far: Far
  plain: Plain | null
  /** What came behind the head. */
  rest: Uint8Array
}

/** An answer of nothing but its head. */
export const answerHead = (status: string, ...lines: string[]): string =>
  [`HTTP/1.1 ${status}`, ...lines, 'Content-Length: 0', 'Connection: close', '', ''].join('\r\n')

const DENIED = answerHead(
  '407 Proxy Authentication Required',
  'Proxy-Authenticate: Basic realm="forumd"',
)
const MALFORMED = answerHead('400 Bad Request')

/** What is said between the browser and its proxy only. */
const OURS = new Set(['proxy-authorization', 'proxy-connection', 'connection', 'keep-alive'])

/** Reads a head of somebody who knows `authorization`, or says what it is answered with. */
export function readHead(head: string, rest: Uint8Array, authorization: string): Asked | string {
  const [first = '', ...lines] = head.split('\r\n')
  const [, method = '', target = ''] = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(first) ?? []
  const given = lines.find((line) => nameOf(line) === 'proxy-authorization')
  if (given?.replace(/^[^:]*:\s*/, '') !== authorization) return DENIED
  if (method === 'CONNECT') {
    const far = farOf(URL.parse(`http://${target}`), Number(/:(\d{1,5})$/.exec(target)?.[1]))
    return far === null ? MALFORMED : { far, plain: null, rest }
  }
  const url = target.startsWith('http://') ? URL.parse(target) : null
  const far = farOf(url, Number(url?.port || 80))
  if (url === null || far === null) return MALFORMED
  const passed = lines.filter((line) => !OURS.has(nameOf(line)))
  return { far, plain: { method, url, lines: passed }, rest }
}

/** The head of a plain request for whoever is next: the host itself, or a proxy (`relay`). */
export function writeHead(
  { method, url, lines }: Plain,
  relay: { authorization: string | null } | null,
): string {
  const path = url.pathname + url.search
  const who = relay?.authorization ?? null
  return [
    `${method} ${relay === null ? path : url.origin + path} HTTP/1.1`,
    ...lines,
    ...(who === null ? [] : [`Proxy-Authorization: ${who}`]),
    // One request a connection: the next one may be for another host.
    'Connection: close',
    '',
    '',
  ].join('\r\n')
}

/** Whether an answer that came through a proxy is the proxy's own: it does not take our name and password. */
export function isProxyRefusal(answer: string): boolean {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1]
  // Some say 401, as if they were the host; the platform never asks for a name in this way.
  return status === '407' || (status === '401' && /^www-authenticate: *basic\b/im.test(answer))
}

const nameOf = (line: string): string => line.split(':', 1)[0]?.toLowerCase() ?? ''

function farOf(url: URL | null, port: number): Far | null {
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return host === '' || !(port >= 1 && port <= 65_535) ? null : { host, port }
}

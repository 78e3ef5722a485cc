import type { Face } from './ask.ts'

type Where = {
  host?: string
  /** Whose names tell the faces apart: www, oauth and chat under it. */
  domain?: string
  /** Certificate and key, in PEM. */
  tls?: { cert: string; key: string }
}

type Answering = {
  port: number
  /** Null: the name that was asked for tells. */
  face: Face | null
  answer(request: Request, from: { face: Face; address: string }): Response | Promise<Response>
}

/** Listens for one face of the platform, or for all of them by name. Throws what Bun throws when the port is taken. */
export function listen(where: Where, { port: wanted, face, answer }: Answering) {
  const { host = '127.0.0.1', domain, tls } = where
  const server = Bun.serve({
    hostname: host,
    port: wanted,
    idleTimeout: 0,
    development: false,
    // Outside of development Bun shares a port with whoever has it, and each would get some of the calls.
    reusePort: false,
    ...(tls !== undefined && { tls }),
    fetch: (request, listener) =>
      answer(request, {
        face: face ?? faceOf(request.headers.get('host') ?? '', domain),
        address: listener.requestIP(request)?.address ?? 'unknown',
      }),
  })
  const port = server.port ?? wanted
  const url =
    domain === undefined || face !== null
      ? `${schemeOf(where)}://${host}:${port}`
      : named(where, 'www', port)
  return { server, port, url }
}

/** The address of a host under the domain; the scheme's own port is not said. */
export function named(where: Where, name: string, port: number): string {
  const scheme = schemeOf(where)
  const usual = scheme === 'https' ? 443 : 80
  return `${scheme}://${name}.${where.domain}${port === usual ? '' : `:${port}`}`
}

const schemeOf = ({ tls }: Where) => (tls === undefined ? 'http' : 'https')

function faceOf(host: string, domain: string | undefined): Face {
  const [name] = host.toLowerCase().split(':')
  if (domain === undefined) return 'www'
  if (name === `oauth.${domain}`) return 'bearer'
  return name === `chat.${domain}` ? 'chat' : 'www'
}

import { certificate } from './certificate.ts'

// The four services as their documentation describes them: what they check, what they answer, and what a repeat does.
// @see https://docs.ntfy.sh/publish/, https://core.telegram.org/bots/api, https://gotify.net/api-docs and
// https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid

export const TOKENS = {
  ntfy: 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2',
  telegram: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw',
  gotify: 'AbCdEf0123.-_xy',
  matrix: 'syt_Ym90_SecretSecretSecret_1x2y3z',
} as const
export type Push = keyof typeof TOKENS

const ROOM = '!abc:example.com'
const CHAT = '-100123'
const TOPIC = 'forum_alerts'

/** A message that a person sees; `repeats` counts the requests that replaced or repeated it. */
export type Shown = { key: string; text: string; repeats: number }

const json = (status: number, body: object, headers = {}) =>
  Response.json(body, { status, headers })

const kindOf = (path: string): Push => {
  if (path.startsWith('/bot')) return 'telegram'
  if (path.startsWith('/_matrix/')) return 'matrix'
  return path === '/message' ? 'gotify' : 'ntfy'
}

/** The services at one address, over TLS on the loopback unless `plain`. */
export async function startPushServices({ plain = false }: { plain?: boolean } = {}) {
  const cert = await certificate()
  const shown: Record<Push, Map<string, Shown>> = {
    ntfy: new Map(),
    telegram: new Map(),
    gotify: new Map(),
    matrix: new Map(),
  }
  const requests: Record<Push, { path: string; headers: Headers; body: any }[]> = {
    ntfy: [],
    telegram: [],
    gotify: [],
    matrix: [],
  }
  const limited = new Set<Push>()
  let holding: PromiseWithResolvers<void> | null = null
  let holds = 0
  let next_id = 1

  /** Shows a message once by its key. True: it was shown before. */
  function show(kind: Push, key: string, text: string): boolean {
    const before = shown[kind].get(key)
    shown[kind].set(key, { key, text, repeats: (before?.repeats ?? -1) + 1 })
    return before !== undefined
  }

  const SERVICES: Record<Push, (request: Request, raw: string, body: any) => Response> = {
    ntfy(request, raw, body) {
      const about = (code: number, http: number, error: string) => json(http, { code, http, error })
      const authorization = request.headers.get('authorization')
      if (authorization === null) return about(40301, 403, 'forbidden')
      if (authorization !== `Bearer ${TOKENS.ntfy}`) return about(40101, 401, 'unauthorized')
      if (limited.delete('ntfy')) return about(42901, 429, 'limit reached: too many requests')
      if (raw.length > 8192) return about(41303, 413, 'JSON body too large')
      if (body === null) return about(40017, 400, 'request body must be message JSON')
      if (!/^[-_A-Za-z0-9]{1,64}$/.test(body.topic)) return about(40009, 400, 'topic invalid')
      if (!/^[-_A-Za-z0-9]{1,64}$/.test(body.sequence_id))
        return about(40048, 400, 'invalid request: sequence ID invalid')
      if (Buffer.byteLength(body.message) > 4096)
        return about(40014, 400, 'attachments not allowed')
      show('ntfy', body.sequence_id, body.message)
      return json(200, {
        id: `id${next_id++}`,
        time: 1,
        event: 'message',
        topic: body.topic,
        sequence_id: body.sequence_id,
        message: body.message,
      })
    },
    telegram(request, _, body) {
      const fail = (error_code: number, description: string, parameters?: object) =>
        json(error_code, { ok: false, error_code, description, ...(parameters && { parameters }) })
      const [, token = '', method] =
        /^\/bot([^/]+)\/(\w+)$/.exec(new URL(request.url).pathname) ?? []
      if (method !== 'sendMessage') return fail(404, 'Not Found')
      if (token !== TOKENS.telegram) return fail(401, 'Unauthorized')
      if (limited.delete('telegram'))
        return fail(429, 'Too Many Requests: retry after 34', { retry_after: 34 })
      if (body?.chat_id === '13') return fail(403, 'Forbidden: bot was blocked by the user')
      if (body?.chat_id !== CHAT) return fail(400, 'Bad Request: chat not found')
      if (!body.text) return fail(400, 'Bad Request: message text is empty')
      if (body.text.length > 4096) return fail(400, 'Bad Request: message is too long')
      if (/<(?!\/?(?:b|i|a)[ >])|&(?!(?:amp|lt|gt|quot);)/.test(body.text))
        return fail(400, "Bad Request: can't parse entities: Unsupported start tag")
      const message_id = next_id++
      show('telegram', `${message_id}`, body.text)
      return json(200, { ok: true, result: { message_id, date: 1, text: body.text } })
    },
    gotify(request, _, body) {
      const fail = (errorCode: number, error: string, errorDescription: string) =>
        json(errorCode, { error, errorCode, errorDescription })
      const key = request.headers.get('x-gotify-key') ?? ''
      if (key.startsWith('C'))
        return fail(403, 'Forbidden', 'you are not allowed to access this api')
      if (key !== TOKENS.gotify)
        return fail(
          401,
          'Unauthorized',
          'you need to provide a valid access token or user credentials',
        )
      if (limited.delete('gotify'))
        return new Response('slow down', { status: 429, headers: { 'retry-after': '40' } })
      if (!body?.message) return fail(400, 'Bad Request', "Field 'message' is required")
      const id = next_id++
      show('gotify', `${id}`, body.message)
      return json(200, { id, appid: 5, message: body.message, title: body.title, priority: 0 })
    },
    matrix(request, raw, body) {
      const fail = (status: number, errcode: string, error: string, more = {}) =>
        json(status, { errcode, error, ...more })
      const [, room = '', txn = ''] =
        /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/send\/m\.room\.message\/([^/]+)$/.exec(
          new URL(request.url).pathname,
        ) ?? []
      if (request.method !== 'PUT') return fail(405, 'M_UNRECOGNIZED', 'Unrecognized request')
      if (request.headers.get('authorization') !== `Bearer ${TOKENS.matrix}`)
        return fail(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.', { soft_logout: false })
      if (limited.delete('matrix'))
        return fail(429, 'M_LIMIT_EXCEEDED', 'Too Many Requests', { retry_after_ms: 32_500 })
      if (decodeURIComponent(room) !== ROOM) return fail(403, 'M_FORBIDDEN', 'User not in room')
      if (raw.length > 65_000) return fail(413, 'M_TOO_LARGE', 'event too large')
      const key = decodeURIComponent(txn)
      show('matrix', key, shown.matrix.get(key)?.text ?? body.body)
      return json(200, { event_id: `$${key}:example.com` })
    },
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    ...(!plain && { tls: cert }),
    async fetch(request) {
      const raw = await request.text()
      const path = new URL(request.url).pathname
      const kind = kindOf(path)
      const body = parsed(raw)
      requests[kind].push({ path, headers: request.headers, body })
      const answer = SERVICES[kind](request, raw, body)
      if (holding !== null) {
        holds += 1
        await holding.promise
      }
      return answer
    },
  })
  const base = plain ? `http://127.0.0.1:${server.port}` : `https://receiver.test:${server.port}`

  return {
    base,
    ca: cert.cert,
    requests,
    /** The messages that a person sees, in order. */
    shown: (kind: Push): Shown[] => [...shown[kind].values()],
    /** The next request is one too many. */
    limit: (kind: Push) => void limited.add(kind),
    /** From now on messages are shown, and the answers kept back until {@link release}. */
    hold: () => void (holding = Promise.withResolvers()),
    held: () => holds,
    release() {
      holding?.resolve()
      holding = null
    },
    /** Address of a target, without credentials. */
    urls: {
      ntfy: `${base}/${TOPIC}`,
      telegram: `${base}/bot***/sendMessage?chat_id=${CHAT}`,
      gotify: `${base}/message`,
      matrix: `${base}/_matrix/client/v3/rooms/${encodeURIComponent(ROOM)}/send/m.room.message`,
    } satisfies Record<Push, string>,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function parsed(raw: string): any {
  try {
    return JSON.parse(raw)
  } catch {
    return null
  }
}

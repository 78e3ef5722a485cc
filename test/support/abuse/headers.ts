import { connect } from 'node:net'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { evilText, injectedInto } from './fuzz.ts'
import { call, each, fieldsOf, type Outcome, type Target } from './target.ts'

const SESSION_HEADERS = [
  'session',
  'loid',
  'token-v2',
  'csrf-token',
  'edgebucket',
  'csv',
  'session-tracker',
  'pc',
  'proxy',
]
const OTHER_HEADERS = [
  'user-agent',
  'x-request-id',
  'idempotency-key',
  'accept-language',
  'cookie',
  'x-forwarded-for',
  'referer',
  'origin',
]
const BODY_FIELDS = [
  'forum_session',
  'loid',
  'token_v2',
  'csrf_token',
  'edgebucket',
  'csv',
  'session_tracker',
  'pc',
  'flavour',
  'proxy',
  'locale',
  'timezone',
  'text',
  'post_url',
]
const QUERY_FIELDS = ['forum_session', 'loid', 'token_v2', 'flavour', 'after', 'sort', 'limit']
const READ_FIELDS = ['subforum', 'after', 'sort', 't', 'q', 'author', 'limit']

/**
 * So many texts that try to become a header, a cookie or a request of their own, in every place that a caller's text
 * can stand. What the platform was sent is read as bytes; what came back to the caller, too.
 */
export async function injectHeaders(target: Target, count: number, seed: number): Promise<Outcome> {
  const chance = createSeededRandom(seed)
  const wrong: string[] = []
  const fields = fieldsOf(target, 'ann')
  const from = target.front.heads.length
  const own = { 'x-forum-session': fields.forum_session, 'x-forum-loid': fields.loid }

  async function raw(method: string, path: string, header: string, value: string) {
    const lines = {
      host: 'x',
      authorization: `Bearer ${target.key}`,
      connection: 'close',
      ...own,
      [header]: value,
    }
    const head = `${method} ${path} HTTP/1.1\r\n${Object.entries(lines)
      .map(([name, it]) => `${name}: ${it}\r\n`)
      .join('')}\r\n`
    const answer = await sendUntilClosed(target.url, head)
    // The caller's header must not appear in any answer.
    for (const found of injectedInto(
      answer.split('\r\n\r\n')[0]?.replace(/^HTTP\/1\.1 .*/, 'GET / HTTP/1.1') ?? '',
    ))
      wrong.push(`answered: ${found}`)
  }

  const places: ((text: string) => Promise<unknown>)[] = [
    (text) => raw('GET', '/api/forum/feed', `x-forum-${chance.pick(SESSION_HEADERS)}`, text),
    (text) => raw('GET', '/api/forum/posts?subforum=hay', chance.pick(OTHER_HEADERS), text),
    (text) =>
      call(
        target,
        '/api/forum/comment',
        JSON.stringify({
          ...fields,
          post_url: '/r/hay/comments/abc/',
          text: 'x',
          [chance.pick(BODY_FIELDS)]: text,
        }),
      ),
    (text) =>
      call(
        target,
        '/api/forum/v2/comment',
        JSON.stringify({
          ...fields,
          post_url: '/r/hay/comments/abc/',
          text: 'x',
          cookies: chance.odds(0.5) ? { [text]: 'x' } : { flavour: text },
        }),
      ),
    (text) =>
      call(
        target,
        '/api/forum/vote',
        JSON.stringify({
          ...fields,
          id: 't3_abc',
          direction: 'up',
          [chance.pick(BODY_FIELDS)]: text,
        }),
      ),
    (text) =>
      call(
        target,
        `/api/forum/user/ann/saved?${new URLSearchParams({ ...fields, [chance.odds(0.3) ? text : chance.pick(QUERY_FIELDS)]: text }).toString()}`,
      ),
    (text) =>
      call(
        target,
        `/api/forum/posts?${new URLSearchParams({ subforum: 'hay', [chance.pick(READ_FIELDS)]: text }).toString()}`,
      ),
    (text) => call(target, `/api/forum/user/${encodeURIComponent(text)}/submitted`),
    (text) =>
      call(
        target,
        `/api/forum/comments?permalink=${encodeURIComponent(`/r/hay/comments/abc/${text}`)}`,
      ),
  ]
  const tries = Array.from({ length: count }, () => ({
    place: chance.pick(places),
    text: evilText(chance),
  }))
  await each(tries, { width: 8 }, async ({ place, text }) => void (await place(text)))

  const heads = target.front.heads.slice(from)
  for (const head of heads) wrong.push(...injectedInto(head))
  // Were nothing passed on, nothing could have been injected.
  if (heads.length < count / 100) wrong.push(`only ${heads.length} requests reached the platform`)
  return { requests: count, wrong }
}

/** Sends these bytes, and reads until the other side closes, or has said nothing for a while. */
function sendUntilClosed(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<string>()
  let answer = ''
  const socket = connect(Number(port), hostname, () => socket.write(Buffer.from(text, 'utf8')))
  // A request split by its content may leave the server waiting for more bytes.
  socket.setTimeout(3000, () => socket.destroy())
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
  socket.on('error', () => {})
  socket.on('close', () => resolve(answer))
  return promise
}

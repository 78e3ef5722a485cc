import { jsonBombs } from './bombs.ts'
import { crawl, type Ended, pour } from './sockets.ts'
import { call, each, type Outcome, type Target } from './target.ts'

const MIB = 1024 * 1024
const ROUTES = [
  '/forum/monitor/add',
  '/forum/monitor/webhook/create',
  '/api/forum/comments/verify',
  '/api/forum/v2/comment',
]
/** Bytes that the buffers of both sides may hold beyond those read. */
const POURED_MAX = 32 * MIB

/** Every bomb at every kind of route, with a key and without: refused as 400 or 413, never an error of ours. */
export async function sendJsonBombs(target: Target, rounds: number, rest_ms = 0): Promise<Outcome> {
  const bombs = jsonBombs()
  const throws = Array.from({ length: rounds }, () =>
    ROUTES.flatMap((route) =>
      bombs.flatMap((bomb) => [true, false].map((keyed) => ({ route, keyed, ...bomb }))),
    ),
  ).flat()
  const wrong: string[] = []
  await each(throws, { width: 4, rest_ms }, async ({ route, keyed, name, body }) => {
    const { status } = await call(keyed ? target : { ...target, key: 'fk_nobody' }, route, body)
    const right = keyed ? status === 400 || status === 413 : status === 403
    if (!right) wrong.push(`${name} to ${route}: ${status}`)
  })
  return { requests: throws.length, wrong }
}

/** Bodies of a GiB, with and without Content-Length, on routes with and without a body: refused before they are read. */
export async function sendHugeBodies(
  { url, key }: Target,
  rounds: number,
  gib = 1,
): Promise<Outcome> {
  const bytes = gib * 1024 * MIB
  const head = (route: string, chunked: boolean, token: string) =>
    [
      `POST ${route} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`,
      '\r\n',
    ].join('\r\n')
  const pours = Array.from({ length: rounds }, () =>
    [...ROUTES, '/api/forum/profile/avatar', '/nowhere'].flatMap((route) =>
      [true, false].flatMap((chunked) =>
        [key, 'fk_nobody'].map((token) => ({ route, chunked, token })),
      ),
    ),
  ).flat()
  const wrong: string[] = []
  await each(pours, { width: 8 }, async ({ route, chunked, token }) => {
    const ended = await pour(url, head(route, chunked, token), bytes, chunked)
    const wanted = token !== key ? '403' : route === '/nowhere' ? '404' : '413'
    if (!isRefusal(ended, wanted))
      wrong.push(
        `${route} ${chunked ? 'chunked' : 'sized'}: ${JSON.stringify(ended).slice(0, 200)}`,
      )
  })
  return { requests: pours.length, wrong }
}

// A client that writes to a closed peer may lose the answer; the peer has not read more of the body.
const isRefusal = ({ answer, sent }: Ended, status: string): boolean =>
  (answer === '' || answer.startsWith(`HTTP/1.1 ${status} `)) && sent <= POURED_MAX

/** So many connections that never come to the point: all are closed in time, and others are served meanwhile. */
export async function openSlowly(
  target: Target,
  count: number,
  within_ms: number,
): Promise<Outcome> {
  const wrong: string[] = []
  const slow = crawl(target.url, count, 1000)
  let served = 0
  const until = performance.now() + within_ms
  while (slow.closed() < count && performance.now() < until) {
    const { status } = await call(target, '/account/me')
    if (status === 200) served += 1
    else wrong.push(`another caller got ${status}`)
    await Bun.sleep(100)
  }
  if (slow.opened() < count) wrong.push(`${slow.opened()} of ${count} were opened`)
  if (slow.closed() < count)
    wrong.push(`${slow.closed()} of ${count} were closed within ${within_ms} ms`)
  if (served === 0) wrong.push('no other client was served')
  slow.end()
  return { requests: count, wrong }
}

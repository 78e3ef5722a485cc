/** The platform as an HTTP server on loopback: its native protocol, accounts, rate headers, faults. */
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

import { hashUnit } from './plan.ts'
import type { Item } from './plan.ts'
import { BLOCK_PAGE, MODHASH, renderItem, renderMe, renderPlace, threadPost } from './render.ts'
import type { Marks } from './render.ts'
import { answerListing, conditionsAt, faultAt, feedKey, isHeld, isUnreachable } from './view.ts'
import type { Answer, Condition, Fault, Feed, World } from './view.ts'

export type AccountSpec = {
  readonly name: string
  /** Requests in a window of 600 s. */
  readonly allowance: number
  /** Seconds until the first window ends. */
  readonly firstResetS: number
}

type Account = AccountSpec & {
  readonly index: number
  readonly session: string
  used: number
  windowEndMs: number
  heldFromMs: number
  heldUntilMs: number
}

export type Logged = {
  readonly atMs: number
  readonly account: string
  readonly path: string
  readonly feed: string | null
  status: number
  note: string
  rows: number
}

export type Platform = {
  readonly url: string
  readonly log: readonly Logged[]
  /** Names of the items that a complete answer has shown. */
  readonly served: ReadonlySet<string>
  readonly overRate: () => number
  readonly jarOf: (index: number) => string
  readonly stop: () => Promise<void>
}

const WINDOW_MS = 600_000
const WATCH_MS = 20
/** A request that left before the answer with Retry-After came back is no offence. */
const RETRY_GRACE_MS = 500
const MAX_LOGGED = 200_000

export const startPlatform = async (
  world: World,
  specs: readonly AccountSpec[],
  dateSkewMs: number,
  oneWindow = false,
): Promise<Platform> => {
  const accounts = specs.map((spec, index): Account => ({
    ...spec,
    index,
    session: `session${index}${Math.floor(hashUnit(world.seed, spec.name) * 1e9)}`,
    used: 0,
    windowEndMs: spec.firstResetS * 1000,
    heldFromMs: 0,
    heldUntilMs: 0,
  }))
  const log: Logged[] = []
  const served = new Set<string>()
  const spent = new Map<Condition, number>()
  let over = 0
  let serial = 0
  const nowMs = () => Date.now() - world.startMs

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const atMs = nowMs()
    const url = new URL(request.url ?? '/', 'http://platform')
    const session = /(?:^|;\s*)reddit_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
    const account = accounts.find((one) => one.session === session)
    const feed = feedOf(url)
    const entry: Logged = {
      atMs,
      account: account?.name ?? '-',
      path: `${url.pathname}${decodeURIComponent(url.search)}`,
      feed: feed === null ? null : feedKey(feed),
      status: 0,
      note: '',
      rows: 0,
    }
    if (log.length < MAX_LOGGED) log.push(entry)
    if (isUnreachable(world, atMs) !== null) {
      entry.note = 'unreachable'
      response.socket?.destroy()
      return
    }
    serial += 1
    response.setHeader('Date', new Date(Date.now() + dateSkewMs).toUTCString())
    response.setHeader('Set-Cookie', `session_tracker=t${serial}; Path=/`)
    const isBrowser = /mozilla|chrome/i.test(request.headers['user-agent'] ?? '')
    const active = conditionsAt(world, atMs)
    const isShut = !isBrowser && active.some((one) => one.type === 'browsersOnly')
    if (account === undefined || isShut) {
      if (isShut) entry.note = 'browsers only'
      return sendPage(response, entry, 403, BLOCK_PAGE)
    }
    // Limits of sessions are those of their address; their windows follow the clock.
    const counted = oneWindow ? (accounts[0] ?? account) : account
    if (oneWindow && counted.windowEndMs % 60_000 !== 0)
      counted.windowEndMs = Math.ceil(counted.windowEndMs / 60_000) * 60_000
    const rate = countRequest(counted, atMs)
    if (rate.over) {
      over += 1
      entry.note = 'over-rate'
    }
    const fault = feed === null ? null : faultAt(world, atMs, `${serial}`, account.index, spent)
    if (fault !== null) entry.note ||= fault
    if (fault !== 'blank') {
      for (const [name, value] of Object.entries(rate.headers)) response.setHeader(name, value)
    }
    if (rate.over) {
      response.setHeader('Retry-After', String(Math.ceil((account.windowEndMs - atMs) / 1000)))
      return sendPage(response, entry, 429, '<html><body>Too Many Requests</body></html>')
    }
    if (fault !== null && fault !== 'truncated') {
      return sendFault(response, entry, fault, account, atMs)
    }
    const isReadOnly = active.some((one) => one.type === 'readOnly')
    if (feed === null) return sendOther(world, url, account, atMs, response, entry, isReadOnly)
    const limit = Math.min(100, Math.max(1, Number(url.searchParams.get('limit') ?? 25) || 25))
    const page = {
      limit: feed.type === 'thread' ? 500 : limit,
      after: url.searchParams.get('after'),
      before: url.searchParams.get('before'),
    }
    const viewer = isReadOnly ? null : account.index
    const answer = answerListing(world, feed, page, atMs, `${serial}`, viewer)
    const moderated = new Set(
      active.flatMap((one) =>
        one.type === 'moderates' && one.account === viewer ? [one.place] : [],
      ),
    )
    sendListing(world, response, entry, feed, answer, atMs, {
      cut: fault === 'truncated',
      marksOf: (item) => ({ moderates: moderated.has(item.place), masked: false }),
    })
    if (fault === null) for (const item of answer.rows) served.add(item.name)
  }

  let server = await listen(handle, 0)
  const port = portOf(server)
  let open = true
  let busy = false
  // A port refuses when no server listens on it.
  const watch = setInterval(() => {
    const refuse = isUnreachable(world, nowMs()) === 'refuse'
    if (busy || refuse !== open) return
    busy = true
    const change = refuse
      ? close(server)
      : listen(handle, port).then((next) => {
          server = next
        })
    void change.finally(() => {
      open = !refuse
      busy = false
    })
  }, WATCH_MS)
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    served,
    overRate: () => over,
    jarOf: (index) => `reddit_session=${accounts[index]?.session ?? ''}; loid=00000000${index}.2.0`,
    stop: async () => {
      clearInterval(watch)
      await close(server)
    },
  }
}

const listen = async (
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  port: number,
): Promise<Server> => {
  const server = createServer((request, response) => {
    request.resume()
    handle(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}

const portOf = (server: Server): number => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const close = async (server: Server): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await Promise.race([closed, Bun.sleep(500)])
}

const countRequest = (account: Account, atMs: number) => {
  while (atMs >= account.windowEndMs) {
    account.windowEndMs += WINDOW_MS
    account.used = 0
  }
  account.used += 1
  const headers = {
    'x-ratelimit-used': String(account.used),
    'x-ratelimit-remaining': `${Math.max(0, account.allowance - account.used)}.0`,
    'x-ratelimit-reset': String(Math.ceil((account.windowEndMs - atMs) / 1000)),
  }
  const held = account.heldFromMs <= atMs && atMs < account.heldUntilMs
  return { headers, over: account.used > account.allowance || held }
}

const feedOf = (url: URL): Feed | null => {
  const path = decodeURIComponent(url.pathname)
  const places = /^\/r\/([^/]+)\/(new|comments)\.json$/.exec(path)
  if (places?.[1] !== undefined) {
    const kind = places[2] === 'new' ? 'post' : 'comment'
    return { type: 'places', places: places[1].split('+'), kind }
  }
  const query = url.searchParams.get('q') ?? ''
  if (path === '/search.json') return { type: 'search', query }
  const within = /^\/r\/([^/]+)\/search\.json$/.exec(path)?.[1]
  if (within !== undefined && query !== '') {
    return { type: 'search', query: `(${query}) AND subreddit:${within}` }
  }
  const user = /^\/user\/([^/]+)\/(submitted|comments|overview)\.json$/.exec(path)
  if (user?.[1] !== undefined) {
    const kind = user[2] === 'comments' ? 'comment' : user[2] === 'overview' ? 'both' : 'post'
    return { type: 'user', author: user[1], kind }
  }
  const thread = /^(?:\/r\/[^/]+)?\/comments\/([a-z0-9]+)(?:\/[^/]*)?\.json$/.exec(path)
  return thread?.[1] === undefined ? null : { type: 'thread', thread: `t3_${thread[1]}` }
}

const sendPage = (response: ServerResponse, entry: Logged, status: number, body: string) => {
  entry.status = status
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' })
  response.end(body)
}

const sendJson = (response: ServerResponse, entry: Logged, status: number, body: unknown) => {
  entry.status = status
  response.writeHead(status, { 'Content-Type': 'application/json; charset=UTF-8' })
  response.end(JSON.stringify(body))
}

const sendFault = (
  response: ServerResponse,
  entry: Logged,
  fault: Fault,
  account: Account,
  atMs: number,
) => {
  if (fault === 'reset') {
    response.socket?.destroy()
    return
  }
  if (fault === 'block') return sendPage(response, entry, 403, BLOCK_PAGE)
  if (fault === 'error503') return sendPage(response, entry, 503, '<html>CDN error</html>')
  if (fault === 'limitedRetryAfter' || fault === 'limitedLong') {
    const waitS = fault === 'limitedLong' ? 300 : 20
    account.heldFromMs = atMs + RETRY_GRACE_MS
    account.heldUntilMs = atMs + waitS * 1000 - RETRY_GRACE_MS
    response.setHeader('Retry-After', String(waitS))
  }
  if (fault === 'blank') {
    entry.status = 200
    response.writeHead(200, { 'Content-Type': 'application/json; charset=UTF-8' })
    response.end()
    return
  }
  sendJson(response, entry, 429, { message: 'Too Many Requests', error: 429 })
}

const sendListing = (
  world: World,
  response: ServerResponse,
  entry: Logged,
  feed: Feed,
  answer: Answer,
  atMs: number,
  { cut, marksOf }: { cut: boolean; marksOf: (item: Item) => Marks },
) => {
  if (answer.status !== 200) {
    const message = answer.status === 404 ? 'Not Found' : 'Forbidden'
    return sendJson(response, entry, answer.status, {
      reason: answer.reason,
      message,
      error: answer.status,
    })
  }
  entry.rows = answer.rows.length
  const children = answer.rows.map((item) => renderItem(world, item, atMs, marksOf(item)))
  const listing = {
    kind: 'Listing',
    data: {
      after: feed.type === 'thread' ? null : answer.after,
      dist: feed.type === 'thread' ? null : children.length,
      modhash: MODHASH,
      geo_filter: '',
      before: null,
      children,
    },
  }
  const body = JSON.stringify(
    feed.type === 'thread' ? [threadPost(world, feed.thread, children.length), listing] : listing,
  )
  entry.status = 200
  response.writeHead(200, { 'Content-Type': 'application/json; charset=UTF-8' })
  response.end(cut ? body.slice(0, Math.floor(body.length * 0.7)) : body)
}

const sendOther = (
  world: World,
  url: URL,
  account: Account,
  atMs: number,
  response: ServerResponse,
  entry: Logged,
  isReadOnly: boolean,
) => {
  if (url.pathname === '/api/me.json') {
    if (isReadOnly) {
      entry.note = 'read only'
      return sendJson(response, entry, 200, { kind: 't2', data: { modhash: '', features: {} } })
    }
    return sendJson(response, entry, 200, renderMe(account.name, `u${account.index}`))
  }
  const about = /^\/r\/([^/]+)\/about\.json$/.exec(url.pathname)?.[1]
  if (about !== undefined && world.content.places.some((place) => place.name === about)) {
    const shut = conditionsAt(world, atMs).find(
      (one) => one.type === 'closed' && one.place === about,
    )
    if (shut?.type === 'closed') {
      const status = shut.as === 'banned' ? 404 : 403
      return sendJson(response, entry, status, { reason: shut.as, message: 'no', error: status })
    }
    return sendJson(response, entry, 200, renderPlace(about))
  }
  const byId = /^\/by_id\/([^/]+)\.json$/.exec(decodeURIComponent(url.pathname))?.[1]
  if (url.pathname === '/api/info.json' || byId !== undefined) {
    const names = (byId ?? url.searchParams.get('id') ?? '').split(',').slice(0, 100)
    const rows = names
      .map((name) => world.byName.get(name))
      .filter((item) => item !== undefined)
      // What is held is there by its id, without its text.
      .filter((item) => (item.visibleMs <= atMs || isHeld(item, atMs)) && atMs < item.goneMs)
    const answer: Answer = { status: 200, reason: '', rows, after: null }
    return sendListing(world, response, entry, { type: 'search', query: '' }, answer, atMs, {
      cut: false,
      marksOf: () => ({ moderates: false, masked: true }),
    })
  }
  sendJson(response, entry, 404, { message: 'Not Found', error: 404 })
}

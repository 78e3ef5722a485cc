import { ANONYMOUS, type Call, type Identity } from '../../../../src/platforms/port.ts'
import { createForum, type ForumOptions } from '../../../../src/platforms/reddit/adapter.ts'
import type { RequestEvent } from '../../../../src/platforms/reddit/request.ts'
import type { Fetch } from '../../../../src/runtime/runtime.ts'
import { type FakeClock, fakeClock } from '../../../support/clock.ts'

export type Reply = Response | ((request: Request) => Response | Promise<Response>)

/** A real server that answers from a list, repeating its last entry, and a forum in front of it. */
export function createForumFixture(replies: Reply[], options: Partial<ForumOptions> = {}) {
  const requests: { path: string; headers: Headers }[] = []
  const events: RequestEvent[] = []
  const queue = [...replies]
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request): Promise<Response> {
      // Copied: the request's own headers are gone after its answer.
      const { pathname, search } = new URL(request.url)
      requests.push({ path: pathname + search, headers: new Headers(request.headers) })
      const reply = queue.length > 1 ? queue.shift() : queue[0]
      if (reply === undefined) return new Response(null, { status: 500 })
      return reply instanceof Response ? copyOf(reply) : reply(request)
    },
  })
  const open = new Set<string>()
  // Reads each body before it returns the response, so that no request is open afterwards.
  const fetchWhole: Fetch = async (url, init) => {
    const mine = crypto.randomUUID()
    open.add(mine)
    try {
      const response = await fetch(url, init)
      const { status, headers } = response
      return new Response(await response.arrayBuffer(), { status, headers })
    } finally {
      open.delete(mine)
    }
  }
  const clock: FakeClock = fakeClock(async () => {
    do await quiet()
    while (open.size > 0)
  })
  const forum = createForum({
    name: 'forum',
    fetch: fetchWhole,
    clock,
    random: { uuid: () => '', fraction: () => 0.5, bytes: (count) => new Uint8Array(count) },
    log: () => {},
    base_url: server.url.origin,
    user_agent: 'forumd-test/1.0',
    timeout_ms: 10_000,
    retries: 3,
    requests_per_minute: 600,
    on_request: (event) => events.push(event),
    ...options,
  })
  const call = (within_ms = 30_000, id = 'anonymous', cookie: string | null = null): Call => ({
    identity: { ...ANONYMOUS, id, cookie },
    deadline_at: clock.now() + within_ms,
  })
  /** A call with a session of the pool, with the given changes. */
  const as = (identity: Partial<Identity> = {}, rest: Partial<Call> = {}): Call => ({
    identity: { ...ANONYMOUS, id: 'acc_1', whose: 'pool', cookie: 'session=s', ...identity },
    deadline_at: clock.now() + 30_000,
    ...rest,
  })
  return {
    forum,
    clock,
    requests,
    events,
    call,
    as,
    base: server.url.origin,
    /** Paths and queries in the order of the requests. */
    paths: () => requests.map(({ path }) => path),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

async function copyOf(reply: Response): Promise<Response> {
  const { status, headers } = reply
  return new Response(await reply.clone().arrayBuffer(), { status, headers })
}

async function quiet() {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A listing of rows, each with its kind. */
export const listing = (
  rows: readonly { kind: string; data: object }[],
  data: Record<string, unknown> = {},
) => ({
  kind: 'Listing',
  data: { after: null, before: null, modhash: '', children: rows, ...data },
})

/** An empty page for a signed-in account. */

/** A complete, invented row of a post. */
export const post = (data: Record<string, unknown> = {}) => ({
  kind: 't3',
  data: {
    id: 'ab12',
    name: 't3_ab12',
    title: 'A title',
    author: 'writer',
    author_fullname: 't2_1',
    subreddit: 'cats',
    permalink: '/r/cats/comments/ab12/a_title/',
    url: 'https://pictures.example/cat',
    domain: 'pictures.example',
    score: 7,
    num_comments: 3,
    created_utc: 1_767_225_600.0,
    edited: false,
    is_self: false,
    selftext: '',
    ...data,
  },
})

/** A complete, invented row of a comment. */
export const comment = (data: Record<string, unknown> = {}) => ({
  kind: 't1',
  data: {
    id: 'cd34',
    name: 't1_cd34',
    body: 'Some words',
    author: 'writer',
    author_fullname: 't2_1',
    subreddit: 'cats',
    link_id: 't3_ab12',
    parent_id: 't3_ab12',
    permalink: '/r/cats/comments/ab12/a_title/cd34/',
    score: 2,
    created_utc: 1_767_225_600,
    edited: false,
    replies: '',
    ...data,
  },
})

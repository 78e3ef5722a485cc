import type { Outside } from '../outside.ts'
import type { Stage } from './stage.ts'

type Answer = Record<string, unknown>

/** A client of the daemon, as anybody would write one. */
export function createCaller(base: string, key: string, { fetch, clock }: Outside) {
  let reads = 0
  async function ask(path: string, init: RequestInit) {
    const began = clock.mono()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(base + path, { ...init, headers, proxy: false })
    const body: Answer = Object(await response.json())
    if (!response.ok)
      throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`)
    return { body, headers: response.headers, took_ms: clock.mono() - began }
  }
  return {
    get: async (path: string) => (await ask(path, {})).body,
    post: async (path: string, body: object) =>
      (await ask(path, { method: 'POST', body: JSON.stringify(body) })).body,
    async read(path: string) {
      const answer = await ask(path, {})
      reads += 1
      return answer
    },
    reads: () => reads,
  }
}
type Caller = ReturnType<typeof createCaller>

const READ_EVERY_MS = 4000
const READS = [
  { path: '/api/forum/posts?subforum=selfhosting&limit=25', rows: 'posts' },
  { path: '/api/forum/search?q=backup&sort=new&limit=25', rows: 'posts' },
  { path: '/api/forum/sub/coffee/comments?limit=100', rows: 'comments' },
  { path: '/api/forum/search/comments/deep?q=grinder&limit=3', rows: 'comments' },
  { path: '/api/forum/sub/gardening/top?t=month&limit=10', rows: 'posts' },
]

/** Reads now and then, until it is told to stop or the credit is used up. */
export async function readNowAndThen(
  caller: Caller,
  stage: Stage,
  { clock }: Outside,
  signal: AbortSignal,
) {
  for (let turn = 0; !signal.aborted; turn++) {
    const { path, rows } = READS[turn % READS.length] ?? { path: '/health', rows: '' }
    try {
      const { body, headers, took_ms } = await caller.read(path)
      const found = body[rows]
      stage.read({
        path,
        rows: Array.isArray(found) ? found.length : 0,
        what: rows,
        took_ms,
        remaining: headers.get('x-credits-remaining'),
      })
    } catch (error) {
      stage.trouble('read.failed', { reason: error instanceof Error ? error.message : 'unknown' })
    }
    await clock.sleep(READ_EVERY_MS, signal)
  }
}

/** What somebody posts meanwhile, so that there is something to find even in a quiet minute. */
const POSTED = [
  {
    subforum: 'selfhosting',
    title: 'Can anyone recommend a backup job that tells me when it fails?',
  },
  { subforum: 'selfhosting', title: 'My wiki turned five today' },
  { subforum: 'coffee', title: 'A quiet grinder for under 100 €?' },
  { subforum: 'coffee', title: 'An espresso machine from a flea market' },
  { subforum: 'gardening', title: 'Looking for tomatoes that forgive a forgetful owner' },
]
const POST_FIRST_MS = 3000
const POST_EVERY_MS = 9000

/** Posts something now and then, as a visitor of the platform would. */
export async function visit(
  platform: string,
  stage: Stage,
  { fetch, clock }: Outside,
  signal: AbortSignal,
) {
  await clock.sleep(POST_FIRST_MS, signal)
  for (let turn = 0; !signal.aborted; turn++) {
    const post = POSTED[turn % POSTED.length]
    const response = await fetch(`${platform}/__sandbox/post`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(post),
      proxy: false,
    })
    if (post && response.ok) stage.posted(post)
    else stage.trouble('post.failed', { status: response.status })
    await clock.sleep(POST_EVERY_MS, signal)
  }
}

import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Runtime } from '../../runtime/runtime.ts'
import { FIRST, SECOND } from './kinds.ts'
import type { DemoOutput } from './output.ts'

type ResponseBody = Record<string, unknown>

export function createDemoClient(base: string, key: string, { fetch, clock }: Runtime) {
  let reads = 0
  async function request(path: string, init: RequestInit) {
    const began = clock.mono()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(base + path, { ...init, headers, proxy: false })
    const body: ResponseBody = Object(await response.json())
    if (!response.ok)
      throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`)
    return { body, headers: response.headers, took_ms: clock.mono() - began }
  }
  return {
    get: async (path: string) => (await request(path, {})).body,
    post: async (path: string, body: object) =>
      (await request(path, { method: 'POST', body: JSON.stringify(body) })).body,
    async read(path: string) {
      const answer = await request(path, {})
      reads += 1
      return answer
    },
    reads: () => reads,
  }
}
type DemoClient = ReturnType<typeof createDemoClient>

const READ_EVERY_MS = 4000
const READS = [
  { path: '/api/forum/posts?subforum=selfhosting&limit=25', rows: 'posts' },
  { path: `/api/forum/posts?source=${SECOND}&subforum=coffee`, rows: 'posts' },
  { path: '/api/forum/search?q=backup&sort=new&limit=25', rows: 'posts' },
  { path: '/api/forum/search/comments/deep?q=grinder&limit=3', rows: 'comments' },
  { path: `/api/forum/search?source=${SECOND}&q=backup`, rows: 'posts' },
]

/** Reads at intervals, until stopped or until the credit is used up. */
export async function readPeriodically(
  client: DemoClient,
  output: DemoOutput,
  { clock }: Runtime,
  signal: AbortSignal,
) {
  for (let iteration = 0; !signal.aborted; iteration++) {
    const { path, rows } = READS[iteration % READS.length] ?? { path: '/health', rows: '' }
    try {
      const { body, headers, took_ms } = await client.read(path)
      const found = body[rows]
      output.read({
        path,
        rows: Array.isArray(found) ? found.length : 0,
        what: rows,
        took_ms,
        remaining: headers.get('x-credits-remaining'),
      })
    } catch (error) {
      output.trouble('read.failed', { reason: error instanceof Error ? error.message : 'unknown' })
    }
    await clock.sleep(READ_EVERY_MS, signal)
  }
}

/** Posts of the demo, so that there are matches even in a quiet minute. */
const POSTED: { to: 'first' | 'second'; place: string; title: string }[] = [
  {
    to: 'first',
    place: 'selfhosting',
    title: 'Can anyone recommend a backup job that tells me when it fails?',
  },
  { to: 'second', place: 'homelab', title: 'Which backup did you ever restore from?' },
  { to: 'first', place: 'coffee', title: 'A quiet grinder for under 100 €?' },
  { to: 'second', place: 'coffee', title: 'The espresso of the week' },
  { to: 'first', place: 'selfhosting', title: 'My wiki turned five today' },
]
const POST_FIRST_MS = 2000
const POST_EVERY_MS = 4000

/** Posts at intervals, as a visitor of the platforms would. */
export async function postPeriodically(
  platforms: { first: string; second: string },
  output: DemoOutput,
  { fetch, clock }: Runtime,
  signal: AbortSignal,
) {
  await clock.sleep(POST_FIRST_MS, signal)
  for (let iteration = 0; !signal.aborted; iteration++) {
    const { to, place, title } = POSTED[iteration % POSTED.length] ?? POSTED[0]!
    const response = await fetch(`${platforms[to]}/__sandbox/post`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ [to === 'first' ? 'subforum' : 'category']: place, title }),
      proxy: false,
    })
    if (response.ok) output.posted({ place: to === 'first' ? place : `${SECOND} ${place}`, title })
    else output.trouble('post.failed', { status: response.status })
    await clock.sleep(POST_EVERY_MS, signal)
  }
}

const TOLERANCE_S = 300

/** The receiver: verifies each signature as documented, with its own code. */
export function startInbox({ clock }: Runtime, output: DemoOutput) {
  const names = new Map<string, string>()
  const ids = new Set<string>()
  const sources = new Set<string>()
  let secret = ''
  let verified = 0
  let refused = 0

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      const { timestamp, mac } = /^t=(?<timestamp>\d+),v1=(?<mac>[0-9a-f]{64})$/.exec(
        request.headers.get('x-service-signature') ?? '',
      )?.groups ?? { timestamp: '0', mac: '' }
      const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest()
      const given = Buffer.from(mac ?? '', 'hex')
      const age_s = Math.abs(clock.now() / 1000 - Number(timestamp))
      if (
        given.length !== expected.length ||
        !timingSafeEqual(given, expected) ||
        age_s > TOLERANCE_S
      ) {
        refused += 1
        output.trouble('receiver.refused', { reason: 'the signature is not valid' })
        return new Response('', { status: 400 })
      }
      verified += 1
      const { delivery_id, monitor_id, items } = JSON.parse(text)
      ids.add(delivery_id)
      const [item] = items
      sources.add(item.source ?? FIRST)
      output.delivered({
        monitor: names.get(monitor_id) ?? monitor_id,
        delivery_id,
        item,
        after_ms: clock.now() - Date.parse(item.created),
      })
      return new Response('', { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    expect(text: string) {
      secret = text
    },
    name: (id: string, text: string) => void names.set(id, text),
    seen: () => ({ matches: ids.size, verified, refused, sources: [...sources] }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

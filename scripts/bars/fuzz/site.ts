/**
 * A hostile site of one kind, in its own process: an honest site, whose answers are mutated while a phase lasts. Its parent sets
 * the phase; the site reports what it posts, which of it a lying answer has hidden, and how much it has mutated.
 *
 *     bun scripts/bars/fuzz/site.ts KIND SEED
 */
import { createServer, type Socket } from 'node:net'

import { DISCOURSE } from '../../../sandbox/discourse/kind.ts'
import { HACKERNEWS } from '../../../sandbox/hackernews/kind.ts'
import { LEMMY } from '../../../sandbox/lemmy/kind.ts'
import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import { startSource } from '../../../sandbox/sources/start.ts'
import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { answerOf, type SiteRow } from '../../../test/support/hostile-site.ts'
import { type Answer, mutated, recordedAnswers } from '../../../test/support/mutations.ts'

const [kind = '', seed_text = '1'] = process.argv.slice(2)
const seed = Number(seed_text)
const random = createSeededRandom(seed)
/** Posts a second. */
const POSTS_PER_S = 0.5
const REPORT_EVERY_MS = 2000

type Asked = { method: string; path: string; headers: [string, string][]; body: Buffer }
type Backend = {
  /** Posts a text; its fullname. */
  post(title: string, text: string): string
  comment(text: string): string
  answer(asked: Asked): Promise<Answer>
  accounts?: Record<string, string>[]
  session_cookie?: string
}

const options = {
  port: 0,
  seed,
  speed: 0,
  world: 'empty' as const,
  now: Date.now,
}

/** Hop-by-hop fields and those that this server writes. */
const OWN_FIELDS = /^(?:connection|keep-alive|content-length|transfer-encoding)$/

const through =
  (url: string) =>
  async ({ method, path, headers, body }: Asked): Promise<Answer> => {
    const sent = headers.filter(
      ([name]) => !/^(?:host|accept-encoding)$/.test(name) && !OWN_FIELDS.test(name),
    )
    const answer = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: [...sent, ['accept-encoding', 'identity']],
      ...(body.length > 0 && { body }),
    })
    return {
      status: answer.status,
      headers: [...answer.headers].filter(([name]) => !OWN_FIELDS.test(name)),
      body: Buffer.from(await answer.arrayBuffer()),
    }
  }

const BACKENDS: Readonly<Record<string, () => Promise<Backend>>> = {
  async discourse() {
    const site = await startSource(DISCOURSE, options)
    site.call('site', {
      anonymous_per_minute: 100_000,
      anonymous_per_10s: 100_000,
      search_per_minute: 100_000,
    })
    const topics: number[] = []
    return {
      post(title, text) {
        const made = Object(site.call('post', { category: 'coffee', title, text, author: 'ann' }))
        topics.push(made.topic_id)
        return `t3_${made.topic_id}`
      },
      comment: (text) =>
        `t1_${Object(site.call('comment', { topic_id: topics.at(-1), text, author: 'bob' })).post_id}`,
      answer: through(site.url),
    }
  },
  async hackernews() {
    const site = await startSource(HACKERNEWS, options)
    const ids: number[] = []
    return {
      post(title, text) {
        const { id } = Object(site.call('post', { title: title.slice(0, 80), text, author: 'ann' }))
        ids.push(id)
        return `t3_${id}`
      },
      comment: (text) =>
        `t1_${Object(site.call('comment', { parent: ids.at(-1), text, author: 'bob' })).id}`,
      answer: through(site.url),
    }
  },
  'lemmy-v3': () => lemmy('0.19'),
  'lemmy-v4': () => lemmy('1.0'),
  async piefed() {
    const rows: SiteRow[] = []
    const post = (title: string, text: string) => {
      rows.push({ id: rows.length + 1, at: Date.now(), title, text })
      return `t3_${rows.length}`
    }
    return {
      post,
      comment: (text) => post(text, text),
      async answer({ path }) {
        const { pathname, searchParams } = new URL(path, 'http://localhost')
        const value = answerOf('piefed', rows, pathname, searchParams)
        return {
          status: value === undefined ? 404 : 200,
          headers: [
            ['content-type', 'application/json'],
            ['date', new Date().toUTCString()],
          ],
          body: Buffer.from(JSON.stringify(value ?? { code: 404, message: 'not found' })),
        }
      },
    }
  },
  async reddit() {
    const site = await startSandbox({
      ...options,
      allowance: 10_000_000,
      session_allowance: 10_000_000,
    })
    const posts: string[] = []
    return {
      post(title, text) {
        const { name } = site.post({ subforum: 'coffee', title, text, author: 'ann' })
        posts.push(name)
        return name
      },
      comment: (text) => site.comment({ parent: posts.at(-1) ?? '', text, author: 'bob' }).name,
      answer: through(site.url),
      session_cookie: site.session_cookie,
      accounts: ['cid', 'dora'].map((name) => {
        site.user({ name })
        return site.session({ username: name }).cookies
      }),
    }
  },
}

async function lemmy(version: '0.19' | '1.0'): Promise<Backend> {
  const site = await startSource(LEMMY, options)
  site.world.settings.version = version
  for (const bucket of Object.values(site.world.settings.limits))
    Object.assign(bucket, { requests: 1_000_000 })
  const ids: number[] = []
  return {
    post(title, text) {
      const { id } = Object(site.call('post', { community: 'coffee', title, text, author: 'ann' }))
      ids.push(id)
      return `t3_${id}`
    },
    comment: (text) =>
      `t1_${Object(site.call('comment', { post_id: ids.at(-1), text, author: 'bob' })).id}`,
    answer: through(site.url),
  }
}

const start = BACKENDS[kind]
if (start === undefined) throw new Error(`${kind}: there is no such site`)
const backend = await start()
const recorded = recordedAnswers(kind.replace(/-v\d$/, ''))

let phase: string | null = null
let is_posting = false
let serial = 0
let requests = 0
const served: Record<string, number> = {}
const names = new Map<number, string>()
const hidden: Record<string, Set<string>> = {}
/** Serials of the posts that an honest answer names. */
const SERIAL = /beacon-(\d+)/g
/** Posts of this age may be hidden by a list of ids. */
const RECENT_MS = 120_000
const posted_at = new Map<number, number>()

function hide(body: Buffer, path: string, mutation: string) {
  const shown = new Set([...body.toString().matchAll(SERIAL)].map(([, n]) => Number(n)))
  // Lists of ids: maxitem, updates, newstories.
  const since =
    kind === 'hackernews' && !path.includes('/item/') ? Date.now() - RECENT_MS : Infinity
  for (const [n, name] of names)
    if (shown.has(n) || (posted_at.get(n) ?? 0) >= since)
      (hidden[name] ??= new Set()).add(`${mutation} of ${path.split('?')[0]}`)
}

function addPost() {
  serial += 1
  const at = Date.now()
  const text = `beacon-${serial} report about a beacon in the kitchen`
  const name = serial > 3 && random.odds(0.4) ? backend.comment(text) : backend.post(text, text)
  names.set(serial, name)
  posted_at.set(serial, at)
  process.send?.({ posted: { name, at } })
}

for (let n = 0; n < 3; n++) addPost()

async function answerTo(asked: Asked): Promise<Answer> {
  requests += 1
  const honest = await backend.answer(asked)
  if (phase === null || asked.path === '/robots.txt') return honest
  const own_url = `http://127.0.0.1:${port}`
  const given = { random, recorded, path: asked.path, own_url }
  const changed = mutated(phase, honest, given)
  if (changed === null) return honest
  served[changed.kind] = (served[changed.kind] ?? 0) + 1
  if (changed.lies) hide(honest.body, asked.path, changed.kind)
  return changed.answer
}

const wait = (ms: number) => Bun.sleep(ms)
const PARTS = 10

async function send(socket: Socket, answer: Answer, is_head: boolean): Promise<boolean> {
  const { status, headers, body, cut_at, drip_ms, delay_ms, raw } = answer
  if (delay_ms !== undefined) await wait(delay_ms)
  if (socket.destroyed) return false
  if (raw !== undefined) {
    socket.end(raw)
    return false
  }
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const bodiless = is_head || status === 204 || status === 304
  const length = bodiless ? '' : `content-length: ${body.length}\r\n`
  socket.write(Buffer.from(`HTTP/1.1 ${status} Answer\r\n${lines}${length}\r\n`, 'latin1'))
  if (bodiless) return true
  if (cut_at !== undefined) {
    socket.write(body.subarray(0, cut_at))
    await wait(5)
    socket.destroy()
    return false
  }
  if (drip_ms === undefined) return socket.write(body) || true
  const size = Math.ceil(body.length / PARTS) || 1
  for (let at = 0; at < body.length && !socket.destroyed; at += size) {
    socket.write(body.subarray(at, at + size))
    await wait(drip_ms)
  }
  return !socket.destroyed
}

const server = createServer((socket) => {
  let rest = Buffer.alloc(0)
  let busy = Promise.resolve(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, Buffer.from(chunk)])
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
      const [method = '', path = ''] = first.split(' ')
      const headers = lines.map((line): [string, string] => {
        const at = line.indexOf(':')
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
      })
      const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0)
      if (rest.length < end + 4 + length) return
      const body = rest.subarray(end + 4, end + 4 + length)
      rest = rest.subarray(end + 4 + length)
      const asked = { method, path, headers, body }
      busy = busy.then(async (goes_on) => {
        if (!goes_on || socket.destroyed) return false
        return send(socket, await answerTo(asked), method === 'HEAD')
      })
      busy.catch((error: unknown) => {
        console.error(`${kind}: ${String(error)}`)
        socket.destroy()
      })
    }
  })
})
const port = await new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    resolve(typeof address === 'object' && address !== null ? address.port : 0)
  })
})

process.on('message', (message: { phase?: string | null; posting?: boolean }) => {
  if (message.phase !== undefined) phase = message.phase
  if (message.posting !== undefined) is_posting = message.posting
})
process.on('disconnect', () => process.exit(0))
process.send?.({
  url: `http://127.0.0.1:${port}`,
  accounts: backend.accounts ?? [],
  session_cookie: backend.session_cookie ?? 'session',
})

const hiddenBy = () =>
  Object.fromEntries(Object.entries(hidden).map(([name, by]) => [name, [...by].slice(0, 6).join()]))
setInterval(
  () => process.send?.({ stats: { requests, served, hidden: hiddenBy() } }),
  REPORT_EVERY_MS,
)
for (;;) {
  await wait(random.wait(1000 / POSTS_PER_S))
  if (is_posting) addPost()
}

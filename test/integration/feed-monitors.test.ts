import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { connect } from '../../src/store/db/connection.ts'
import { createCanaries } from '../support/canaries.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const S = 1000
const MINUTE = 60_000
const { addCanary, foundIn } = createCanaries()

type Row = { n: number; at: number }

const rss = (rows: readonly Row[]): string =>
  `<rss version="2.0"><channel><title>Site</title><link>http://forum.example/</link>${rows
    .toSorted((a, b) => b.at - a.at)
    .slice(0, 5)
    .map(
      ({ n, at }) =>
        `<item><title>kettle ${n}</title><guid isPermaLink="false">${n}</guid><pubDate>${new Date(at).toUTCString()}</pubDate></item>`,
    )
    .join('')}</channel></rss>`

/** A daemon with one source of the feeds `bikes` and `tools`, at sites of their own, and a monitor of each and of both. */
async function startFeeds() {
  await using stack = new AsyncDisposableStack()
  const time = { now: Date.now }
  const rows = new Map<string, Row[]>()
  const faults = new Map<string, () => Response>()
  const asked: string[] = []
  const sites = ['bikes', 'tools'].map((name) => {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        if (new URL(request.url).pathname === '/robots.txt')
          return new Response('', { status: 404 })
        asked.push(name)
        const answer = faults.get(name)?.() ?? new Response(rss(rows.get(name) ?? []))
        answer.headers.set('date', new Date(time.now()).toUTCString())
        return answer
      },
    })
    stack.defer(() => server.stop(true))
    return { name, url: `http://127.0.0.1:${server.port}` }
  })
  const secret = {
    user: addCanary('user', 'cnry-user-77c1d0'),
    password: addCanary('password', 'cnry-pass-41f9aa'),
    key: addCanary('key', 'cnry-key-90be23'),
  }
  const daemon = stack.use(
    await startTestDaemon({
      change: (config) => {
        config.plans['entry'] = { ...config.plans['entry']!, slots: 1000, cadence_s: 60 }
        config.source.push({
          name: 'boards',
          kind: 'feed',
          base_url: '',
          user_agent: '',
          requests_per_minute: 6000,
          feeds: sites.map(({ name, url }) => ({
            name,
            url: `${url}/feed?key=${secret.key}`,
            interval_s: 0,
            user: secret.user,
            password: secret.password,
          })),
          ends_at: '',
        })
      },
    }),
  )
  time.now = daemon.clock.now
  await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  function post(name: string, count = 1): void {
    const list = rows.get(name) ?? []
    for (let n = 0; n < count; n++)
      list.push({ n: list.length + 1, at: daemon.clock.now() - (count - n) * S })
    rows.set(name, list)
  }
  for (const { name } of sites) post(name, 5)
  const add = async (place: { subforum?: string[] }) => {
    const filter_spec = { source: 'boards', ...place, include_any: ['kettle'] }
    const { status, body } = await daemon.send('/forum/monitor/add', { filter_spec })
    expect({ status, body }).toMatchObject({ status: 200 })
    return body
  }
  const [bikes, tools, both] = [
    await add({ subforum: ['bikes'] }),
    await add({ subforum: ['tools'] }),
    await add({}),
  ]
  await daemon.clock.advance(3 * MINUTE)
  const owned = stack.move()
  return {
    daemon,
    asked,
    post,
    monitors: [bikes, tools, both],
    fail: (name: string, answer: () => Response) => void faults.set(name, answer),
    async wait(minutes: number) {
      for (let n = 0; n < minutes; n++) await daemon.clock.advance(MINUTE)
    },
    async coverages(): Promise<{ status: string; reason: string | null; gaps: unknown[] }[]> {
      const health = [bikes, tools, both].map(({ id }) =>
        daemon.call(`/forum/monitor/health?id=${id}`),
      )
      return (await Promise.all(health)).map(({ body }) => body.coverage_24h)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('each feed of a source has a state of its own', async () => {
  await using it = await startFeeds()
  expect(it.monitors.map(({ streams }) => streams.map(({ id }: { id: string }) => id))).toEqual([
    ['all:boards/bikes'],
    ['all:boards/tools'],
    ['all:boards/bikes', 'all:boards/tools'],
  ])
  it.post('bikes')
  it.post('tools')
  await it.wait(3)
  const titles = it.daemon.receiver.received.flatMap(({ text }) =>
    JSON.parse(text).items.map(({ title }: { title: string }) => title),
  )
  expect(titles).toEqual(Array.from({ length: 4 }, () => 'kettle 6'))
  expect((await it.coverages()).map(({ status }) => status)).toEqual(Array(3).fill('complete'))
})

test('a fault of one feed is none of the others', async () => {
  await using it = await startFeeds()
  it.fail('tools', () => new Response('', { status: 404 }))
  await it.wait(10)
  expect(await it.coverages()).toMatchObject([
    { status: 'complete', reason: null },
    { status: 'degraded', reason: 'source_unreachable' },
    { status: 'degraded', reason: 'source_unreachable' },
  ])
})

test('a window that rolled over is a gap of its feed alone', async () => {
  await using it = await startFeeds()
  it.post('tools', 12)
  it.post('bikes')
  await it.wait(3)
  expect((await it.coverages()).map(({ status, gaps }) => [status, gaps.length])).toEqual([
    ['complete', 0],
    ['degraded', 1],
    ['degraded', 1],
  ])
})

test('a feed that ended is asked no more, and the others go on', async () => {
  await using it = await startFeeds()
  it.fail('tools', () => new Response('', { status: 410 }))
  await it.wait(5)
  const before = it.asked.filter((name) => name === 'tools').length
  await it.wait(5)
  expect(it.asked.filter((name) => name === 'tools')).toHaveLength(before)
  expect((await it.coverages()).map(({ reason }) => reason)).toEqual([
    null,
    'places_not_read',
    'places_not_read',
  ])
})

test('secrets of a feed are in no log, answer, delivery or stored row', async () => {
  await using it = await startFeeds()
  const { daemon } = it
  it.post('bikes')
  await it.wait(3)
  it.fail('tools', () => new Response('', { status: 403 }))
  it.fail('bikes', () => new Response('', { status: 302, headers: { location: '/login' } }))
  await it.wait(5)
  const paths = ['/forum/sources', '/forum/posts?source=boards', '/forum/communities?source=boards']
  const ids = it.monitors.map(({ id }) => `/forum/monitor/health?id=${id}`)
  const answers = await Promise.all(
    [...paths, ...ids, '/forum/monitors'].map((path) => daemon.call(path)),
  )
  using db = connect(join(daemon.dir, 'forumd.sqlite'))
  const rows = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => db.query(`SELECT * FROM "${name}"`).all())
  const shown = { events: daemon.events, answers, received: daemon.receiver.received, rows }
  expect(daemon.receiver.received.length).toBeGreaterThan(0)
  expect(
    Object.entries(shown).map(([name, value]) => [name, foundIn(JSON.stringify(value))]),
  ).toEqual(Object.keys(shown).map((name) => [name, []]))
})

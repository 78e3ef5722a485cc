import { expect, test } from 'bun:test'

import { openEvents } from '../../src/api/matches/sse.ts'
import { createRing } from '../../src/core/base/secrets.ts'
import { revokeKey } from '../../src/store/customers/keys.ts'
import { blankBodies } from '../../src/store/delivery/messages.ts'
import { purge } from '../../src/store/maintenance/retention.ts'
import type { MatchBody } from '../../src/store/monitoring/matches.ts'
import { removeMonitorOf } from '../../src/store/monitoring/monitors.ts'
import { fakeClock } from '../support/clock.ts'
import { postOf } from '../support/items.ts'
import { startReaders } from './email-fixture.ts'

const numbered = (n: number) => postOf({ id: `p${n}`, name: `t3_p${n}`, title: `number ${n}` })
const titles = (body: { items: { title: string }[] }) => body.items.map(({ title }) => title)

type Readers = Awaited<ReturnType<typeof startReaders>>

/** A stream reader: the text received so far, and a wait for a number of events. */
async function follow(
  it: Readers,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
) {
  const leave = new AbortController()
  const response = await fetch(`${it.base}/forum/monitor${path}`, {
    headers: { authorization: 'Bearer fk_cus_1', ...headers },
    method,
    signal: leave.signal,
  })
  const reader = response.body?.getReader()
  let text = ''
  let done = false
  const decoder = new TextDecoder()
  async function more() {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) done = true
    else text += decoder.decode(chunk.value)
  }
  return {
    response,
    text: () => text,
    leave: () => leave.abort(),
    /** Reads until `sign` occurs, or to the end. */
    async until(sign: string) {
      while (!done && !text.includes(sign)) await more()
      return text
    },
    async end() {
      while (!done) await more()
    },
    events: () =>
      text
        .split('\n\n')
        .filter((block) => block.startsWith('id: '))
        .map((block) => {
          const [id = '', event = '', data = ''] = block.split('\n')
          return { id: id.slice(4), event: event.slice(7), data: JSON.parse(data.slice(6)) }
        }),
  }
}

test('matches are returned oldest first, and the next call continues after the last one', async () => {
  await using it = await startReaders()
  expect((await it.call('/items?id=mon_1')).body).toEqual({
    items: [],
    after: null,
    has_more: false,
  })
  for (let n = 1; n <= 5; n++) it.match(numbered(n))
  it.match(numbered(9), 'mon_2')

  const first = (await it.call('/items?id=mon_1&limit=3')).body
  expect([titles(first), first.after, first.has_more]).toEqual([
    ['number 1', 'number 2', 'number 3'],
    '3',
    true,
  ])
  expect(first.items[0]).toEqual(numbered(1))
  const rest = (await it.call(`/items?id=mon_1&after=${first.after}`)).body
  expect([titles(rest), rest.after, rest.has_more]).toEqual([['number 4', 'number 5'], '5', false])
  const none = (await it.call(`/items?id=mon_1&after=${rest.after}`)).body
  expect(none).toEqual({ items: [], after: '5', has_more: false })
  it.match(numbered(6))
  expect(titles((await it.call(`/items?id=mon_1&after=${none.after}`)).body)).toEqual(['number 6'])
})

test.each(['/items?id=', '/stream?id='])(
  "%s: an absent monitor and another customer's are the same 404",
  async (path) => {
    await using it = await startReaders()
    it.addMonitor('mon_3', 'cus_2')
    const foreign = await it.call(`${path}mon_3`)
    const absent = await it.call(`${path}mon_4`)
    expect(foreign.status).toBe(404)
    expect(absent.text).toBe(foreign.text)
  },
)

test.each([
  ['/items', 'id is required'],
  ['/items?id=mon_1&after=x', 'after must be what an earlier answer gave as after'],
  ['/items?id=mon_1&after=-1', 'after must be what an earlier answer gave as after'],
  ['/items?id=mon_1&limit=201', 'limit must be a whole number from 1 to 200'],
  ['/stream', 'id is required'],
])('%s: %s', async (path, error) => {
  await using it = await startReaders()
  const { status, body } = await it.call(path)
  expect([status, body.error]).toEqual([400, error])
})

test('matches past their retention are not listed, but their count stays', async () => {
  await using it = await startReaders()
  for (let n = 1; n <= 3; n++) it.match(numbered(n))
  blankBodies(it.db, { before_at: it.clock.now() + 1, now: it.clock.now() }, 100)
  expect((await it.call('/items?id=mon_1')).body.items).toEqual([])

  it.match(numbered(4))
  expect((await it.call('/items?id=mon_1&after=3')).body).toMatchObject({ after: '4' })
})

test('a stream begins with new matches, each event as delivered to a webhook', async () => {
  await using it = await startReaders()
  it.match(numbered(1))
  const stream = await follow(it, '/stream?id=mon_1')
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(stream.response.headers.get('x-request-id')).not.toBeNull()
  expect(await stream.until('retry')).toBe('retry: 3000\nid: 1\n\n')
  it.match(numbered(2))
  it.match(numbered(3))
  await it.clock.advance(1000)
  await stream.until('number 3')

  expect(stream.events()).toEqual([
    {
      id: '2',
      event: 'match',
      data: {
        delivery_id: expect.stringMatching(/^dlv_.{22}$/),
        monitor_id: 'mon_1',
        count: 1,
        grouped: false,
        items: [numbered(2)],
      },
    },
    { id: '3', event: 'match', data: expect.objectContaining({ items: [numbered(3)] }) },
  ])
  stream.leave()
})

test('a disconnected stream resumes after Last-Event-ID, without loss or repeat', async () => {
  await using it = await startReaders()
  for (let n = 1; n <= 120; n++) it.match(numbered(n))
  const stream = await follow(it, '/stream?id=mon_1', { 'last-event-id': '2' })
  await stream.until('number 120"')

  expect(stream.events().map(({ id }) => Number(id))).toEqual(
    Array.from({ length: 118 }, (_, n) => n + 3),
  )
  stream.leave()
})

test('a stream disconnected before its first event resumes at its start', async () => {
  await using it = await startReaders()
  it.match(numbered(1))
  const first = await follow(it, '/stream?id=mon_1')
  const sse_text = await first.until('retry')
  first.leave()
  it.match(numbered(2))
  // Reconnects like any reader of server-sent events: with the last id that it received.
  const last = /^id: (\d+)$/m.exec(sse_text)?.[1] ?? ''
  const again = await follow(it, '/stream?id=mon_1', last === '' ? {} : { 'last-event-id': last })
  await it.clock.advance(1000)
  await again.until('number 2')

  expect(again.events()).toMatchObject([{ id: '2', data: { items: [numbered(2)] } }])
  again.leave()
})

test('a foreign Last-Event-ID is refused', async () => {
  await using it = await startReaders()
  const { response } = await follow(it, '/stream?id=mon_1', { 'last-event-id': 'abc' })
  expect(response.status).toBe(400)
})

test('a quiet stream sends a comment every fifteen seconds', async () => {
  await using it = await startReaders()
  const stream = await follow(it, '/stream?id=mon_1')
  await stream.until('retry')
  await it.clock.advance(15_000)
  expect(await stream.until(': nothing new')).toBe('retry: 3000\nid: 0\n\n: nothing new\n\n')
  stream.leave()
})

test.each([
  ['the daemon stops', async (it: Readers) => it.endStreams()],
  [
    'its monitor is removed',
    async (it: Readers) => removeMonitorOf(it.db, 'cus_1', 'mon_1', it.clock.now()),
  ],
  ['its key is revoked', async (it: Readers) => revokeKey(it.db, 'key_cus_1', it.clock.now())],
  ['an hour has passed', (it: Readers) => it.clock.advance(3_600_000)],
])(
  'a stream ends when %s',
  async (_, happens) => {
    await using it = await startReaders()
    const stream = await follow(it, '/stream?id=mon_1')
    await stream.until('retry')
    const ended = stream.end()
    await happens(it)
    await it.clock.advance(1000)
    await ended
  },
  30_000,
)

test('a customer has at most ten streams, and a closed one frees its place', async () => {
  await using it = await startReaders()
  const streams = await Promise.all(
    Array.from({ length: 10 }, () => follow(it, '/stream?id=mon_1')),
  )
  await Promise.all(streams.map((one) => one.until('retry')))
  const eleventh = await it.call('/stream?id=mon_1')
  expect([eleventh.status, eleventh.body.code]).toEqual([429, 'rate_limited'])

  streams[0]?.leave()
  let again = await follow(it, '/stream?id=mon_1')
  // A disconnected reader is noticed a moment later.
  while (again.response.status === 429) {
    await Bun.sleep(1)
    again = await follow(it, '/stream?id=mon_1')
  }
  expect(again.response.status).toBe(200)
  for (const one of [...streams, again]) one.leave()
})

test('a HEAD request of a stream occupies no place', async () => {
  await using it = await startReaders()
  for (let n = 0; n < 11; n++) {
    const { response } = await follow(it, '/stream?id=mon_1', {}, 'HEAD')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
  }
  const { response, leave } = await follow(it, '/stream?id=mon_1')
  expect(response.status).toBe(200)
  leave()
})

test('a reader that disconnects before the first chunk frees its place', () => {
  const left = new AbortController()
  let closed = 0
  openEvents({
    clock: fakeClock(() => Bun.sleep(0)),
    ended: new AbortController().signal,
    left: left.signal,
    seq: 0,
    next: () => [],
    hold: () => ({ release: () => {} }),
    on_close: () => void (closed += 1),
  })
  left.abort()
  expect(closed).toBe(1)
})

test('a reader that does not read occupies no memory', async () => {
  const clock = fakeClock(() => Bun.sleep(0))
  let requests = 0
  const rows = (seq: number, limit: number): MatchBody[] => {
    requests += 1
    return Array.from({ length: limit }, (_, n) => ({
      seq: seq + n + 1,
      body: new TextEncoder().encode('{}'),
      matched_at: 0,
    }))
  }
  let closed = 0
  const events = openEvents({
    clock,
    ended: new AbortController().signal,
    left: new AbortController().signal,
    seq: 0,
    next: rows,
    hold: () => ({ release: () => {} }),
    on_close: () => void (closed += 1),
  })
  await clock.advance(60_000)
  expect(requests).toBeLessThanOrEqual(1)

  const reader = events.getReader()
  for (let n = 0; n < 3; n++) await reader.read()
  await clock.advance(60_000)
  expect(requests).toBeLessThanOrEqual(4)
  await reader.cancel()
  expect(closed).toBe(1)
})

test("a monitor's feed is readable by its address, until that is rotated", async () => {
  await using it = await startReaders()
  it.match(numbered(1))
  it.match(
    postOf({
      id: 'p2',
      name: 't3_p2',
      title: '<b>&"\u0000\ud800 ]]> 😀',
      text: 'It **pours** & <sings>',
      author: 'a&b',
    }),
  )
  const link = it.links.feed('mon_1', 1)
  const answer = await fetch(link)
  const text = await answer.text()

  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8')
  expect(text).toStartWith('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns=')
  expect(text).toContain('<title>kettles</title>')
  expect(text).toContain(`<link rel="self" type="application/atom+xml" href="${link}"/>`)
  expect(text.match(/<entry>/g)).toHaveLength(2)
  expect(text.indexOf('number 1')).toBeGreaterThan(text.indexOf('😀'))
  expect(text).toContain('<title>&lt;b&gt;&amp;&quot;\ufffd ]]&gt; 😀</title>')
  expect(text).toContain(
    '<content type="html">&lt;p&gt;It pours &amp;amp; &amp;lt;sings&amp;gt;&lt;/p&gt;</content>',
  )
  expect(text).toContain('<author><name>a&amp;b</name></author>')
  expect(text).toContain('<published>2026-01-01T00:00:00.000Z</published>')

  const rotated = await it.call('/feed/rotate', { id: 'mon_1' })
  expect(rotated.body).toEqual({ id: 'mon_1', feed_url: it.links.feed('mon_1', 2) })
  expect((await fetch(link)).status).toBe(404)
  expect((await fetch(rotated.body.feed_url)).status).toBe(200)
  expect((await it.call('/feed/rotate', { monitor_id: 'mon_1' })).body.feed_url).toBe(
    it.links.feed('mon_1', 3),
  )
})

test('a bundle is split into items in the pull API and the feed', async () => {
  await using it = await startReaders()
  it.match([numbered(1), numbered(2)])

  expect(titles((await it.call('/items?id=mon_1')).body)).toEqual(['number 1', 'number 2'])
  const text = await (await fetch(it.links.feed('mon_1', 1))).text()
  const ids = [...text.matchAll(/<entry>\n<id>(.*)<\/id>/g)].map(([, id]) => id)
  expect(ids).toEqual([
    expect.stringMatching(/^urn:forumd:dlv_.{22}:1$/),
    expect.stringMatching(/^urn:forumd:dlv_.{22}:2$/),
  ])
})

test('an unchanged feed is not sent again', async () => {
  await using it = await startReaders()
  it.match(numbered(1))
  const link = it.links.feed('mon_1', 1)
  const etag = (await fetch(link)).headers.get('etag') ?? ''
  const again = () => fetch(link, { headers: { 'if-none-match': etag } })
  expect((await again()).status).toBe(304)
  it.match(numbered(2))
  expect((await again()).status).toBe(200)
})

test('a feed with erased content is sent again instead of 304', async () => {
  await using it = await startReaders()
  it.match(numbered(1))
  const link = it.links.feed('mon_1', 1)
  const etag = (await fetch(link)).headers.get('etag') ?? ''
  const ring = createRing(new Uint8Array(32), (count) => new Uint8Array(count))
  const purged = { by: 'item', source: null, id: 'p1', kind: 'post' } as const
  purge(it.db, {
    purged,
    words: { community: 'subforum', home: 'forum' },
    ring,
    now: it.clock.now(),
  })

  const again = await fetch(link, { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text()]).toEqual([200, expect.stringContaining('[purged]')])
})

test('no other token opens a feed, and only its owner can rotate its address', async () => {
  await using it = await startReaders()
  const link = it.links.feed('mon_1', 1)
  const at = (token: string) => `${it.base}/forum/monitor/feed/${token}`
  const tampered = [
    at('x'),
    at('mon_1~1'),
    at('mon_1~1~'),
    link.replace('mon_1', 'mon_2'),
    `${link}x`,
    link.slice(0, -1),
    at(it.links.confirm('mon_1').split('/').at(-1) ?? ''),
    it.links.feed('mon_9', 1),
  ]
  for (const address of tampered) expect((await fetch(address)).status).toBe(404)
  const foreign = await it.call('/feed/rotate', { id: 'mon_1' }, 'cus_2')
  const absent = await it.call('/feed/rotate', { id: 'mon_9' }, 'cus_2')
  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  expect((await fetch(link)).status).toBe(200)
})

test.each([
  [{}, 'id is required'],
  [{ id: 'a', monitor_id: 'b' }, 'monitor_id must equal id, or be left out'],
  [{ id: 1 }, 'id must be text'],
  [{ name: 'x' }, 'name is not a known field; allowed: id, monitor_id'],
])('feed/rotate with %j: %s', async (body, error) => {
  await using it = await startReaders()
  expect(await it.call('/feed/rotate', body)).toMatchObject({ status: 400, body: { error } })
})

test('a feed answers under the other prefix too', async () => {
  await using it = await startReaders()
  const link = it.links.feed('mon_1', 1).replace('/forum/', '/api/forum/')
  expect((await fetch(link)).status).toBe(200)
})

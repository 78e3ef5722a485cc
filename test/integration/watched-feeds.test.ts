import { expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE_MS = 60_000

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** A webhook, and a monitor after its first poll. */
async function watching(daemon: TestDaemon, filter_spec: object) {
  await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  const { status, body } = await daemon.send('/forum/monitor/add', { filter_spec })
  expect(status).toBe(200)
  await daemon.clock.advance(2 * MINUTE_MS)
  return body
}

const bodies = ({ receiver }: TestDaemon): string[] =>
  receiver.received.flatMap(({ text }) => JSON.parse(text).items.map((it: any) => it.body))

test('a thread feed matches new comments of any depth once, and old ones never', async () => {
  await using daemon = await startTestDaemon()
  const post = daemon.sandbox.post({ subforum: 'cats', title: 'the thread' })
  const other = daemon.sandbox.post({ subforum: 'cats', title: 'another' })
  const first = daemon.sandbox.comment({ parent: post.name, text: 'an old laser' })
  await daemon.clock.advance(MINUTE_MS)
  const monitor = await watching(daemon, { thread: post.id, include_any: ['laser'] })

  daemon.sandbox.comment({ parent: first.name, text: 'a new laser, deep' })
  daemon.sandbox.comment({ parent: post.name, text: 'a new mouse' })
  daemon.sandbox.comment({ parent: other.name, text: 'a laser elsewhere' })
  await daemon.clock.advance(3 * MINUTE_MS)

  expect(monitor.streams).toMatchObject([{ id: `thread:${post.id}`, kind: 'thread' }])
  expect(bodies(daemon)).toEqual(['a new laser, deep'])
  const health = (await daemon.call(`/forum/monitor/health?id=${monitor.id}`)).body
  expect(health.coverage_24h.status).toBe('complete')
})

test("an author's comments everywhere are watched without a place, and use no site-wide slot", async () => {
  await using daemon = await startTestDaemon()
  const cats = daemon.sandbox.post({ subforum: 'cats', title: 'of cats' })
  const dogs = daemon.sandbox.post({ subforum: 'dogs', title: 'of dogs' })
  daemon.sandbox.comment({ parent: cats.name, author: 'mia', text: 'before' })
  await daemon.clock.advance(MINUTE_MS)
  const monitor = await watching(daemon, { author: 'Mia', kind: 'comment' })

  daemon.sandbox.comment({ parent: cats.name, author: 'mia', text: 'meow' })
  daemon.sandbox.comment({ parent: dogs.name, author: 'mia', text: 'woof' })
  daemon.sandbox.comment({ parent: dogs.name, author: 'tom', text: 'not hers' })
  await daemon.clock.advance(3 * MINUTE_MS)

  expect(monitor.streams).toMatchObject([{ id: 'user_comments:mia', kind: 'user_comments' }])
  expect(bodies(daemon).toSorted()).toEqual(['meow', 'woof'])
  const { slots } = (await daemon.call('/forum/monitor/list')).body
  expect([slots.used, slots.sitewide_used]).toEqual([1, 0])
})

test('threads and authors can be previewed as they can be watched', async () => {
  await using daemon = await startTestDaemon()
  const post = daemon.sandbox.post({ subforum: 'cats', title: 'the thread' })
  daemon.sandbox.comment({ parent: post.name, author: 'mia', text: 'a laser' })
  const thread = await daemon.send('/forum/monitor/preview', { filter_spec: { thread: post.id } })
  const author = await daemon.send('/forum/monitor/preview', {
    filter_spec: { author: 'mia', kind: 'both' },
  })

  expect(thread.body.feeds).toMatchObject([{ kind: 'thread', place: post.id, matched: 1 }])
  expect(author.body.feeds).toMatchObject([
    { kind: 'user_comments', place: 'mia', matched: 1 },
    { kind: 'search', query: 'author:mia', matched: 0 },
  ])
})

import { expect, test } from 'bun:test'

import { startHouse } from '../support/house.ts'

const MINUTE_MS = 60_000

type House = Awaited<ReturnType<typeof startHouse>>

/** A webhook, and a monitor that has had its first look. */
async function watching(house: House, filter_spec: object) {
  await house.send('/forum/monitor/webhook/create', { url: house.receiver.url })
  const { status, body } = await house.send('/forum/monitor/add', { filter_spec })
  expect(status).toBe(200)
  await house.clock.advance(2 * MINUTE_MS)
  return body
}

const bodies = ({ receiver }: House): string[] =>
  receiver.received.flatMap(({ text }) => JSON.parse(text).items.map((it: any) => it.body))

test('a thread is watched by itself: new comments at any depth are told once, old ones never', async () => {
  await using house = await startHouse()
  const post = house.sandbox.post({ subforum: 'cats', title: 'the thread' })
  const other = house.sandbox.post({ subforum: 'cats', title: 'another' })
  const first = house.sandbox.comment({ parent: post.name, text: 'an old laser' })
  await house.clock.advance(MINUTE_MS)
  const monitor = await watching(house, { thread: post.id, include_any: ['laser'] })

  house.sandbox.comment({ parent: first.name, text: 'a new laser, deep' })
  house.sandbox.comment({ parent: post.name, text: 'a new mouse' })
  house.sandbox.comment({ parent: other.name, text: 'a laser elsewhere' })
  await house.clock.advance(3 * MINUTE_MS)

  expect(monitor.streams).toMatchObject([{ id: `thread:${post.id}`, kind: 'thread' }])
  expect(bodies(house)).toEqual(['a new laser, deep'])
  const health = (await house.call(`/forum/monitor/health?id=${monitor.id}`)).body
  expect(health.coverage_24h.status).toBe('complete')
})

test('what an author comments anywhere is watched without a place, and takes no slot of the whole platform', async () => {
  await using house = await startHouse()
  const cats = house.sandbox.post({ subforum: 'cats', title: 'of cats' })
  const dogs = house.sandbox.post({ subforum: 'dogs', title: 'of dogs' })
  house.sandbox.comment({ parent: cats.name, author: 'mia', text: 'before' })
  await house.clock.advance(MINUTE_MS)
  const monitor = await watching(house, { author: 'Mia', kind: 'comment' })

  house.sandbox.comment({ parent: cats.name, author: 'mia', text: 'meow' })
  house.sandbox.comment({ parent: dogs.name, author: 'mia', text: 'woof' })
  house.sandbox.comment({ parent: dogs.name, author: 'tom', text: 'not hers' })
  await house.clock.advance(3 * MINUTE_MS)

  expect(monitor.streams).toMatchObject([{ id: 'user_comments:mia', kind: 'user_comments' }])
  expect(bodies(house).toSorted()).toEqual(['meow', 'woof'])
  const { slots } = (await house.call('/forum/monitor/list')).body
  expect([slots.used, slots.sitewide_used]).toEqual([1, 0])
})

test('a thread and an author can be tried out as they can be watched', async () => {
  await using house = await startHouse()
  const post = house.sandbox.post({ subforum: 'cats', title: 'the thread' })
  house.sandbox.comment({ parent: post.name, author: 'mia', text: 'a laser' })
  const thread = await house.send('/forum/monitor/preview', { filter_spec: { thread: post.id } })
  const author = await house.send('/forum/monitor/preview', {
    filter_spec: { author: 'mia', kind: 'both' },
  })

  expect(thread.body.feeds).toMatchObject([{ kind: 'thread', place: post.id, matched: 1 }])
  expect(author.body.feeds).toMatchObject([
    { kind: 'user_comments', place: 'mia', matched: 1 },
    { kind: 'search', query: 'author:mia', matched: 0 },
  ])
})

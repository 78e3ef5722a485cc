import { expect, test } from 'bun:test'

import { type Item, MORE_PLACES } from '../../../../src/core/forum/items.ts'
import { MINUTE, range, SECOND, startForum } from './fixture.ts'

const PLACE = 'tag:urgent'

/** A forum whose topics have tags. `listed`: topics on its list, the one that was active last first. */
function startTagged() {
  const it = startForum()
  const tags = new Map<number, unknown[]>()
  const script = { listed: [] as number[], page: 30, down: false, refused: new Set<number>() }
  const rowOf = (id: number) => ({ id, tags: tags.get(id) ?? [] })
  it.forum.override = ({ path, query }) => {
    const topic = /^\/t\/(\d+)\.json$/.exec(path)
    if (path !== '/latest.json' && topic === null) return null
    if (script.down) return new Response('', { status: 500 })
    if (topic !== null) {
      const id = Number(topic[1])
      return script.refused.has(id)
        ? Response.json({ error_type: 'not_found' }, { status: 404 })
        : Response.json(rowOf(id))
    }
    const from = Number(query.get('page')) * script.page
    const topics = script.listed.slice(from, from + script.page).map(rowOf)
    const more = from + script.page < script.listed.length
    return Response.json({ topic_list: { topics, ...(more && { more_topics_url: '/more' }) } })
  }
  for (const id of range(1, 80)) it.put(id)
  /** Requests of the last step beside the list of posts. */
  const asked = () =>
    it.forum.paths
      .splice(0)
      .filter((path) => !path.startsWith('/posts.json') && path !== '/site.json')
  const step = async (state: string | null, requests = 50, places = [PLACE]) => {
    const { state: next, items, ...rest } = await it.step(state, requests, places)
    return { ...rest, next, items, places: placesIn(items) }
  }
  return { it, tags, script, asked, step }
}

const placesIn = (items: Item[]) =>
  Object.fromEntries(items.map((it) => [it.name, it[MORE_PLACES]]))

test('items of topics with tags have them as places, for one request', async () => {
  const { it, tags, script, asked, step } = startTagged()
  await using _ = it
  const { next } = await step(null)
  asked()
  tags.set(5, ['urgent']).set(6, [{ id: 1, name: 'Urgent', slug: 'urgent' }])
  script.listed = [5, 6, 1]
  it.put(81, { topic_id: 5, post_number: 1 })
  it.put(82, { topic_id: 6 })
  it.put(83)
  const found = await step(next)
  expect(found.places).toEqual({
    t3_5: [PLACE],
    t1_82: ['tag:Urgent', PLACE],
    t1_83: [],
  })
  expect(asked()).toEqual(['/latest.json?order=activity&page=0'])
  it.put(84, { topic_id: 5 })
  const known = await step(found.next)
  expect(known.places).toEqual({ t1_84: [PLACE] })
  expect(asked()).toEqual([])
})

test('tags of a topic that was active again are read again after a minute', async () => {
  const { it, tags, script, step } = startTagged()
  await using _ = it
  script.listed = [1]
  const { next } = await step(null)
  it.put(81)
  const before = await step(next)
  expect(before.places).toEqual({ t1_81: [] })
  tags.set(1, ['urgent'])
  it.forum.now += MINUTE
  it.put(82)
  expect((await step(before.next)).places).toEqual({ t1_82: [PLACE] })
})

test('a topic that the list does not show is read by itself', async () => {
  const { it, tags, script, asked, step } = startTagged()
  await using _ = it
  const { next } = await step(null)
  asked()
  tags.set(7, ['urgent'])
  script.listed = [1]
  it.put(81, { topic_id: 7 })
  expect((await step(next)).places).toEqual({ t1_81: [PLACE] })
  expect(asked()).toEqual(['/latest.json?order=activity&page=0', '/t/7.json'])
})

test('the list is paged while it shows the topics that are looked for', async () => {
  const { it, script, asked, step } = startTagged()
  await using _ = it
  const { next } = await step(null)
  asked()
  script.page = 10
  script.listed = range(100, 134)
  for (const id of range(100, 134)) it.put(id, { topic_id: id, post_number: 1 })
  const { places } = await step(next)
  expect(Object.keys(places)).toHaveLength(35)
  expect(asked().slice(0, 4)).toEqual(
    range(0, 3).map((page) => `/latest.json?order=activity&page=${page}`),
  )
})

test('without a monitor of a tag, nothing is requested for tags', async () => {
  const { it, asked, step } = startTagged()
  await using _ = it
  const { next } = await step(null, 50, ['support'])
  asked()
  it.put(81, { topic_id: 7 })
  expect((await step(next, 50, ['support'])).places).toEqual({ t1_81: undefined })
  expect(asked()).toEqual([])
  expect(it.source.partialFor?.(PLACE)).toBeNull()
})

test('items whose tags could not be read come again with them, over a restart', async () => {
  const { it, tags, script, step } = startTagged()
  await using _ = it
  const { next } = await step(null)
  tags.set(7, ['urgent'])
  script.down = true
  it.put(81, { topic_id: 7 })
  const without = await step(next)
  expect(without.places).toEqual({ t1_81: null })
  expect(it.source.partialFor?.(PLACE)).toBe('places_not_read')
  expect(it.source.partialFor?.('help')).toBeNull()

  for (const id of range(82, 200)) it.put(id)
  const later = await step(without.next)
  script.down = false
  const restarted = startTagged()
  await using __ = restarted.it
  restarted.tags.set(7, ['urgent'])
  for (const [id, row] of it.forum.posts) restarted.it.put(id, row)
  expect(restarted.it.source.partialFor?.(PLACE)).toBe('places_not_read')
  const again = await restarted.step(later.next)
  expect(again.places['t1_81']).toEqual([PLACE])
  // The next step shows that this one was recorded, with the post.
  expect(restarted.it.source.partialFor?.(PLACE)).toBe('places_not_read')
  await restarted.step(again.next)
  expect(restarted.it.source.partialFor?.(PLACE)).toBeNull()
})

test('a step without requests for tags leaves its items waiting, and a later one gives them', async () => {
  const { it, tags, step } = startTagged()
  await using _ = it
  const { next } = await step(null)
  tags.set(7, ['urgent'])
  it.put(81, { topic_id: 7 })
  const short = await step(next, 1)
  expect(short.places).toEqual({ t1_81: null })
  expect((await step(short.next)).places).toEqual({ t1_81: [PLACE] })
})

test('a topic that may not be read is requested once a minute, and no longer than ten', async () => {
  const { it, script, asked, step } = startTagged()
  await using _ = it
  let { next } = await step(null)
  script.listed = [1]
  script.refused.add(7)
  it.put(81, { topic_id: 7 })
  for (let n = 0; n < 3; n++) ({ next } = await step(next))
  expect(asked().filter((path) => path === '/t/7.json')).toHaveLength(1)
  for (let n = 0; n < 12; n++) {
    it.forum.now += MINUTE
    ;({ next } = await step(next))
  }
  const { length } = asked().filter((path) => path === '/t/7.json')
  expect(length).toBeGreaterThan(5)
  expect(length).toBeLessThan(11)
  expect(it.source.partialFor?.(PLACE)).toBeNull()
})

test('the first monitor of a tag has the newest posts again, with their tags', async () => {
  const { it, tags, script, step } = startTagged()
  await using _ = it
  script.listed = [1, 7]
  tags.set(7, ['urgent'])
  const { next } = await step(null, 50, [])
  it.put(81, { topic_id: 7 })
  const before = await step(next, 50, [])
  it.forum.now += SECOND
  const first = await step(before.next)
  expect(first.places['t1_81']).toEqual([PLACE])
  expect((await step(first.next)).items).toEqual([])
})

test('a range that is read again has its tags, and those that changed', async () => {
  const { it, tags, script } = startTagged()
  await using _ = it
  script.listed = [1]
  const bounds = { requests: 50, places: [PLACE], deadline_at: it.forum.now + MINUTE }
  const reread = async () => {
    const read = await it.watch.reread({ from_id: 60, to_id: 61 }, bounds)
    return read.ok ? placesIn(read.value.items) : read.fault
  }
  const all = range(30, 61).map((id) => `t1_${id}`)
  expect(await reread()).toMatchObject(Object.fromEntries(all.slice(-1).map((id) => [id, []])))
  tags.set(1, ['urgent'])
  it.forum.now += 2 * MINUTE
  bounds.deadline_at += 2 * MINUTE
  expect(await reread()).toMatchObject({ t1_61: [PLACE] })
})

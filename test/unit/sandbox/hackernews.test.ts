// Goal: the simulated Hacker News shows the behaviour that a reader depends on: dense ids, `maxitem` ahead of the items, null
// items, deleted and dead ones, delays, and a search index that lags and is bounded.
import { expect, test } from 'bun:test'

import { HACKERNEWS } from '../../../sandbox/hackernews/kind.ts'
import { ask, control, openSource } from './source-fixture.ts'

const open = () => openSource(HACKERNEWS)
const item = async (site: { url: string }, id: number) =>
  (await ask(site, `/v0/item/${id}.json`)).json
const max = async (site: { url: string }) => (await ask(site, '/v0/maxitem.json')).json as number

test('every id of a seeded site answers, but for a few that are null', async () => {
  await using site = await openSource(HACKERNEWS, { world: 'seeded' })
  const last = await max(site)
  const ids = Array.from({ length: 1_000 }, (_, at) => last - at)
  const items = await Promise.all(ids.map((id) => item(site, id)))
  const nulls = items.filter((each) => each === null).length

  expect(nulls).toBeGreaterThan(0)
  expect(nulls).toBeLessThan(20)
  expect(items.filter((each) => each?.deleted === true).length).toBeGreaterThan(0)
  expect(items.filter((each) => each?.dead === true).length).toBeGreaterThan(0)
})

test('maxitem is ahead of an item that is not answered yet', async () => {
  await using site = await open()
  const { id } = control(site, 'post', { title: 'Soon', visible_in_s: 30 })

  expect([await max(site), await item(site, id)]).toEqual([id, null])
  expect((await ask(site, '/v0/newstories.json')).json).toEqual([id])
  site.advance(31)
  expect((await item(site, id)).title).toBe('Soon')
})

test('skipped ids are never answered, and the next item follows them', async () => {
  await using site = await open()
  const first = control(site, 'post', { title: 'First' }).id
  control(site, 'skip', { count: 5 })
  const next = control(site, 'post', { title: 'Next' }).id

  expect([next - first, await item(site, first + 3)]).toEqual([6, null])
})

test('a delayed text is withheld, then sent', async () => {
  await using site = await open()
  const story = control(site, 'post', { title: 'A story' }).id
  const { id } = control(site, 'comment', { parent: story, text: "It's here", delayed_s: 120 })

  expect((await item(site, id)).text).toBe('[delayed]')
  site.advance(121)
  expect((await item(site, id)).text).toBe('It&#x27;s here')
})

test('a deleted item keeps its id and place, a dead one its text; both can return', async () => {
  await using site = await open()
  const story = control(site, 'post', { title: 'A story', url: 'https://www.example.com/a' }).id
  const { id } = control(site, 'comment', { parent: story, text: 'Gone soon' })
  control(site, 'remove', { id, by: 'author' })
  const time = Date.UTC(2026, 10, 20, 12) / 1000
  expect(await item(site, id)).toEqual({ deleted: true, id, parent: story, time, type: 'comment' })
  control(site, 'restore', { id })
  control(site, 'remove', { id, by: 'moderator' })
  expect(await item(site, id)).toMatchObject({ dead: true, text: 'Gone soon' })
  control(site, 'restore', { id })

  expect((await item(site, id)).dead).toBeUndefined()
  expect((await item(site, story)).descendants).toBe(1)
})

test('a poll has parts, its options name it, and a comment moves with its id', async () => {
  await using site = await open()
  const poll = control(site, 'post', {
    type: 'poll',
    title: 'Poll: tabs?',
    options: ['yes', 'no'],
  }).id
  const story = control(site, 'post', { title: 'Elsewhere' }).id
  const comment = control(site, 'comment', { parent: poll, text: 'Neither' }).id
  const { parts } = await item(site, poll)
  control(site, 'move', { id: comment, parent: story })

  expect(await item(site, parts[0])).toMatchObject({ type: 'pollopt', poll, text: 'yes' })
  expect((await item(site, comment)).parent).toBe(story)
  expect((await item(site, poll)).kids).toBeUndefined()
})

test('updates name what changed in the last minute', async () => {
  await using site = await open()
  const { id } = control(site, 'post', { title: 'A story', author: 'ada' })
  site.advance(120)
  const before = (await ask(site, '/v0/updates.json')).json
  control(site, 'edit', { id, title: 'A better title' })

  expect(before).toEqual({ items: [], profiles: [] })
  expect((await ask(site, '/v0/updates.json')).json.items).toEqual([id])
})

test('an unknown path, item or user is null with 200, and names are case-sensitive', async () => {
  await using site = await open()
  control(site, 'post', { title: 'A story', author: 'Ada' })
  const answers = ['/v0/item/1.json', '/v0/user/ada.json', '/v0/nothing.json'].map((path) =>
    ask(site, path),
  )

  for (const { status, text } of await Promise.all(answers))
    expect([status, text]).toEqual([200, 'null'])
  expect((await ask(site, '/v0/user/Ada.json?print=pretty')).text).toContain('\n  "id": "Ada"')
  expect((await ask(site, '/v0/item/1.json', { method: 'PUT', body: {} })).status).toBe(401)
})

test('the index lags, and leaves out dead items', async () => {
  await using site = await open()
  const { id } = control(site, 'post', { title: 'A quiet grinder', author: 'ada' })
  const hits = async (query: string) =>
    (await ask(site, `/api/v1/search_by_date?${query}`)).json.hits.map(
      ({ objectID }: { objectID: string }) => objectID,
    )

  expect(await hits('query=grinder')).toEqual([])
  site.advance(21)
  expect(await hits('query=grinder')).toEqual([String(id)])
  expect(await hits('query=grinder&tags=story,author_ada')).toEqual([String(id)])
  expect(await hits('query=grinder&tags=(comment,poll)')).toEqual([])
  expect(await hits('query=%22quiet%20grinder%22%20-loud')).toEqual([String(id)])
  expect(await hits(`numericFilters=created_at_i>${Date.UTC(2026, 10, 20, 12) / 1000}`)).toEqual([])
  control(site, 'remove', { id, by: 'moderator' })
  expect(await hits('query=grinder')).toEqual([])
})

test('a query has at most 1,000 hits; beyond is an empty page with a message', async () => {
  await using site = await openSource(HACKERNEWS, { world: 'seeded' })
  const last = (await ask(site, '/api/v1/search_by_date?hitsPerPage=100&page=9')).json
  const beyond = (await ask(site, '/api/v1/search_by_date?hitsPerPage=100&page=10')).json

  expect([last.hits.length, last.nbPages]).toEqual([100, 10])
  expect([beyond.hits, beyond.nbHits]).toEqual([[], 0])
  expect(beyond.message).toContain('you can only fetch the 1000 hits')
})

test('a tree of a story holds its comments in order', async () => {
  await using site = await open()
  const story = control(site, 'post', { title: 'A story' }).id
  const first = control(site, 'comment', { parent: story, text: 'One' }).id
  const inner = control(site, 'comment', { parent: first, text: 'Inner' }).id
  site.advance(60)
  const { json } = await ask(site, `/api/v1/items/${story}`)

  expect(json.children[0]).toMatchObject({ id: first, parent_id: story, story_id: story })
  expect(json.children[0].children[0].id).toBe(inner)
  expect((await ask(site, '/api/v1/items/1')).status).toBe(404)
})

test('faults: a null item, a withheld text, a bounded search, a limit of either host', async () => {
  await using site = await open()
  const { id } = control(site, 'post', { title: 'A story', text: 'Its text' })
  site.addFault({ path: '/v0/item/', fault: 'null_item', times: 1 })
  expect(await item(site, id)).toBeNull()
  site.addFault({ path: '/v0/item/', fault: 'delayed', times: 1 })
  expect((await item(site, id)).text).toBe('[delayed]')
  site.addFault({ path: '/api/', fault: 'search_limit', times: 1 })
  expect((await ask(site, '/api/v1/search')).json.message).toBeString()
  site.addFault({ path: '/', fault: 'rate_limit' })
  expect((await ask(site, '/api/v1/search')).status).toBe(429)
  expect((await ask(site, '/v0/maxitem.json')).status).toBe(429)
})

test('the site grows with time, densely', async () => {
  await using site = await openSource(HACKERNEWS, { world: 'seeded', speed: 5 })
  const before = await max(site)
  site.advance(300)
  const after = await max(site)

  expect(after).toBeGreaterThan(before + 50)
  expect(site.world.items.size).toBeGreaterThan(after - before)
  for (let id = before + 1; id <= after; id++) expect(site.world.items.has(id)).toBe(true)
})

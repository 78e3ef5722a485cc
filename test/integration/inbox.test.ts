// Goal: the inbox shows each match once, filters, counts and changes it as documented. Method: matches are stored by the
// code of a poll, and read through the HTTP interface.
import { expect, test } from 'bun:test'

import { eraseItems } from '../../src/store/erasure/erase.ts'
import { NOON, startInbox } from '../support/inbox-fixture.ts'
import { commentOf, postOf } from '../support/items.ts'

const kitten = (n: number, fields: object = {}) =>
  postOf({ id: `k${n}`, name: `t3_k${n}`, title: `A kitten, number ${n}`, ...fields })

test('an item is listed with its text, its terms and its state', async () => {
  await using it = startInbox()
  it.match(
    kitten(1, { text: 'Long whiskers. '.repeat(40), author: 'Jane', upvotes: 12, comments: 3 }),
  )

  const { body } = await it.call('')

  expect(body.next_cursor).toBeNull()
  const [{ excerpt, ...item }] = body.items
  expect(item).toEqual({
    id: 't3_k1',
    source: 'forum',
    kind: 'post',
    title: 'A kitten, number 1',
    highlights: [
      { in: 'title', start: 2, end: 8 },
      ...Array.from({ length: 19 }, (_, at) => ({
        in: 'excerpt',
        start: 5 + at * 15,
        end: 13 + at * 15,
      })),
    ],
    matched_terms: ['kitten', 'whiskers'],
    url: 'https://www.forum.example/r/cats/comments/p1/a_title/',
    place: 'cats',
    author: 'Jane',
    score: 12,
    comments: 3,
    created: '2026-01-01T00:00:00.000Z',
    sentiment: 'neutral',
    intent: 'discussion',
    relevance: 1,
    erased: false,
    matched_at: '2026-05-01T12:00:00.000Z',
    monitors: [
      {
        id: 'mon_cats',
        name: 'mon_cats',
        removed: false,
        matched_at: '2026-05-01T12:00:00.000Z',
        matched_terms: ['kitten', 'whiskers'],
        judgement: null,
      },
    ],
    state: 'unread',
    starred: false,
    label: null,
    changed: null,
  })
  expect(excerpt).toStartWith('Long whiskers. Long')
  expect(excerpt.length).toBeLessThanOrEqual(300)
})

test('one item has its whole text, and none once it is erased', async () => {
  await using it = startInbox()
  const text = `Long whiskers.\n\n> quoted\n\n${'More of them. '.repeat(4000)}`
  it.match(kitten(1, { text }))
  it.match(kitten(2, { text: 'Short.' }))

  const long = (await it.call('/item?id=t3_k1')).body
  const [row] = (await it.call('?ids=t3_k1')).body.items
  expect(long).toEqual({ ...row, text: `${text.slice(0, 39_999)}…` })
  expect((await it.call('/item?id=t3_k2')).body.text).toBe('Short.')

  const deps = {
    db: it.db,
    instance_id: 'ins_1',
    words: { community: 'subforum', home: 'forum' },
    clock_offset_ms: () => 0,
  }
  eraseItems(deps, [{ item_id: 't3_k2', reason: 'author' }], NOON)
  expect((await it.call('/item?id=t3_k2')).body).toMatchObject({ text: null, erased: true })
  const unknown = await it.call('/item?id=t3_none')
  expect([unknown.status, unknown.body.message]).toEqual([
    404,
    'there is no such item in the inbox',
  ])
  expect((await it.call('/item')).body).toMatchObject({ field: 'id', error: 'id is required' })
})

test('ids alone are in the order of the list, page by page, by the same filters', async () => {
  await using it = startInbox()
  for (let n = 1; n <= 7; n++) it.match(kitten(n, { author: n % 2 === 0 ? 'Jane' : 'Kim' }))
  await it.set(['t3_k6'], { state: 'dismissed' })

  const pages: string[][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body }: { body: { ids: string[]; next_cursor: string | null } } = await it.call(
      `/ids?limit=3${cursor && `&cursor=${cursor}`}`,
    )
    pages.push(body.ids)
    cursor = body.next_cursor
  }

  expect(pages.flat()).toEqual(await it.ids(''))
  expect(pages.map((page) => page.length)).toEqual([3, 3, 1])
  expect((await it.call('/ids?author=jane&state=unread')).body).toEqual({
    ids: ['t3_k4', 't3_k2'],
    next_cursor: null,
  })
})

test('an item that several monitors matched is listed once, where it was first matched', async () => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(2))
  it.match(kitten(1), 'mon_all')

  const { body } = await it.call('')

  expect(
    body.items.map(({ id, monitors }: any) => [id, monitors.map((one: any) => one.id)]),
  ).toEqual([
    ['t3_k2', ['mon_cats']],
    ['t3_k1', ['mon_cats', 'mon_all']],
  ])
  expect(await it.ids('?monitor=mon_all')).toEqual(['t3_k1'])
})

test('a customer sees and changes only their own items', async () => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(1), 'mon_bob')

  await it.set(['t3_k1'], { state: 'dismissed' }, 'bob1')

  expect((await it.call('')).body.items[0].state).toBe('unread')
  expect((await it.call('', undefined, 'bob1')).body.items[0].state).toBe('dismissed')
  expect(await it.ids('?monitor=mon_bob')).toEqual([])
  expect((await it.call('/history')).body.actions).toEqual([])
})

test.each([
  ['?monitor=mon_all', ['t1_c1', 't3_d1']],
  ['?state=unread', ['t1_c1', 't3_k2']],
  ['?state=read,answered', ['t3_d1', 't3_k1']],
  ['?starred=true', ['t3_k1']],
  ['?starred=false&state=read', ['t3_d1']],
  ['?label=ann', ['t3_k2']],
  ['?source=meta', []],
  ['?source=forum&place=DOGS', ['t3_d1']],
  ['?author=JANE', ['t3_k2']],
  ['?from=2026-05-01T12:01:00Z&to=2026-05-01T12:03:00Z', ['t3_d1', 't3_k2']],
  ['?text=whisker%20two', ['t3_k2']],
  ['?text=comment', ['t1_c1']],
  ['?monitor=mon_cats&state=read', ['t3_k1']],
  ['?ids=t3_k1,t3_unknown,t1_c1', ['t1_c1', 't3_k1']],
])('%s lists %j', async (query, expected) => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(2, { author: 'jane', text: 'Two Whiskers' }))
  it.match(postOf({ id: 'd1', name: 't3_d1', title: 'a dog', subforum: 'Dogs' }), 'mon_all')
  it.match(commentOf({ body: 'A kitten comment' }), 'mon_all')
  await it.set(['t3_k1', 't3_d1'], { state: 'read' })
  await it.set(['t3_k1'], { starred: true })
  await it.set(['t3_k2'], { label: 'ann' })

  expect(await it.ids(query)).toEqual(expected)
})

test('pages follow each other without a gap or a repeat while items arrive and change', async () => {
  await using it = startInbox()
  it.match(Array.from({ length: 12 }, (_, n) => kitten(n)))
  for (let n = 12; n < 25; n++) it.match(kitten(n))
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await it.call(`?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`)
    seen.push(...body.items.map(({ id }: any) => id))
    cursor = body.next_cursor
    it.match(kitten(100 + seen.length))
    await it.set(seen.slice(-2), { state: 'dismissed' })
  }

  const expected = [
    ...Array.from({ length: 13 }, (_, n) => `t3_k${24 - n}`),
    ...Array.from({ length: 12 }, (_, n) => `t3_k${11 - n}`),
  ]
  expect(seen).toEqual(expected)
})

test('a page of a search stops at its bound, and its cursor continues', async () => {
  await using it = startInbox()
  it.match(kitten(0, { text: 'needle' }))
  for (let n = 1; n <= 450; n++) it.match(kitten(n))

  const first = (await it.call('?text=needle')).body
  const second = (await it.call(`?text=needle&cursor=${first.next_cursor}`)).body

  expect([first.items, first.examined_until]).toEqual([[], '2026-05-01T12:51:00.000Z'])
  expect(second.items.map(({ id }: any) => id)).toEqual(['t3_k0'])
  expect(second.next_cursor).toBeNull()
})

test('counts are those of the states, of a filter, and of the labels', async () => {
  await using it = startInbox()
  for (let n = 0; n < 6; n++) it.match(kitten(n))
  it.match(postOf({ id: 'd1', name: 't3_d1', title: 'a dog' }), 'mon_all')
  await it.set(['t3_k0', 't3_k1'], { state: 'read', starred: true })
  await it.set(['t3_k1', 't3_k2'], { label: 'ann' })
  await it.set(['t3_k3'], { label: 'bob', state: 'dismissed' })

  const all = (await it.call('/counts')).body
  const of_monitor = (await it.call('/counts?monitor=mon_cats&label=ann')).body

  expect(all).toEqual({
    unread: 4,
    read: 2,
    answered: 0,
    dismissed: 1,
    starred: 2,
    total: 7,
    complete: true,
    labels: [
      { label: 'ann', items: 2 },
      { label: 'bob', items: 1 },
    ],
  })
  expect(of_monitor).toMatchObject({ unread: 1, read: 1, starred: 1, total: 2 })
})

test('a change names what it changed, and its undoing restores that', async () => {
  await using it = startInbox()
  for (let n = 1; n <= 3; n++) it.match(kitten(n))
  await it.set(['t3_k1'], { starred: true, label: 'ann' })

  const { body } = await it.set(['t3_k1', 't3_k2', 't3_gone'], { state: 'dismissed' }, 'ann2')
  const changed = (await it.call('?ids=t3_k1')).body.items[0]
  const undone = (await it.call('/undo', { action_id: body.action_id })).body
  const again = await it.call('/undo', { action_id: body.action_id })

  expect(body).toMatchObject({
    changed: 2,
    unchanged: 0,
    unknown_ids: ['t3_gone'],
    has_more: false,
  })
  expect(changed).toMatchObject({
    state: 'dismissed',
    starred: true,
    label: 'ann',
    changed: { at: '2026-05-01T12:03:00.000Z', by: { key_id: 'key_ann2', name: null } },
  })
  expect(undone).toMatchObject({ undone: body.action_id, restored: 2, skipped: 0 })
  expect((await it.call('?ids=t3_k1')).body.items[0]).toMatchObject({
    state: 'unread',
    label: 'ann',
  })
  expect([again.status, again.body.field]).toEqual([400, 'action_id'])
  const redone = (await it.call('/undo', { action_id: undone.action_id })).body
  expect(redone.restored).toBe(2)
  expect(await it.ids('?state=dismissed')).toEqual(['t3_k2', 't3_k1'])
})

test('an undoing leaves items alone that were changed since', async () => {
  await using it = startInbox()
  for (let n = 1; n <= 2; n++) it.match(kitten(n))
  const { body } = await it.set(['t3_k1', 't3_k2'], { state: 'read' })
  await it.set(['t3_k2'], { label: 'bob' })

  const undone = (await it.call('/undo', { action_id: body.action_id })).body

  expect(undone).toMatchObject({ restored: 1, skipped: 1 })
  expect((await it.call('?ids=t3_k2')).body.items[0]).toMatchObject({ state: 'read', label: 'bob' })
})

test('a change of a filter covers all of its items and no other', async () => {
  await using it = startInbox()
  for (let n = 1; n <= 30; n++) it.match(kitten(n, { author: n % 3 === 0 ? 'spam' : 'jane' }))
  await it.set(['t3_k3'], { state: 'dismissed' })

  const filter = { author: 'Spam', state: ['unread', 'dismissed'] }
  const { body } = await it.call('/update', { filter, set: { state: 'dismissed', starred: false } })

  expect(body).toMatchObject({ changed: 9, has_more: false, next_cursor: null })
  expect((await it.ids('?state=dismissed')).length).toBe(10)
  expect((await it.ids('?state=unread')).length).toBe(20)
})

test('the history names key, change and items, and is paged', async () => {
  await using it = startInbox()
  it.match(kitten(1))
  const first = (await it.set(['t3_k1'], { state: 'read' })).body.action_id
  const second = (await it.set(['t3_k1'], { label: 'bob' }, 'ann2')).body.action_id
  const third = (await it.call('/undo', { action_id: second })).body.action_id

  const page = (await it.call('/history?limit=2')).body
  const rest = (await it.call(`/history?limit=2&cursor=${page.next_cursor}`)).body

  const at = '2026-05-01T12:01:00.000Z'
  const laptop = { key_id: 'key_ann1', name: 'laptop' }
  const common = { at, items: 1, ids: ['t3_k1'] }
  expect(page.actions).toEqual([
    {
      ...common,
      action_id: third,
      by: laptop,
      kind: 'undo',
      set: null,
      mute: null,
      undoes: second,
      undone_by: null,
      can_undo: true,
    },
    {
      ...common,
      action_id: second,
      by: { key_id: 'key_ann2', name: null },
      kind: 'update',
      set: { label: 'bob' },
      mute: null,
      undoes: null,
      undone_by: third,
      can_undo: false,
    },
  ])
  expect(rest.actions.map(({ action_id }: any) => action_id)).toEqual([first])
  expect(rest.next_cursor).toBeNull()
  expect((await it.call('/history?key_id=key_ann2')).body.actions.length).toBe(1)
})

test.each([
  ['GET', '?state=old', undefined, ['state']],
  [
    'GET',
    '?limit=0&cursor=x&starred=maybe&from=yesterday',
    undefined,
    ['starred', 'from', 'cursor', 'limit'],
  ],
  ['GET', '?from=2026-02-01&to=2026-01-01', undefined, ['to']],
  ['GET', '?ids=t3_k1&state=read', undefined, ['ids']],
  ['POST', '/update', { set: { state: 'read' } }, ['ids']],
  ['POST', '/update', { ids: ['a'], filter: {}, set: { state: 'read' } }, ['ids']],
  ['POST', '/update', { ids: [], set: {}, more: 1 }, undefined],
  ['POST', '/update', { ids: ['a'], set: { state: 'new', star: true } }, undefined],
  ['POST', '/update', { filter: { text: 'x' }, set: { state: 'read' } }, ['filter.text']],
  ['POST', '/undo', {}, ['action_id']],
  ['GET', '/history?cursor=abc', undefined, ['cursor']],
])('%s %s %j is refused', async (_, path, body, fields) => {
  await using it = startInbox()

  const answer = await it.call(path, body)

  expect(answer.status).toBe(400)
  const { errors, field } = answer.body
  if (fields !== undefined)
    expect(errors?.map((one: any) => one.field).toSorted() ?? [field]).toEqual(fields.toSorted())
  else expect(errors?.length ?? 1).toBeGreaterThanOrEqual(1)
})

test('an erased item keeps its state and loses its content', async () => {
  await using it = startInbox()
  it.match([kitten(1, { author: 'jane', text: 'a secret' }), kitten(2)])
  await it.set(['t3_k1'], { state: 'answered' })

  const deps = {
    db: it.db,
    instance_id: 'ins_1',
    words: { community: 'subforum', home: 'forum' },
    clock_offset_ms: () => 0,
  }
  eraseItems(deps, [{ item_id: 't3_k1', reason: 'author' }], NOON)

  const [other, erased] = (await it.call('')).body.items
  expect(other.title).toBe('A kitten, number 2')
  expect(erased).toMatchObject({
    id: 't3_k1',
    title: null,
    excerpt: '',
    highlights: [],
    matched_terms: [],
    author: null,
    url: null,
    sentiment: null,
    erased: true,
    state: 'answered',
  })
  expect(await it.ids('?author=jane')).toEqual([])
  expect(JSON.stringify(it.db.query('SELECT * FROM inbox_items').all())).not.toContain('jane')
})

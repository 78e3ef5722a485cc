import { expect, test } from 'bun:test'

import { fail, ok } from '../../../../src/core/base/result.ts'
import { toItem } from '../../../../src/platforms/hackernews/readers.ts'
import { createStories } from '../../../../src/platforms/hackernews/stories.ts'
import { createIdWatch } from '../../../../src/platforms/hackernews/watch.ts'

const S = 1000
const MINUTE = 60 * S
const T0 = Date.UTC(2026, 0, 1)

/** The API's items by id, as a test sets them; the highest id may run ahead of the items. */
function createApi() {
  const api = {
    now: T0,
    max: 100,
    items: new Map<number, unknown>(),
    changed: [] as number[],
    down: new Set<number>(),
    unreadable: new Set<number>(),
    requests: 0,
    above: [] as number[],
    left: 60,
    copy_ms: 0,
    updates_read: 0,
    max_read: 0,
    slow_ms: 0,
    restored: [] as unknown[],
    is_story_known: true,
  }
  const story = { id: '1', title: 'a story', url: null, author: 'ann', place: 'story' } as const
  const watch = createIdWatch({
    clock: { now: () => api.now },
    async maxItem() {
      api.max_read += 1
      api.now += api.slow_ms
      return ok(api.max)
    },
    async item(id) {
      api.requests += 1
      if (api.down.has(id)) return fail({ kind: 'unavailable', status: 503, retry_after_s: null })
      if (api.unreadable.has(id)) return fail({ kind: 'unreadable', path: '$' })
      return ok(toItem(api.items.get(id) ?? null))
    },
    async updates() {
      api.updates_read += 1
      return ok({ items: api.changed, profiles: [] })
    },
    stories: {
      async above(_, read) {
        for (const id of api.above) {
          const outcome = await read(id)
          if (!outcome.ok) return outcome
        }
        return ok({ story, is_known: api.is_story_known })
      },
      stored: () => ({ roots: [[1, 1]] }),
      restore: (stored) => void api.restored.push(stored),
    },
    left: () => api.left,
    requests_per_minute: 60,
    offset_ms: () => 0,
    copy_ms: () => api.copy_ms,
  })
  return {
    api,
    put(id: number, more: Record<string, unknown> = {}) {
      const row = {
        id,
        type: 'comment',
        by: 'bob',
        time: api.now / S,
        text: `text ${id}`,
        parent: 1,
      }
      api.items.set(id, { ...row, ...more })
      api.max = Math.max(api.max, id)
    },
    async step(state: string | null, requests = 50) {
      const outcome = await watch.advance(state, { requests, deadline_at: api.now + MINUTE })
      if (!outcome.ok) throw new Error(outcome.fault.kind)
      return outcome.value
    },
    watch,
  }
}

/** An API whose stream has begun so long ago. */
async function begun(ago_ms: number) {
  const fixture = createApi()
  const { state } = await fixture.step(null)
  fixture.api.now += ago_ms
  return { ...fixture, state }
}

const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => Number(id))

test('the first step starts at the present end', async () => {
  const { put, step } = createApi()
  put(100)
  const first = await step(null)
  expect(first).toMatchObject({ items: [], proven: null, behind: null, verified_until: T0 })
})

test('every id after the last one is read, in order', async () => {
  const { put, step, api, state } = await begun(10 * S)
  for (const id of [101, 102, 103]) put(id)
  const next = await step(state)
  expect(idsOf(next)).toEqual([101, 102, 103])
  expect(next).toMatchObject({ proven: { from_id: 101, to_id: 103 }, verified_until: api.now - 1 })
})

test.each([5000, 2 ** 53 - 1])(
  'a highest id of %d more without an item there is not walked to, and proves nothing',
  async (ahead) => {
    const { put, step, api } = createApi()
    let { state } = await step(null)
    api.now += 10 * S
    api.max = Math.min(100 + ahead, Number.MAX_SAFE_INTEGER)
    api.changed = [9e15]
    const lied = await step(state)
    expect(lied).toMatchObject({ items: [], behind: null })
    expect(lied.verified_until).toBeLessThanOrEqual(T0)
    ;({ state } = lied)
    for (const id of [101, 102]) {
      api.now += 10 * S
      api.max = 100
      put(id)
      const next = await step(state)
      expect(idsOf(next)).toEqual([id])
      ;({ state } = next)
    }
  },
)

test('a highest id far ahead is walked to when there are items, as after a long stop', async () => {
  const { put, step, api, state } = await begun(100 * MINUTE)
  for (let id = 101; id <= 1500; id++) put(id)
  api.items.delete(1500)
  expect(await step(state)).toMatchObject({ behind: { to_id: 1500 } })
})

test('an id without an item holds the verified time at the item below it, however long nothing was read', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 10 * S
  put(101)
  const below = api.now
  state = (await step(state)).state
  // Nothing is read for two minutes, in which 102 and 103 are created.
  api.now += 2 * MINUTE
  put(103)
  const seen = await step(state)
  expect(idsOf(seen)).toEqual([103])
  expect(seen.verified_until).toBe(below - 1)

  api.now += 10 * S
  put(102, { time: (below + MINUTE) / S })
  const later = await step(seen.state)
  expect(idsOf(later)).toEqual([102])
  expect(later.verified_until).toBe(api.now - 10 * S - 1)
})

test('without new items the verified time is a minute old, the age of a copy of the highest id', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  put(101)
  state = (await step(state)).state
  api.now += 5 * MINUTE
  const idle = await step(state)
  expect(idle.verified_until).toBe(api.now - MINUTE)
  // An answer below a known id is an old copy.
  api.now += 5 * MINUTE
  api.max = 100
  expect((await step(idle.state)).verified_until).toBe(idle.verified_until)
})

test('without new items the verified time is as old as a cache may keep the highest id', async () => {
  const { api, step } = createApi()
  const first = await step(null)
  api.copy_ms = 3 * MINUTE
  api.now += 10 * MINUTE
  expect((await step(first.state)).verified_until).toBe(api.now - 3 * MINUTE)
})

test('an item with a later time than the next one proves nothing about the time between', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  put(101, { time: (T0 + 30 * S) / S })
  put(103, { time: (T0 + 10 * S) / S })
  api.now += 40 * S
  const next = await step(state)
  expect(next.verified_until).toBe(T0 + 10 * S - 1)
  // The id between them still has no item.
  api.now += S
  put(104)
  expect((await step(next.state)).verified_until).toBe(T0 + 10 * S - 1)
})

test('an item that was gone when it was read late is reported, and a dead one read again', async () => {
  const { put, step, api, state } = await begun(5 * S)
  put(101, { dead: true })
  put(102, { deleted: true })
  put(103)
  api.now += 30 * S
  put(104, { deleted: true })
  const next = await step(state)
  expect(next).toMatchObject({ unanswered: [101, 102], answered: [103] })
  api.now += 30 * S
  put(101, { dead: true })
  expect((await step(next.state)).answered).toEqual([])
  api.now += MINUTE
  put(101)
  expect((await step(next.state)).answered).toEqual([101])
})

test('an id without an item is requested with growing waits, and reported after a minute, once', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 5 * S
  put(102)
  const requested: number[] = []
  const unanswered: [number, number][] = []
  for (let second = 0; second < 300; second++) {
    const before = api.requests
    const next = await step(state)
    if (api.requests > before) requested.push(second)
    for (const id of next.unanswered) unanswered.push([second, id])
    if (second === 59) expect(next.verified_until).toBe(T0 - MINUTE - 1)
    if (second === 60) expect(next.verified_until).toBe(T0 + 5 * S)
    state = next.state
    api.now += S
  }
  expect(unanswered).toEqual([[60, 101]])
  expect(requested).toEqual([0, 8, 25, 60])
})

test.each([
  ['an answer that cannot be read', null],
  ['an item of before the epoch', { time: -1 }],
  ['an item without a time', { time: 0 }],
  ['an item of the far future', { time: 1e12 }],
  ['an item without a date', { time: 8.64e15 }],
  ['an item with a text beyond the bound', { text: 'x'.repeat(300_000) }],
  ['another item', { id: 7 }],
])(
  '%s holds the verified time, and is skipped after a minute, never unanswered',
  async (_, row) => {
    const { put, step, api } = createApi()
    let { state } = await step(null)
    api.now += 5 * S
    if (row === null) api.unreadable.add(101)
    else put(101, row)
    put(102)
    const requested: number[] = []
    const skipped: unknown[] = []
    for (let second = 0; second < 120; second++) {
      const before = api.requests
      const next = await step(state)
      if (api.requests > before) requested.push(second)
      if (second < 60) expect(next.verified_until).toBeLessThan(T0)
      expect(next.unanswered).toEqual([])
      for (const ids of next.skipped) skipped.push([second, ids])
      state = next.state
      api.now += S
    }
    expect(skipped).toEqual([[60, { from_id: 101, to_id: 101 }]])
    expect(requested).toEqual([0, 8, 25, 60])
  },
)

test('an answer that cannot be read keeps a reread from its end, and the ids above it are read', async () => {
  const { put, watch, api } = createApi()
  for (const id of [101, 103]) put(id)
  api.unreadable.add(102)
  const bounds = { requests: 10, deadline_at: api.now + MINUTE }
  expect(await watch.reread({ from_id: 101, to_id: 104 }, bounds)).toMatchObject({
    ok: true,
    value: {
      items: [{ id: '101' }, { id: '103' }],
      unanswered: [],
      behind: { from_id: 102, to_id: 104 },
    },
  })
})

test('a change that cannot be read stays listed, and is requested once a minute or so', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 10 * S
  put(101)
  state = (await step(state)).state
  api.now += 2 * MINUTE
  api.unreadable.add(101)
  api.changed = [101]
  const listed_at = api.now
  const before = api.requests
  for (let second = 0; second < 150; second += 5) {
    const next = await step(state)
    api.changed = []
    expect(next.changes).toMatchObject({ waiting: 1, oldest_at: listed_at })
    state = next.state
    api.now += 5 * S
  }
  expect(api.requests - before).toBe(2)
})

test('a delayed text is read once it is out', async () => {
  const { put, step, api, state } = await begun(5 * S)
  put(101, { text: '[delayed]' })
  const early = await step(state)
  expect(early.items).toEqual([])
  api.now += 5 * MINUTE
  put(101)
  expect(idsOf(await step(early.state))).toEqual([101])
})

test('a dead item is requested for a day, each time after three times as long, and is an item once it lives', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 5 * S
  put(101, { dead: true })
  put(102, { dead: true })
  const dead = await step(state)
  expect(dead).toMatchObject({ items: [], gone: ['t1_101', 't1_102'], unanswered: [] })
  state = dead.state
  const waits: number[] = []
  let last = api.now
  for (let n = 0; n < 2 * 24 * 360; n++) {
    api.now += 10 * S
    const before = api.requests
    if (n === 9) put(102)
    const next = await step(state)
    if (n === 26) expect(idsOf(next)).toEqual([102])
    if (api.requests > before) {
      waits.push((api.now - last) / S)
      last = api.now
    }
    state = next.state
  }
  expect(waits).toEqual([30, 60, 180, 540, 1620, 4860, 14_580, 43_740])
})

test('a dead item under an id that was reported is still missing for a reread', async () => {
  const { put, watch, api } = createApi()
  put(101, { dead: true })
  put(102)
  const again = await watch.reread(
    { from_id: 101, to_id: 102 },
    { requests: 10, deadline_at: api.now + MINUTE },
  )
  expect(again).toMatchObject({ ok: true, value: { unanswered: [101], items: [{ id: '102' }] } })
})

test('the list of changes is read every half minute, before the items, however many wait', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 5 * S
  put(101)
  state = (await step(state)).state
  for (let id = 102; id <= 500; id++) put(id)
  api.changed = [101]
  put(101, { text: 'edited' })
  const edited: number[] = []
  for (let second = 0; second < 180; second += 3) {
    api.now += 3 * S
    const next = await step(state, 3)
    if (next.items.some((it) => it.kind === 'comment' && it.body === 'edited')) edited.push(second)
    expect(next.requests).toBeLessThanOrEqual(3)
    state = next.state
  }
  expect(api.updates_read).toBeGreaterThanOrEqual(6)
  expect(edited[0]).toBeLessThan(90)
})

test('items above a comment that were read for it are items too, as they are now', async () => {
  const { put, step, api, state } = await begun(5 * S)
  put(101)
  const first = await step(state)
  api.now += 5 * S
  put(101, { text: 'edited' })
  put(102, { parent: 101 })
  api.above = [101, 50]
  api.items.set(50, { id: 50, type: 'story', by: 'ann', time: T0 / S, title: 'from before' })
  const next = await step(first.state)
  expect(next.items).toMatchObject([{ id: '101', body: 'edited' }, { id: '102' }])
  // maxitem, the comment and the two above it.
  expect(next.requests).toBe(4)
})

test('a comment whose parent cannot be read is no item yet, nor is its parent passed', async () => {
  const { put, step, api, watch } = createApi()
  const { state } = await step(null)
  api.now += 5 * S
  put(101)
  put(102, { parent: 101 })
  api.above = [101, 99]
  api.down.add(99)
  const cut = await watch.advance(state, { requests: 50, deadline_at: api.now + MINUTE })
  expect(cut).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
  api.down.clear()
  api.above = []
  expect(idsOf(await step(state))).toEqual([101, 102])
})

test('a comment waits a minute for its story, holds the verified time so long, and is an item with it', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  api.now += 5 * S
  put(101)
  api.is_story_known = false
  const early = await step(state)
  expect(early).toMatchObject({ items: [], unanswered: [], skipped: [] })
  expect(early.verified_until).toBeLessThan(T0)
  api.now += 8 * S
  api.is_story_known = true
  put(102)
  const whole = await step(early.state)
  expect(idsOf(whole)).toEqual([101, 102])
  expect(whole.verified_until).toBeGreaterThan(T0)
})

test('a comment whose story stays away is skipped after a minute, and after ten an item without it', async () => {
  const { put, step, watch, api } = createApi()
  let { state } = await step(null)
  api.now += 5 * S
  put(101)
  api.is_story_known = false
  const skipped: unknown[] = []
  for (let second = 0; second < 70; second++) {
    const next = await step(state)
    expect(next).toMatchObject({ items: [], unanswered: [] })
    if (next.skipped.length > 0) skipped.push([second, next.skipped])
    state = next.state
    api.now += S
  }
  const ids = { from_id: 101, to_id: 101 }
  expect(skipped).toEqual([[60, [ids]]])
  const bounds = { requests: 10, deadline_at: Infinity }
  expect(await watch.reread(ids, bounds)).toMatchObject({ value: { items: [], behind: ids } })
  api.now += 10 * MINUTE
  expect(await watch.reread(ids, bounds)).toMatchObject({
    value: { items: [{ id: '101' }], behind: null },
  })
})

test('a step sends no more than may be sent now, and none when a minute is used up', async () => {
  const { put, step, api, watch } = createApi()
  const { state } = await step(null)
  api.now += 5 * S
  for (let id = 101; id <= 130; id++) put(id)
  api.left = 5
  const part = await step(state)
  expect(part.requests).toBeLessThanOrEqual(5)
  api.left = 0
  const none = await watch.advance(part.state, { requests: 50, deadline_at: api.now + MINUTE })
  expect(none).toMatchObject({ ok: false, fault: { kind: 'throttled', not_requested: true } })
})

test('the highest id is not requested while known ids wait', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 20 * S
  for (let id = 101; id <= 130; id++) put(id)
  for (let n = 0; n < 4; n++) {
    api.now += 3 * S
    api.left = 8
    state = (await step(state)).state
  }
  expect(api.max_read).toBe(2)
})

test('changes that cannot be kept are reported as passed', async () => {
  const { put, step, api, state } = await begun(5 * S)
  for (let id = 101; id <= 800; id++) put(id)
  api.left = 2000
  const all = await step(state, 2000)
  expect(idsOf(all)).toHaveLength(700)
  api.left = 60
  api.now += 10 * MINUTE
  api.changed = Array.from({ length: 700 }, (_, n) => 101 + n)
  const next = await step(all.state, 12)
  const lost = next.skipped.length
  expect(lost + idsOf(next).length).toBe(200)
  expect(next.changes).toEqual({ waiting: 500, oldest_at: api.now, dropped_24h: lost })
})

test('a step that runs out of requests says which ids are left, and the next goes on there', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  for (let id = 101; id <= 130; id++) {
    api.now += S
    put(id)
  }
  const part = await step(state, 12)
  expect(idsOf(part)).toEqual([101, 102, 103, 104, 105, 106, 107, 108, 109, 110])
  expect(part.behind).toEqual({ from_id: 111, to_id: 130 })
  expect(part.verified_until).toBe(T0 + 10 * S - 1)
  const rest = await step(part.state)
  expect(idsOf(rest)).toHaveLength(20)
  expect(rest.behind).toBeNull()
})

test('a failed item ends a step before its id, and nothing is skipped', async () => {
  const { put, step, api, state } = await begun(5 * S)
  for (const id of [101, 102, 103, 104]) put(id)
  api.down.add(103)
  const part = await step(state)
  expect(part.behind).toEqual({ from_id: 103, to_id: 104 })
  api.down.clear()
  const all = new Set([...idsOf(part), ...idsOf(await step(part.state))])
  expect([...all].toSorted((a, b) => a - b)).toEqual([101, 102, 103, 104])
})

test('a changed item is read again, a deleted one is reported', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  put(101)
  put(102)
  const first = await step(state)
  api.now += MINUTE
  put(101, { text: 'edited' })
  put(102, { deleted: true })
  api.changed = [101, 102]
  const next = await step(first.state)
  expect(next.items).toMatchObject([{ id: '101', body: 'edited' }])
  expect(next.gone).toEqual(['t1_102'])
})

test.each([
  ['title', { title: 'B' }, { title: 'B' }],
  ['link', { url: 'https://news.test/b' }, { link_url: 'https://news.test/b' }],
])('a story with another %s is an item again, as it is then', async (_, change, shown) => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  const story = { type: 'story', title: 'A', url: 'https://news.test/a', text: undefined }
  put(101, story)
  api.now += MINUTE
  const first = await step(state)
  // Its own creation is in the list of changes until then.
  api.now += 2 * MINUTE
  put(101, { ...story, ...change })
  api.changed = [101]
  const next = await step(first.state)

  expect(first.items).toMatchObject([{ kind: 'post', title: 'A' }])
  expect(next.items).toMatchObject([{ kind: 'post', id: '101', ...shown }])
})

test('a range is read again without moving the watch', async () => {
  const { put, watch, api } = createApi()
  for (let id = 101; id <= 105; id++) put(id)
  const again = await watch.reread(
    { from_id: 101, to_id: 105 },
    { requests: 3, deadline_at: api.now + MINUTE },
  )
  expect(again).toMatchObject({ ok: true, value: { behind: { from_id: 104, to_id: 105 } } })
})

test('requests for the stories of comments count in the bound of a step, each item once', async () => {
  const { put, step, api, state } = await begun(5 * S)
  for (let id = 101; id <= 130; id++) put(id)
  api.above = [91, 92, 93, 94]
  const part = await step(state, 20)
  expect(part.behind).not.toBeNull()
  expect(part.requests).toBe(20)
  expect(idsOf(part)).toHaveLength(15)
})

test('a change that a step cannot read is read by a later one, when the list has passed', async () => {
  const { put, step, api, state } = await begun(5 * S)
  put(101)
  const first = await step(state)
  api.now += 2 * MINUTE
  put(101, { text: 'changed' })
  api.changed = [101]
  api.down.add(101)
  const cut = await step(first.state)
  expect(idsOf(cut)).toEqual([])
  api.down.clear()
  api.changed = []
  expect((await step(cut.state)).items).toMatchObject([{ id: '101', body: 'changed' }])
})

test('ids without an item are named by a reread, and answered ones by a step', async () => {
  const { put, step, api, watch } = createApi()
  const { state } = await step(null)
  api.now += 5 * S
  put(101)
  put(103)
  const next = await step(state)
  expect(next.answered).toEqual([101, 103])
  const again = await watch.reread(
    { from_id: 101, to_id: 103 },
    { requests: 10, deadline_at: api.now + MINUTE },
  )
  expect(again).toMatchObject({ ok: true, value: { unanswered: [102], behind: null, requests: 3 } })
  api.down.add(102)
  const failed = await watch.reread(
    { from_id: 102, to_id: 103 },
    { requests: 10, deadline_at: api.now + MINUTE },
  )
  expect(failed).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
})

test('a change waits from its listing until it is read, and counts as dropped after ten minutes', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  api.now += 5 * S
  put(101)
  state = (await step(state)).state
  api.now += 30 * S
  // It was read just before: the list may mean its creation.
  api.changed = [101]
  const listed_at = api.now
  const listed = await step(state)
  expect(listed.changes).toEqual({ waiting: 1, oldest_at: listed_at, dropped_24h: 0 })
  api.changed = []
  api.now += MINUTE
  const read = await step(listed.state)
  expect(idsOf(read)).toEqual([101])
  expect(read.changes).toEqual({ waiting: 0, oldest_at: null, dropped_24h: 0 })

  let late = listed
  for (let minute = 0; minute < 10; minute++) {
    api.now = listed_at + (minute + 1) * MINUTE
    late = await step(late.state, 1)
    if (minute < 9) expect(late.changes).toMatchObject({ oldest_at: listed_at, dropped_24h: 0 })
  }
  expect(late.changes).toEqual({ waiting: 0, oldest_at: null, dropped_24h: 1 })
  api.now += 23 * 60 * MINUTE
  expect((await step(late.state)).changes?.dropped_24h).toBe(1)
  api.now += 2 * 60 * MINUTE
  expect((await step(late.state)).changes?.dropped_24h).toBe(0)
})

test.each([
  [4, [104, 105]],
  [5, [101, 104, 105]],
  [6, [101, 102, 104, 105]],
])(
  'new ids are read first, then changes, then ids without an item: %d requests',
  async (requests, ids) => {
    const { put, step, api, state } = await begun(5 * S)
    put(101)
    put(103)
    const first = await step(state)
    api.now += 5 * MINUTE
    api.changed = [101]
    for (const id of [102, 104, 105]) put(id)
    // Two requests are for the list and for the highest id.
    expect(idsOf(await step(first.state, requests))).toEqual(ids)
  },
)

test('the highest id is requested every five seconds at most, and the list of changes less often', async () => {
  const { step, api } = createApi()
  let { state } = await step(null)
  for (let second = 1; second <= 60; second++) {
    api.now += S
    state = (await step(state)).state
  }
  expect(api.max_read).toBe(13)
  expect(api.updates_read).toBe(2)
})

test('the first step of a process takes the stories of the one before', async () => {
  const { state } = await createApi().step(null)
  const { api, step } = createApi()
  await step((await step(state)).state)
  expect(api.restored).toEqual([{ roots: [[1, 1]] }])
})

const story = (id: number) =>
  ({ id: String(id), title: `story ${id}`, url: null, author: 'ann', place: 'story' }) as const

test('after a restart the story of an item takes one request, and no text of it was stored', async () => {
  const stories = createStories()
  for (let id = 1; id <= 3000; id++) stories.add(10_000 + id, story(id % 300))
  const stored = stories.stored()
  expect(stored.roots.length).toBeLessThanOrEqual(1000)
  expect(new Set(stored.roots.map(([, root]) => root)).size).toBe(150)
  // Nothing but ids: what is erased elsewhere would stay here.
  expect(JSON.stringify(stored)).toMatch(/^\{"roots":[\d[\],]+\}$/)

  const after = createStories()
  after.add(12_999, story(7))
  after.restore(JSON.parse(JSON.stringify(stored)))
  expect(after.stored().roots).toContainEqual([13_000, 0])
  const above = async (parent: number) => {
    const read: number[] = []
    const item = toItem({ id: 20_000, type: 'comment', by: 'bob', time: 1, text: 'x', parent })
    if (item === null) throw new Error('no item')
    const found = await after.above(item, async (id) => {
      read.push(id)
      return ok(
        toItem(id < 300 ? { id, type: 'story', by: 'ann', time: 1, title: `read ${id}` } : null),
      )
    })
    return [found.ok && found.value.story.title, read]
  }
  expect(await above(12_998)).toEqual(['read 298', [298]])
  expect(await above(12_998)).toEqual(['read 298', []])
  expect(await above(12_999)).toEqual(['story 7', []])
  expect(await above(10_001)).toEqual(['', [10_001]])
  // As stored before ids alone were.
  expect(() => after.restore(JSON.parse('{"stories":[],"under":[[1,0]]}'))).not.toThrow()
})

test('the start is after the answer for the highest id, however late it comes', async () => {
  const { api, step } = createApi()
  api.slow_ms = 4 * S
  expect(await step(null)).toMatchObject({ verified_until: T0 + 4 * S })
})

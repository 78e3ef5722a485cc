import { expect, test } from 'bun:test'

import { fail, ok } from '../../../../src/core/base/result.ts'
import { createStream } from '../../../../src/platforms/hackernews/stream.ts'

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
    requests: 0,
    story_requests: 0,
  }
  const story = { id: '1', title: 'a story', url: null, author: 'ann', place: 'story' } as const
  const stream = createStream({
    clock: { now: () => api.now },
    async maxItem() {
      return ok(api.max)
    },
    async item(id) {
      api.requests += 1
      if (api.down.has(id)) return fail({ kind: 'unavailable', status: 503, retry_after_s: null })
      return ok(api.items.get(id) ?? null)
    },
    async updates() {
      return ok({ items: api.changed, profiles: [] })
    },
    async storyAbove() {
      return ok({ story, requests: api.story_requests })
    },
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
      const outcome = await stream.advance(state, { requests, deadline_at: api.now + MINUTE })
      if (!outcome.ok) throw new Error(outcome.fault.kind)
      return outcome.value
    },
    stream,
  }
}

const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => Number(id))

test('the first step starts at the present end', async () => {
  const { put, step } = createApi()
  put(100)
  const first = await step(null)
  expect(first).toMatchObject({ items: [], proven: null, behind: null, verified_until: T0 })
})

test('every id after the last one is read, in order', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  api.now += 10 * S
  for (const id of [101, 102, 103]) put(id)
  const next = await step(state)
  expect(idsOf(next)).toEqual([101, 102, 103])
  expect(next).toMatchObject({ proven: { from_id: 101, to_id: 103 }, verified_until: api.now })
})

test('an id without an item holds the verified time back until it has one', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  api.now += 10 * S
  put(102)
  const seen = await step(state)
  const since = api.now
  expect(idsOf(seen)).toEqual([102])
  expect(seen.verified_until).toBe(since)

  api.now += MINUTE
  put(101)
  const later = await step(seen.state)
  expect(idsOf(later)).toEqual([101])
  expect(later.verified_until).toBe(api.now)
})

test('an id that is never answered is reported after half an hour, exactly', async () => {
  const { put, step, api } = createApi()
  let { state } = await step(null)
  put(102)
  const unanswered: number[] = []
  for (let minute = 0; minute < 40; minute++) {
    api.now += MINUTE
    const next = await step(state)
    unanswered.push(...next.unanswered)
    state = next.state
  }
  expect(unanswered).toEqual([101])
})

test('a delayed text is read once it is out', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  put(101, { text: '[delayed]' })
  const early = await step(state)
  expect(early.items).toEqual([])
  api.now += 5 * MINUTE
  put(101)
  expect(idsOf(await step(early.state))).toEqual([101])
})

test('a dead item that comes back to life is read within the hour', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  put(101, { dead: true })
  const dead = await step(state)
  expect(dead).toMatchObject({ items: [], gone: ['t1_101'] })
  api.now += 61 * MINUTE
  put(101)
  expect(idsOf(await step(dead.state))).toEqual([101])
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
  expect(part.verified_until).toBe(T0 + 10 * S)
  const rest = await step(part.state)
  expect(idsOf(rest)).toHaveLength(20)
  expect(rest.behind).toBeNull()
})

test('a failed item ends a step before its id, and nothing is skipped', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
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

test('a range is read again without moving the stream', async () => {
  const { put, stream, api } = createApi()
  for (let id = 101; id <= 105; id++) put(id)
  const again = await stream.reread(
    { from_id: 101, to_id: 105 },
    { requests: 3, deadline_at: api.now + MINUTE },
  )
  expect(again).toMatchObject({ ok: true, value: { behind: { from_id: 104, to_id: 105 } } })
})

test('requests for the stories of comments count in the bound of a step', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  for (let id = 101; id <= 130; id++) put(id)
  api.story_requests = 4
  const part = await step(state, 20)
  expect(part.behind).not.toBeNull()
  expect(part.requests).toBeGreaterThanOrEqual(20)
})

test('a change that a step cannot read is read by a later one, when the list has passed', async () => {
  const { put, step, api } = createApi()
  const { state } = await step(null)
  put(101)
  const first = await step(state)
  api.now += MINUTE
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
  const { put, step, api, stream } = createApi()
  const { state } = await step(null)
  put(101)
  put(103)
  const next = await step(state)
  expect(next.answered).toEqual([101, 103])
  const again = await stream.reread(
    { from_id: 101, to_id: 103 },
    { requests: 10, deadline_at: api.now + MINUTE },
  )
  expect(again).toMatchObject({ ok: true, value: { unanswered: [102], behind: null, requests: 3 } })
  api.down.add(102)
  const failed = await stream.reread(
    { from_id: 102, to_id: 103 },
    { requests: 10, deadline_at: api.now + MINUTE },
  )
  expect(failed).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
})

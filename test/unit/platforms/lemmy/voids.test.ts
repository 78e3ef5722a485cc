import { expect, test } from 'bun:test'

import { createServer, MINUTE, S } from './fixture.ts'

/**
 * A federating server: of every four ids about one is void. `busy_s` of 2 items a second at the shipped pace. One of so many
 * items, `unlisted_each`, is in no list.
 */
async function run(
  generation: 'v3' | 'v4',
  busy_s: number,
  headers: Record<string, string> = {},
  unlisted_each = Infinity,
) {
  await using fixture = createServer(generation, { requests_per_minute: 60, is_pace_set: false })
  const { world, put, source, clock } = fixture
  world.message_max = 180
  world.headers = headers
  put('post', 1000)
  put('comment', 5000)
  let { state } = await fixture.step(null)
  const next = { post: 1000, comment: 5000 }
  let written = 0
  /** Writes what the time since the last call brings. */
  const write = (until: number): void => {
    for (; written < ((until - began) / S) * 2; written++) {
      const kind = written % 5 === 0 ? 'post' : 'comment'
      next[kind] += written % 4 === 1 ? 2 : 1
      const is_unlisted = written % unlisted_each === 7
      put(kind, next[kind], { published: began + (written / 2) * S, is_unlisted })
    }
  }
  const began = clock.now()
  const lags: number[] = []
  const logs: number[] = []
  const found = new Set<string>()
  for (let at = began; at < began + busy_s * S; at += 10 * S) {
    world.now += Math.max(0, at - clock.now())
    write(clock.now())
    world.requests.length = 0
    const bounds = { requests: 20, deadline_at: clock.now() + MINUTE, interval_s: 10 }
    const listed = await source.watch?.advance(state, bounds)
    if (!listed?.ok) continue
    state = listed.value.state
    for (const { name } of listed.value.items) found.add(name)
    let verified = listed.value.verified_until
    for (let n = 0; n < 50; n++) {
      const more = await source.watch?.settle?.(state, bounds)
      if (!more?.ok || more.value.requests === 0) break
      state = more.value.state
      verified = more.value.verified_until
      for (const { name } of more.value.items) found.add(name)
    }
    if (world.requests.some((it) => it.includes('/modlog'))) logs.push(clock.now())
    lags.push((clock.now() - verified) / S)
  }
  return { lags, logs, found: found.size, written }
}

test.each(['v3', 'v4'] as const)(
  '%s: with a quarter of all ids void, the proof is younger than 90 s at the shipped pace',
  async (generation) => {
    const { lags, logs, found, written } = await run(generation, 600)
    // The share of voids has to be learned first.
    expect(Math.max(...lags.slice(24))).toBeLessThanOrEqual(90)
    expect(found).toBeGreaterThan(written - 40)
    const waits = logs.slice(1).map((at, index) => at - (logs[index] ?? 0))
    expect(Math.max(...waits)).toBeLessThanOrEqual(75 * S)
  },
)

test('the proof is younger than 90 s where one in ten of such ids has an item', async () => {
  const { lags, found, written } = await run('v4', 600, {}, 40)
  expect(Math.max(...lags.slice(24))).toBeLessThanOrEqual(90)
  expect(found).toBeGreaterThan(written - 40)
})

/**
 * Steps each 10 s at 24 requests a minute, beside `voids` ids without an item in each of them: more than the requests suffice for.
 * The times by our clock at which names were read, and what each step reported.
 */
async function runShort(
  voids: number,
  steps: number,
  each: (fixture: ReturnType<typeof createServer>, step: number) => void,
) {
  await using fixture = createServer('v3', { requests_per_minute: 24 })
  const { world, put, source, clock } = fixture
  put('post', 1000)
  put('comment', 5000)
  let { state } = await fixture.step(null)
  let top = 1000
  const began = clock.now()
  const read = new Map<string, number>()
  const reports: { now: number; until: number; is_behind: boolean }[] = []
  for (let n = 0; n < steps; n++) {
    world.now += Math.max(0, began + n * 10 * S - clock.now())
    each(fixture, n)
    top += voids + 1
    put('post', top, { published: clock.now() })
    const bounds = { requests: 10, ...fixture.call(), interval_s: 10 }
    const listed = await source.watch?.advance(state, bounds)
    if (!listed?.ok) continue
    let report = listed.value
    for (let rounds = 0; ; rounds++) {
      for (const { name } of report.items) if (!read.has(name)) read.set(name, clock.now())
      const { verified_until: until, behind } = report
      reports.push({ now: clock.now(), until, is_behind: behind !== null })
      state = report.state
      const more = rounds < 20 ? await source.watch?.settle?.(state, bounds) : undefined
      if (!more?.ok || more.value.requests === 0) break
      report = more.value
    }
  }
  return { read, reports }
}

test('an id that the requests do not suffice for is not passed: the proof waits for it, and it is a backlog', async () => {
  let written = 0
  const { read, reports } = await runShort(4, 60, ({ put, clock }, step) => {
    // In no list, among ids of which no other one has an item.
    if (step !== 30) return
    written = clock.now()
    put('post', 1152, { is_unlisted: true, published: written })
  })
  const read_at = read.get('t3_1152') ?? Infinity
  const early = reports.filter((it) => it.until > written && it.now < read_at)
  expect(early).toEqual([])
  expect(reports.at(-1)).toMatchObject({ is_behind: true })
})

test('one request in four is for hidden items, the longest overdue first', async () => {
  await using fixture = createServer('v3')
  const { world, put, step, source } = fixture
  put('post', 100)
  put('comment', 500)
  let { state } = await fixture.step(null)
  const began = world.now
  const at = async (age_s: number) => {
    world.now = began + age_s * S
    state = (await step(state)).state
  }
  put('comment', 501, { is_deleted: true })
  for (const age_s of [0, 15, 35, 75]) await at(age_s)
  // None of these has an item, and each holds the proof from its 60th second on.
  put('post', 120)
  await at(80)
  put('comment', 502, { is_deleted: true })
  await at(137)
  world.now = began + 155 * S
  const listed = await step(state, 8, { settles: false })
  world.requests.length = 0
  await source.watch?.settle?.(listed.state, { requests: 6, ...fixture.call() })
  const asked = world.requests.filter((it) => /\/(?:post|comment)\?id=/.test(it))
  expect(asked).toHaveLength(6)
  expect(asked.filter((it) => it.includes('comment')).map((it) => it.slice(-3))).toEqual([
    '501',
    '502',
  ])
})

test.each([
  ['a removed thread', 'thread', { removed: true }],
  ['a hidden place', 'community', { hidden: true }],
] as const)(
  'of the comments of %s one is asked for, and all once it is public',
  async (_, of, fields) => {
    await using fixture = createServer('v3')
    const { world, put, step } = fixture
    put('post', 100)
    put('comment', 500)
    let { state } = await step(null)
    const ids = Array.from({ length: 20 }, (unused, n) => 501 + n)
    for (const id of ids) put('comment', id, { is_unlisted: true })
    put('comment', 521)
    world[of] = fields
    // So many requests are sent at once.
    for (let n = 0; n < 4; n++) {
      world.now += S
      state = (await step(state)).state
    }
    const askedAfter = async (age_s: number) => {
      world.now += age_s * S
      world.requests.length = 0
      const next = await step(state)
      state = next.state
      return {
        count: [...ids, 521].filter((id) =>
          world.requests.some((it) => it.endsWith(`/comment?id=${id}`)),
        ).length,
        names: next.items.map(({ name }) => name),
      }
    }
    for (const age_s of [16, 20, 40]) expect((await askedAfter(age_s)).count).toBe(1)
    world[of] = {}
    world.page_size = 1
    const { names } = await askedAfter(80)
    expect(names.filter((it) => it !== 't1_521').toSorted()).toEqual(ids.map((id) => `t1_${id}`))
  },
)

const KEPT = { 'cache-control': 'public, max-age=60' }

test('the proof is younger than 90 s where a cache may keep each answer for a minute', async () => {
  const { lags, found, written } = await run('v3', 600, KEPT)
  expect(Math.max(...lags.slice(24))).toBeLessThanOrEqual(90)
  expect(found).toBeGreaterThan(written - 40)
})

test('an id is believed void by an answer that was made after its neighbours appeared', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  world.headers = { 'cache-control': 'public, max-age=120' }
  put('post', 100)
  const begun = await step(null)
  world.now += 200 * S
  put('post', 102)
  let { state } = await step(begun.state)
  const seen_at = world.now
  let proved_s = 0
  for (let age_s = 10; proved_s === 0 && age_s <= 200; age_s += 10) {
    world.now = seen_at + age_s * S
    const next = await step(state)
    if (next.verified_until >= seen_at - 120 * S) proved_s = age_s
    state = next.state
  }
  // It was asked for at ages of 0 and 20 s too: those answers may be copies.
  expect(proved_s).toBe(120)
})

test('a backlog of posts keeps no comment waiting', async () => {
  await using fixture = createServer('v3')
  const { world, put, step, source } = fixture
  put('post', 100)
  put('comment', 500)
  const first = await step(null)
  world.now += 10 * S
  for (let id = 101; id <= 130; id++) put('post', id, { is_unlisted: id < 130 })
  put('comment', 501, { is_unlisted: true })
  put('comment', 502)
  const listed = await step(first.state, 8, { settles: false })
  const settled = await source.watch?.settle?.(listed.state, { requests: 8, ...fixture.call() })
  if (settled?.ok !== true) throw new Error('the step has failed')
  const names = settled.value.items.map(({ name }) => name)
  expect(names).toContain('t1_501')
  expect(names).toContain('t3_101')
})

test('v4: the log is asked for the children of bulk removals', async () => {
  await using fixture = createServer('v4')
  await fixture.step(null)
  expect(fixture.world.requests.find((it) => it.includes('/modlog'))).toContain('show_bulk=true')
})

test('v3: a ban that removes everything without a log of it is found by its author', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  put('post', 100)
  put('comment', 500)
  const begun = await step(null)
  world.now += 30 * S
  put('post', 101)
  put('comment', 501)
  const seen = await step(begun.state)
  world.now += MINUTE
  put('post', 101, { is_removed: true, is_unlisted: true })
  put('comment', 501, { is_removed: true, is_unlisted: true })
  world.bans = [{ id: 3, person: 7, at: world.now }]
  const gone = await step(seen.state)
  expect(gone.gone.toSorted()).toEqual(['t1_501', 't3_101'])
})

test('v3: what was read before a ban delays no proof after the end of the ban', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  const ids = Array.from({ length: 40 }, (_, index) => 501 + index)
  const hide = (is_removed: boolean) => {
    for (const id of ids) put('comment', id, { is_removed, published: began + 10 * S })
  }
  const began = world.now
  put('comment', 500)
  let { state } = await step(null)
  world.now += 20 * S
  hide(false)
  ;({ state } = await step(state))
  world.now += MINUTE
  hide(true)
  ;({ state } = await step(state, 8))
  world.now += MINUTE
  for (let id = 541; id < 591; id++) put('comment', id)
  ;({ state } = await step(state, 8))
  world.now += 2 * MINUTE
  hide(false)
  world.bans = [{ id: 3, person: 7, at: world.now, ends: true }]
  ;({ state } = await step(state, 8))
  world.now += 10 * S
  expect((await step(state, 8)).verified_until).toBe(world.now)
})

test('v3: what a ban had removed before it was read is asked for at the end of the ban', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  put('comment', 500)
  let { state } = await step(null)
  world.now += 30 * S
  put('comment', 501, { is_removed: true, is_unlisted: true })
  put('comment', 502)
  for (let n = 0; n < 3; n++) {
    world.now += 30 * S
    ;({ state } = await step(state))
  }
  const ended_at = world.now + 10 * S
  world.now = ended_at + MINUTE
  put('comment', 501, { is_unlisted: true })
  world.bans = [{ id: 3, person: 7, at: ended_at, ends: true }]
  const found: string[] = []
  for (let n = 0; n < 3; n++) {
    const next = await step(state)
    found.push(...next.items.map(({ name }) => name))
    // Nothing is claimed of the time after the end of the ban before the item was read.
    if (!found.includes('t1_501')) expect(next.verified_until).toBeLessThanOrEqual(ended_at)
    ;({ state } = next)
    world.now += 10 * S
  }
  expect(found).toContain('t1_501')
})

test('requests by id end where the share of monitors in the minute ends', async () => {
  await using fixture = createServer('v3', { requests_per_minute: 600 })
  const { put, source, clock } = fixture
  const bounds = { requests: 20, share: 0.005, interval_s: 10 }
  const call = () => ({ ...bounds, deadline_at: clock.now() + 10 * MINUTE })
  put('post', 1000)
  const { state } = await fixture.step(null)
  fixture.world.now += 2 * MINUTE
  put('post', 1020)
  const listed = await source.watch?.advance(state, call())
  if (!listed?.ok) throw new Error('not listed')
  const settled = await source.watch?.settle?.(listed.value.state, call())
  expect(settled).toMatchObject({ ok: true, value: { requests: 1 } })
})

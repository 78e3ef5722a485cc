import { describe, expect, test } from 'bun:test'

import { startMonitors } from '../support/monitors-fixture.ts'
import { PLAN, post, START } from '../unit/monitor/fixture.ts'

const S = 1000
const spec = { subforum: ['Cats'], include_any: ['cat'] }

describe('add', () => {
  test('answers with the monitor, and wakes the loop', async () => {
    await using daemon = startMonitors()
    const { status, body } = await daemon.add({ filter_spec: spec, name: ' mine ', cadence_s: 5 })

    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^mon_[0-9a-f-]{36}$/),
      name: 'mine',
      filter_spec: { subforum: ['Cats'], kind: 'post', include_any: ['cat'] },
      cadence_s: 60,
      requested_cadence_s: 5,
      raised: true,
      webhook_ids: null,
      targets: 'all',
      active: true,
      pause_reason: null,
      created_at: '2026-05-01T12:00:00.000Z',
      updated_at: '2026-05-01T12:00:00.000Z',
      last_match_at: null,
      attention: null,
      relevance: null,
      feed_url: `https://api.forum.example/feed/${body.id}`,
      streams: [{ id: 'posts:cats', kind: 'posts', subforum: 'cats', interval_s: 60 }],
    })
    expect(daemon.nudges()).toBe(1)
  })

  test('answers under both prefixes, and in the configured words', async () => {
    await using daemon = startMonitors({ community: 'board' })
    const { status, body } = await daemon.call('/api/forum/monitor/add', {
      filter_spec: { board: ['cats'], kind: 'both' },
    })

    expect(status).toBe(200)
    expect(body.filter_spec).toEqual({ board: ['cats'], kind: 'both' })
    expect(body.streams.map((it: any) => [it.kind, it.board])).toEqual([
      ['posts', 'cats'],
      ['comments', 'cats'],
    ])
  })

  test("a cadence slower than the plan's is accepted", async () => {
    await using daemon = startMonitors()

    expect((await daemon.add({ filter_spec: spec, cadence_s: 300 })).body.cadence_s).toBe(300)
  })

  test.each<[string, object, string, RegExp]>([
    ['no filter', {}, 'filter_spec', /filter_spec is required/],
    ['a filter of another type', { filter_spec: 'cats' }, 'filter_spec', /must be an object/],
    ['a filter without place or keyword', { filter_spec: {} }, 'filter_spec', /./],
    [
      'an unknown field of the filter',
      { filter_spec: { ...spec, foo: 1 } },
      'filter_spec.foo',
      /foo/,
    ],
    [
      'an unknown field',
      { filter_spec: spec, colour: 1 },
      'colour',
      /not a known field.*filter_spec/,
    ],
    ['a name of another type', { filter_spec: spec, name: 1 }, 'name', /text or null/],
    ['an empty name', { filter_spec: spec, name: '  ' }, 'name', /1 to 120/],
    [
      'a cadence that is no whole number',
      { filter_spec: spec, cadence_s: 1.5 },
      'cadence_s',
      /1 to 86400/,
    ],
    ['a cadence of zero', { filter_spec: spec, cadence_s: 0 }, 'cadence_s', /1 to 86400/],
    ['webhooks of another type', { filter_spec: spec, webhook_ids: 'wh_1' }, 'webhook_ids', /list/],
    [
      'a baseline that is no id',
      { filter_spec: spec, baseline_item_id: 'x/y' },
      'baseline_item_id',
      /t3_abc123/,
    ],
    [
      'a baseline that is not there',
      { filter_spec: spec, baseline_item_id: 't3_zz' },
      'baseline_item_id',
      /no item t3_zz/,
    ],
  ])('400 names the field: %s', async (_, body, field, sentence) => {
    await using daemon = startMonitors()
    const answer = await daemon.add(body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
    expect(answer.body.error).toMatch(sentence)
    expect((await daemon.list()).monitors).toEqual([])
  })

  test('an unreadable place is refused with its reason', async () => {
    await using daemon = startMonitors({ community: 'board' })
    daemon.fixture.feed.verdicts.set('cats', { kind: 'refused', why: 'banned' })
    const { status, body } = await daemon.add({ filter_spec: { board: ['cats'] } })

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'board_not_found', reason: 'banned', names: ['cats'] })
  })

  test('a name that is not a single place is refused', async () => {
    await using daemon = startMonitors()
    daemon.fixture.feed.verdicts.set('random', { kind: 'reserved' })

    expect((await daemon.add({ filter_spec: { subforum: ['all'] } })).body.code).toBe(
      'subforum_reserved',
    )
    expect((await daemon.add({ filter_spec: { subforum: ['random'] } })).body.code).toBe(
      'subforum_reserved',
    )
  })

  test('if the platform is unreachable the monitor is created, with a warning', async () => {
    await using daemon = startMonitors()
    daemon.fixture.feed.verdicts.set('cats', { kind: 'unverified' })
    const { status, body } = await daemon.add({ filter_spec: spec })

    expect([status, body.warnings]).toEqual([200, ['subforum_unverified']])
  })
})

describe('slots', () => {
  test('the ceiling is 402 naming limit and tier, and a removed monitor frees its slot', async () => {
    await using daemon = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const { body } = await daemon.add({ filter_spec: spec })
    const refused = await daemon.add({ filter_spec: spec })
    expect(refused.status).toBe(402)
    expect(refused.body).toMatchObject({
      error: 'monitor_slots_exhausted',
      code: 'monitor_slots_exhausted',
      limit: 1,
      tier: 'entry',
    })

    await daemon.remove({ id: body.id })
    expect((await daemon.add({ filter_spec: spec })).status).toBe(200)
  })

  test('a paused monitor holds its slot', async () => {
    await using daemon = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const { body } = await daemon.add({ filter_spec: spec })
    await daemon.update({ id: body.id, active: false })

    expect((await daemon.add({ filter_spec: spec })).status).toBe(402)
    expect((await daemon.list()).slots).toEqual({
      used: 1,
      total: 1,
      tier: 'entry',
      sitewide_used: 0,
      sitewide_total: 2,
    })
  })

  test('site-wide monitors have a ceiling of their own, which an edit cannot evade', async () => {
    await using daemon = startMonitors({ plan: { ...PLAN, sitewide_slots: 1 } })
    const wide = { include_any: ['cat'] }
    await daemon.add({ filter_spec: wide })
    const { body } = await daemon.add({ filter_spec: spec })

    expect((await daemon.add({ filter_spec: wide })).body.code).toBe('sitewide_slots_exhausted')
    expect((await daemon.update({ id: body.id, filter_spec: wide })).body.code).toBe(
      'sitewide_slots_exhausted',
    )
    expect((await daemon.list()).slots).toMatchObject({
      used: 2,
      sitewide_used: 1,
      sitewide_total: 1,
    })
  })

  test('two concurrent adds for one slot create one monitor', async () => {
    await using daemon = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const subforumCheck = daemon.fixture.feed.watch.place
    daemon.fixture.feed.watch.place = async (name) => {
      await Bun.sleep(1)
      return subforumCheck(name)
    }
    const answers = await Promise.all([
      daemon.add({ filter_spec: spec }),
      daemon.add({ filter_spec: spec }),
    ])

    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 402])
  })
})

describe('targets', () => {
  test('a target of another customer is not found, a paused one cannot be added', async () => {
    await using daemon = startMonitors()
    daemon.fixture.webhook('wh_1', { paused: true })
    const unknown = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1', 'wh_x'] })
    expect(unknown.status).toBe(400)
    expect(unknown.body).toMatchObject({ code: 'webhook_not_found', webhook_ids: ['wh_x'] })

    const paused = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1'] })
    expect(paused.status).toBe(400)
    expect(paused.body).toMatchObject({
      code: 'webhook_paused',
      webhook_ids: ['wh_1'],
      hint: expect.any(String),
    })
    const foreign = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1'] }, 'cus_2')
    expect(foreign.body.code).toBe('webhook_not_found')
  })

  test('empty, null and absent mean every active webhook; in an edit absent means unchanged', async () => {
    await using daemon = startMonitors()
    daemon.fixture.webhook('wh_1')
    const { body } = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1', 'wh_1'] })
    expect(body.webhook_ids).toEqual(['wh_1'])

    expect((await daemon.update({ id: body.id, name: 'x' })).body.webhook_ids).toEqual(['wh_1'])
    expect((await daemon.update({ id: body.id, webhook_ids: [] })).body.webhook_ids).toBeNull()
    expect((await daemon.add({ filter_spec: spec, webhook_ids: [] })).body.webhook_ids).toBeNull()
  })

  test('no webhook and every webhook stay distinct when a monitor is sent back as it was read', async () => {
    await using daemon = startMonitors()
    daemon.fixture.webhook('wh_1')
    const { body } = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1'] })
    expect(body.targets).toBe('listed')
    for (const [given, read] of [
      [{ targets: 'none' }, { targets: 'none', webhook_ids: [] }],
      [
        { targets: 'none', webhook_ids: [] },
        { targets: 'none', webhook_ids: [] },
      ],
      [{ name: 'x' }, { targets: 'none', webhook_ids: [] }],
      [{ webhook_ids: [] }, { targets: 'all', webhook_ids: null }],
      [
        { targets: 'all', webhook_ids: null },
        { targets: 'all', webhook_ids: null },
      ],
      [
        { targets: 'listed', webhook_ids: ['wh_1'] },
        { targets: 'listed', webhook_ids: ['wh_1'] },
      ],
    ] as const)
      expect((await daemon.update({ id: body.id, ...given })).body).toMatchObject(read)
    expect((await daemon.add({ filter_spec: spec, targets: 'none' })).body.webhook_ids).toEqual([])

    for (const odd of [
      { targets: 'none', webhook_ids: ['wh_1'] },
      { targets: 'all', webhook_ids: ['wh_1'] },
      { targets: 'listed' },
      { targets: 'some' },
    ])
      expect(await daemon.update({ id: body.id, ...odd })).toMatchObject({
        status: 400,
        body: { field: 'targets' },
      })
  })

  test('a monitor with a target paused since then can still be edited', async () => {
    await using daemon = startMonitors()
    daemon.fixture.webhook('wh_1')
    const { body } = await daemon.add({ filter_spec: spec, webhook_ids: ['wh_1'] })
    daemon.fixture.db.run("UPDATE webhooks SET paused_at = 1, pause_reason = 'failing'")

    expect((await daemon.update({ id: body.id, webhook_ids: ['wh_1'] })).status).toBe(200)
  })
})

test.each([
  ['forum', 'NOT_FOUND'],
  ['agora', 'monitor_not_found'],
])('with the platform called %s an absent monitor is %s', async (platform, code) => {
  await using daemon = startMonitors({ platform })
  const answer = await daemon.call(`/${platform}/monitor/remove`, { id: 'mon_x' })

  expect([answer.status, answer.body.code, answer.body.error]).toEqual([404, code, code])
})

describe('update and remove', () => {
  test('pausing stops polls, resuming starts over, and the answers report both', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.webhook('wh_1')
    const { id } = (await daemon.add({ filter_spec: { subforum: ['cats'] } })).body
    await fixture.pollDue()
    expect((await daemon.update({ id, active: false })).body.active).toBe(false)
    fixture.feed.put('cats', post(1, 'while paused', fixture.clock.now()))
    await fixture.check()
    expect((await daemon.update({ monitor_id: id, active: true })).body.active).toBe(true)
    fixture.feed.put('cats', post(2, 'after', fixture.clock.now()))
    await fixture.check()

    expect(fixture.titles()).toEqual(['after'])
    expect((await daemon.list()).monitors[0].last_match_at).toBe(
      new Date(fixture.clock.now()).toISOString(),
    )
  })

  test('an edit of the name resets nothing', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.webhook('wh_1')
    const { id } = (await daemon.add({ filter_spec: { subforum: ['cats'] } })).body
    await fixture.pollDue()
    fixture.feed.put('cats', post(1, 'before the edit', fixture.clock.now()))
    fixture.pass(5 * S)
    const { body } = await daemon.update({ id, name: 'new', webhook_ids: ['wh_1'], active: true })
    await fixture.check()

    expect([body.name, Date.parse(body.updated_at)]).toEqual(['new', START + 5 * S])
    expect(fixture.titles()).toEqual(['before the edit'])
  })

  test('a new filter is stored, an invalid one keeps the old', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    expect((await daemon.update({ id, filter_spec: { subforum: 3 } })).status).toBe(400)
    const { body } = await daemon.update({ id, filter_spec: { subforum: ['dogs'] } })

    expect(body.filter_spec).toEqual({ subforum: ['dogs'], kind: 'post' })
    expect(body.streams.map((it: any) => it.id)).toEqual(['posts:dogs'])
  })

  test('a monitor with a baseline delivers the items after it', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.webhook('wh_1')
    fixture.feed.put(
      'cats',
      post(1, 'older', START - 9 * S),
      post(2, 'baseline', START - 8 * S),
      post(3, 'newer', START - 7 * S),
    )
    const { status } = await daemon.add({
      filter_spec: { subforum: ['cats'] },
      baseline_item_id: '2',
    })
    await fixture.pollDue()

    expect([status, fixture.titles()]).toEqual([200, ['newer']])
  })

  test('a removed monitor disappears at once; its deliveries stay readable', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.webhook('wh_1')
    const { id } = (await daemon.add({ filter_spec: { subforum: ['cats'] } })).body
    await fixture.pollDue()
    fixture.feed.put('cats', post(1, 'new', fixture.clock.now()))
    await fixture.check()

    expect(await daemon.remove({ id })).toMatchObject({ status: 200, body: { removed: true, id } })
    expect((await daemon.call(`/forum/monitor/health?id=${id}`)).status).toBe(404)
    const { body } = await daemon.call(`/forum/monitor/deliveries?id=${id}`)
    expect(body.deliveries).toHaveLength(1)
  })

  test('absent and foreign answer the same 404, byte for byte', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    const messageAndParam = async (named: string) => [
      await daemon.update({ id: named, name: 'x' }, 'cus_2'),
      await daemon.remove({ id: named }, 'cus_2'),
      await daemon.call(`/forum/monitor/health?id=${named}`, undefined, 'cus_2'),
    ]

    const foreign = await messageAndParam(id)
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404])
    expect(foreign).toEqual(await messageAndParam('mon_00000000-0000-0000-0000-000000000000'))
    expect((await daemon.list('cus_2')).monitors).toEqual([])
    expect((await daemon.list()).monitors).toHaveLength(1)
  })

  test.each([
    ['no id', {}, 'id'],
    ['two ids', { id: 'mon_1', monitor_id: 'mon_2' }, 'monitor_id'],
    ['an id of another type', { id: 7 }, 'id'],
  ])('400 names the field: %s', async (_, body, field) => {
    await using daemon = startMonitors()

    expect(await daemon.remove(body)).toMatchObject({ status: 400, body: { field } })
    expect(await daemon.update(body)).toMatchObject({ status: 400, body: { field } })
  })
})

describe('health', () => {
  test('a new monitor awaits its first poll, and is complete after it', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    expect(await daemon.health(id)).toMatchObject({
      active: true,
      stream_liveness: { status: 'unknown', reason: 'streams_awaiting_first_poll' },
      coverage_24h: {
        status: 'partial',
        reason: 'stream_liveness_unknown',
        posts_missed_estimate: null,
      },
      cadence: { promised_cadence_s: 60, last_checked_s_ago: null },
    })

    await daemon.fixture.pollDue()
    expect(await daemon.health(id)).toMatchObject({
      delivered_24h: 0,
      failed_24h: 0,
      rejected_24h: 0,
      suppressed_24h: 0,
      suppressed_breakdown: { resolved: true, sampled: 0 },
      ceiling_reached: false,
      last_match_at: null,
      daily_delivery_ceiling: 10_000,
      coverage_24h: {
        status: 'complete',
        reason: null,
        gaps: [],
        posts_in_window_at_least: 0,
        posts_missed_estimate: 0,
      },
      stream_liveness: { status: 'live', reason: null, streams: [] },
      cadence: { meets_entitlement: true, last_checked_s_ago: 0, slowest_stream: 'posts:cats' },
    })
  })

  test('a truncated check appears as a gap with observed and missed items', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.feed.put(
      'cats',
      ...Array.from({ length: 60 }, (_, i) => post(1 + i, 'old', START - (61 - i) * S)),
    )
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await fixture.pollDue()
    fixture.feed.put(
      'cats',
      ...Array.from({ length: 1500 }, (_, i) => post(100 + i, 'x', START + i * 30)),
    )
    await fixture.check()

    const { coverage_24h } = await daemon.health(id)
    expect(coverage_24h).toMatchObject({
      status: 'degraded',
      reason: null,
      gap_events_24h: 1,
      gaps_returned: 1,
      gaps_truncated: false,
      gaps: [
        {
          stream: 'posts:cats',
          reason: 'poll_overflow',
          at: '2026-05-01T12:01:00.000Z',
          healed_at: null,
        },
      ],
      observed_events: [{ kind: 'poll_overflow', stream: 'posts:cats' }],
      unobserved_events: [],
    })
    expect(coverage_24h.posts_in_window_at_least).toBe(1167)
    // 333 are missing.
    expect(coverage_24h.posts_missed_estimate).toBeGreaterThanOrEqual(111)
    expect(coverage_24h.posts_missed_estimate).toBeLessThanOrEqual(999)
  })

  test('a gap from before a monitor is not its own', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    await daemon.add({ filter_spec: spec })
    await fixture.pollDue()
    fixture.feed.faults({ kind: 'timeout' }, 3)
    await fixture.check()
    await fixture.check()
    fixture.pass(1)
    const { id } = (await daemon.add({ filter_spec: spec })).body

    expect((await daemon.health(id)).coverage_24h).toMatchObject({ status: 'complete', gaps: [] })
  })

  test('a feed without polls for three intervals has stalled', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await daemon.fixture.pollDue()
    daemon.fixture.pass(181 * S)

    expect(await daemon.health(id)).toMatchObject({
      stream_liveness: { status: 'degraded', streams: [{ id: 'posts:cats', reason: 'stalled' }] },
      coverage_24h: { status: 'partial', reason: 'streams_not_polling' },
      cadence: { last_checked_s_ago: 181, within_margin: false },
    })
  })

  test('a gap from before a place was added is not its own, one from after it is', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    await daemon.add({ filter_spec: { subforum: ['dogs'] } })
    const { id } = (await daemon.add({ filter_spec: { subforum: ['cats'] } })).body
    await fixture.pollDue()
    fixture.pass(60 * S)
    fixture.feed.faults({ kind: 'forbidden', reason: null }, 2)
    await fixture.pollDue()
    await fixture.check()
    fixture.pass(S)
    await daemon.update({ id, filter_spec: { subforum: ['dogs'] } })
    expect((await daemon.health(id)).coverage_24h.gaps).toEqual([])

    fixture.feed.faults({ kind: 'forbidden', reason: null }, 1)
    await fixture.check()
    expect((await daemon.health(id)).coverage_24h.gaps).toMatchObject([{ stream: 'posts:dogs' }])
  })

  test('with a failing platform polls run without observations: the feed has stalled', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await daemon.fixture.pollDue()
    for (let i = 0; i < 4; i++) {
      daemon.fixture.feed.faults({ kind: 'forbidden', reason: null }, 1)
      await daemon.fixture.check()
    }

    expect(await daemon.health(id)).toMatchObject({
      stream_liveness: { status: 'degraded', streams: [{ reason: 'stalled' }] },
      coverage_24h: { status: 'degraded', gap_events_24h: 4, posts_missed_estimate: null },
    })
  })

  test('a clock jump leaves the hidden period unknown', async () => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await fixture.pollDue()
    fixture.jump(300 * S)
    await fixture.monitoring.checkDue()
    await fixture.check()

    expect((await daemon.health(id)).coverage_24h).toMatchObject({
      status: 'partial',
      reason: 'loss_events_not_observed',
      unobserved_events: [{ kind: 'clock_jump', stream: null }],
    })
  })

  test('the health of a paused monitor reports only the pause', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await daemon.fixture.pollDue()
    await daemon.update({ id, active: false })

    expect(await daemon.health(id)).toMatchObject({
      active: false,
      coverage_24h: {
        status: 'unknown',
        reason: 'monitor_paused',
        posts_in_window_at_least: null,
        gap_events_24h: null,
      },
      stream_liveness: { status: 'unknown', reason: 'monitor_paused' },
      cadence: { meets_entitlement: null, unknown_reason: 'monitor_paused' },
    })
  })

  test('suppressed matches are counted by reason, and a day beyond the stored rows is not resolved', async () => {
    await using daemon = startMonitors({ plan: { ...PLAN, daily_deliveries: 2 } })
    const { fixture } = daemon
    fixture.webhook('wh_1')
    const { id } = (await daemon.add({ filter_spec: { subforum: ['cats'] } })).body
    await fixture.pollDue()
    fixture.feed.put('cats', post(1, 'late', START + S))
    fixture.pass(1000 * S)
    fixture.feed.put(
      'cats',
      ...Array.from({ length: 600 }, (_, i) => post(2 + i, 'x', fixture.clock.now())),
    )
    await fixture.check()

    expect(await daemon.health(id)).toMatchObject({
      suppressed_24h: 501,
      suppressed_breakdown: {
        ceiling: 500,
        stale: 1,
        unknown: 0,
        sampled: 501,
        sample_truncated: true,
        resolved: false,
        unresolved_reason: 'ceiling_records_capped',
      },
      ceiling_reached: true,
      daily_delivery_ceiling: 2,
    })
  })

  test('with an unreadable poll log liveness is unknown, and all other values are reported', async () => {
    await using daemon = startMonitors()
    const { id } = (await daemon.add({ filter_spec: spec })).body
    await daemon.fixture.pollDue()
    daemon.fixture.db.run('ALTER TABLE gaps RENAME TO gone')

    expect(await daemon.health(id)).toMatchObject({
      delivered_24h: 0,
      coverage_24h: {
        status: 'unknown',
        reason: 'poll_log_unreadable',
        posts_in_window_at_least: null,
      },
      stream_liveness: { status: 'live' },
    })
  })

  test('an id is required', async () => {
    await using daemon = startMonitors()

    expect(await daemon.call('/forum/monitor/health')).toMatchObject({
      status: 400,
      body: { error: 'id is required' },
    })
  })
})

test("the document describes the fields of a filter in the wire's words", async () => {
  await using daemon = startMonitors({ community: 'board' })
  const { body } = await daemon.document()
  const schema =
    body.paths['/forum/monitor/add'].post.requestBody.content['application/json'].schema

  expect(Object.keys(schema.properties.filter_spec.properties)).toContain('board')
  expect(schema.required).toEqual(['filter_spec'])
})

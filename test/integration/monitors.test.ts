import { describe, expect, test } from 'bun:test'

import { startMonitors } from '../support/monitors.ts'
import { PLAN, post, START } from '../unit/monitor/stage.ts'

const S = 1000
const spec = { subforum: ['Cats'], include_any: ['cat'] }

describe('add', () => {
  test('answers with the monitor as it is, and the loop is woken', async () => {
    await using house = startMonitors()
    const { status, body } = await house.add({ filter_spec: spec, name: ' mine ', cadence_s: 5 })

    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^mon_[0-9a-f-]{36}$/),
      name: 'mine',
      filter_spec: { subforum: ['Cats'], kind: 'post', include_any: ['cat'] },
      cadence_s: 60,
      webhook_ids: null,
      active: true,
      created_at: '2026-05-01T12:00:00.000Z',
      updated_at: '2026-05-01T12:00:00.000Z',
      last_match_at: null,
      feed_url: `https://api.forum.example/feed/${body.id}`,
      streams: [{ id: 'posts:cats', kind: 'posts', subforum: 'cats', interval_s: 60 }],
    })
    expect(house.nudges()).toBe(1)
  })

  test('answers under both places, and in the words that were configured', async () => {
    await using house = startMonitors({ community: 'board' })
    const { status, body } = await house.call('/api/forum/monitor/add', {
      filter_spec: { board: ['cats'], kind: 'both' },
    })

    expect(status).toBe(200)
    expect(body.filter_spec).toEqual({ board: ['cats'], kind: 'both' })
    expect(body.streams.map((it: any) => [it.kind, it.board])).toEqual([
      ['posts', 'cats'],
      ['comments', 'cats'],
    ])
  })

  test('a slower cadence than the plan is kept', async () => {
    await using house = startMonitors()

    expect((await house.add({ filter_spec: spec, cadence_s: 300 })).body.cadence_s).toBe(300)
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
    await using house = startMonitors()
    const answer = await house.add(body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
    expect(answer.body.error).toMatch(sentence)
    expect((await house.list()).monitors).toEqual([])
  })

  test('a place that cannot be read is refused with its reason', async () => {
    await using house = startMonitors({ community: 'board' })
    house.stage.feed.verdicts.set('cats', { kind: 'refused', why: 'banned' })
    const { status, body } = await house.add({ filter_spec: { board: ['cats'] } })

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'board_not_found', reason: 'banned', names: ['cats'] })
  })

  test('a name that stands for many places is refused', async () => {
    await using house = startMonitors()
    house.stage.feed.verdicts.set('random', { kind: 'reserved' })

    expect((await house.add({ filter_spec: { subforum: ['all'] } })).body.code).toBe(
      'subforum_reserved',
    )
    expect((await house.add({ filter_spec: { subforum: ['random'] } })).body.code).toBe(
      'subforum_reserved',
    )
  })

  test('when the platform cannot be asked the monitor is made, with a warning', async () => {
    await using house = startMonitors()
    house.stage.feed.verdicts.set('cats', { kind: 'unverified' })
    const { status, body } = await house.add({ filter_spec: spec })

    expect([status, body.warnings]).toEqual([200, ['subforum_unverified']])
  })
})

describe('slots', () => {
  test('the ceiling is 402 naming limit and tier, and a removed monitor frees its slot', async () => {
    await using house = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const { body } = await house.add({ filter_spec: spec })
    const refused = await house.add({ filter_spec: spec })
    expect(refused.status).toBe(402)
    expect(refused.body).toMatchObject({
      error: 'monitor_slots_exhausted',
      code: 'monitor_slots_exhausted',
      limit: 1,
      tier: 'entry',
    })

    await house.remove({ id: body.id })
    expect((await house.add({ filter_spec: spec })).status).toBe(200)
  })

  test('a paused monitor holds its slot', async () => {
    await using house = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const { body } = await house.add({ filter_spec: spec })
    await house.update({ id: body.id, active: false })

    expect((await house.add({ filter_spec: spec })).status).toBe(402)
    expect((await house.list()).slots).toEqual({
      used: 1,
      total: 1,
      tier: 'entry',
      sitewide_used: 0,
      sitewide_total: 2,
    })
  })

  test('site-wide monitors have a ceiling of their own, which an edit cannot evade', async () => {
    await using house = startMonitors({ plan: { ...PLAN, sitewide_slots: 1 } })
    const wide = { include_any: ['cat'] }
    await house.add({ filter_spec: wide })
    const { body } = await house.add({ filter_spec: spec })

    expect((await house.add({ filter_spec: wide })).body.code).toBe('sitewide_slots_exhausted')
    expect((await house.update({ id: body.id, filter_spec: wide })).body.code).toBe(
      'sitewide_slots_exhausted',
    )
    expect((await house.list()).slots).toMatchObject({
      used: 2,
      sitewide_used: 1,
      sitewide_total: 1,
    })
  })

  test('two that are added together for one slot get one', async () => {
    await using house = startMonitors({ plan: { ...PLAN, slots: 1 } })
    const held = house.stage.feed.watch.subforum
    house.stage.feed.watch.subforum = async (name) => {
      await Bun.sleep(1)
      return held(name)
    }
    const answers = await Promise.all([
      house.add({ filter_spec: spec }),
      house.add({ filter_spec: spec }),
    ])

    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 402])
  })
})

describe('targets', () => {
  test('a target of somebody else is not found, a paused one cannot be added', async () => {
    await using house = startMonitors()
    house.stage.webhook('wh_1', { paused: true })
    const unknown = await house.add({ filter_spec: spec, webhook_ids: ['wh_1', 'wh_x'] })
    expect(unknown.status).toBe(400)
    expect(unknown.body).toMatchObject({ code: 'webhook_not_found', webhook_ids: ['wh_x'] })

    const paused = await house.add({ filter_spec: spec, webhook_ids: ['wh_1'] })
    expect(paused.status).toBe(400)
    expect(paused.body).toMatchObject({
      code: 'webhook_paused',
      webhook_ids: ['wh_1'],
      hint: expect.any(String),
    })
    const foreign = await house.add({ filter_spec: spec, webhook_ids: ['wh_1'] }, 'cus_2')
    expect(foreign.body.code).toBe('webhook_not_found')
  })

  test('empty, null and left out mean every active webhook; in an edit left out means no change', async () => {
    await using house = startMonitors()
    house.stage.webhook('wh_1')
    const { body } = await house.add({ filter_spec: spec, webhook_ids: ['wh_1', 'wh_1'] })
    expect(body.webhook_ids).toEqual(['wh_1'])

    expect((await house.update({ id: body.id, name: 'x' })).body.webhook_ids).toEqual(['wh_1'])
    expect((await house.update({ id: body.id, webhook_ids: [] })).body.webhook_ids).toBeNull()
    expect((await house.add({ filter_spec: spec, webhook_ids: [] })).body.webhook_ids).toBeNull()
  })

  test('a monitor that targets a webhook paused since can still be edited', async () => {
    await using house = startMonitors()
    house.stage.webhook('wh_1')
    const { body } = await house.add({ filter_spec: spec, webhook_ids: ['wh_1'] })
    house.stage.db.run("UPDATE webhooks SET paused_at = 1, pause_reason = 'failing'")

    expect((await house.update({ id: body.id, webhook_ids: ['wh_1'] })).status).toBe(200)
  })
})

describe('update and remove', () => {
  test('pausing stops, resuming begins anew, and the answers say so', async () => {
    await using house = startMonitors()
    const { stage } = house
    stage.webhook('wh_1')
    const { id } = (await house.add({ filter_spec: { subforum: ['cats'] } })).body
    await stage.look()
    expect((await house.update({ id, active: false })).body.active).toBe(false)
    stage.feed.put('cats', post(1, 'while paused', stage.clock.now()))
    await stage.check()
    expect((await house.update({ monitor_id: id, active: true })).body.active).toBe(true)
    stage.feed.put('cats', post(2, 'after', stage.clock.now()))
    await stage.check()

    expect(stage.titles()).toEqual(['after'])
    expect((await house.list()).monitors[0].last_match_at).toBe(
      new Date(stage.clock.now()).toISOString(),
    )
  })

  test('an edit of the name resets nothing', async () => {
    await using house = startMonitors()
    const { stage } = house
    stage.webhook('wh_1')
    const { id } = (await house.add({ filter_spec: { subforum: ['cats'] } })).body
    await stage.look()
    stage.feed.put('cats', post(1, 'before the edit', stage.clock.now()))
    stage.pass(5 * S)
    const { body } = await house.update({ id, name: 'new', webhook_ids: ['wh_1'], active: true })
    await stage.check()

    expect([body.name, Date.parse(body.updated_at)]).toEqual(['new', START + 5 * S])
    expect(stage.titles()).toEqual(['before the edit'])
  })

  test('a new filter is stored, a bad one leaves the old', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    expect((await house.update({ id, filter_spec: { subforum: 3 } })).status).toBe(400)
    const { body } = await house.update({ id, filter_spec: { subforum: ['dogs'] } })

    expect(body.filter_spec).toEqual({ subforum: ['dogs'], kind: 'post' })
    expect(body.streams.map((it: any) => it.id)).toEqual(['posts:dogs'])
  })

  test('a monitor after a baseline delivers what came since', async () => {
    await using house = startMonitors()
    const { stage } = house
    stage.webhook('wh_1')
    stage.feed.put(
      'cats',
      post(1, 'older', START - 9 * S),
      post(2, 'baseline', START - 8 * S),
      post(3, 'newer', START - 7 * S),
    )
    const { status } = await house.add({
      filter_spec: { subforum: ['cats'] },
      baseline_item_id: '2',
    })
    await stage.look()

    expect([status, stage.titles()]).toEqual([200, ['newer']])
  })

  test('a removed monitor is gone at once; its deliveries stay readable', async () => {
    await using house = startMonitors()
    const { stage } = house
    stage.webhook('wh_1')
    const { id } = (await house.add({ filter_spec: { subforum: ['cats'] } })).body
    await stage.look()
    stage.feed.put('cats', post(1, 'new', stage.clock.now()))
    await stage.check()

    expect(await house.remove({ id })).toMatchObject({ status: 200, body: { removed: true, id } })
    expect((await house.call(`/forum/monitor/health?id=${id}`)).status).toBe(404)
    const { body } = await house.call(`/forum/monitor/deliveries?id=${id}`)
    expect(body.deliveries).toHaveLength(1)
  })

  test('absent and foreign answer the same 404, byte for byte', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    const ask = async (named: string) => [
      await house.update({ id: named, name: 'x' }, 'cus_2'),
      await house.remove({ id: named }, 'cus_2'),
      await house.call(`/forum/monitor/health?id=${named}`, undefined, 'cus_2'),
    ]

    const foreign = await ask(id)
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404])
    expect(foreign).toEqual(await ask('mon_00000000-0000-0000-0000-000000000000'))
    expect((await house.list('cus_2')).monitors).toEqual([])
    expect((await house.list()).monitors).toHaveLength(1)
  })

  test.each([
    ['no id', {}, 'id'],
    ['two ids', { id: 'mon_1', monitor_id: 'mon_2' }, 'monitor_id'],
    ['an id of another type', { id: 7 }, 'id'],
  ])('400 names the field: %s', async (_, body, field) => {
    await using house = startMonitors()

    expect(await house.remove(body)).toMatchObject({ status: 400, body: { field } })
    expect(await house.update(body)).toMatchObject({ status: 400, body: { field } })
  })
})

describe('health', () => {
  test('a new monitor awaits its first look, and is complete after it', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    expect(await house.health(id)).toMatchObject({
      active: true,
      stream_liveness: { status: 'unknown', reason: 'streams_awaiting_first_poll' },
      coverage_24h: {
        status: 'partial',
        reason: 'stream_liveness_unknown',
        posts_missed_estimate: null,
      },
      cadence: { promised_cadence_s: 60, last_checked_s_ago: null },
    })

    await house.stage.look()
    expect(await house.health(id)).toMatchObject({
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

  test('a cut check shows as a gap with what was seen and what was missed', async () => {
    await using house = startMonitors()
    const { stage } = house
    stage.feed.put(
      'cats',
      ...Array.from({ length: 60 }, (_, i) => post(1 + i, 'old', START - (61 - i) * S)),
    )
    const { id } = (await house.add({ filter_spec: spec })).body
    await stage.look()
    stage.feed.put(
      'cats',
      ...Array.from({ length: 1500 }, (_, i) => post(100 + i, 'x', START + i * 30)),
    )
    await stage.check()

    const { coverage_24h } = await house.health(id)
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
    expect(coverage_24h.posts_missed_estimate).toBeGreaterThanOrEqual(300)
  })

  test('a gap from before a monitor is none of its own', async () => {
    await using house = startMonitors()
    const { stage } = house
    await house.add({ filter_spec: spec })
    await stage.look()
    stage.feed.faults({ kind: 'timeout' }, 3)
    await stage.check()
    await stage.check()
    stage.pass(1)
    const { id } = (await house.add({ filter_spec: spec })).body

    expect((await house.health(id)).coverage_24h).toMatchObject({ status: 'complete', gaps: [] })
  })

  test('a stream that nobody could look at for three intervals has stalled', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    await house.stage.look()
    house.stage.pass(181 * S)

    expect(await house.health(id)).toMatchObject({
      stream_liveness: { status: 'degraded', streams: [{ id: 'posts:cats', reason: 'stalled' }] },
      coverage_24h: { status: 'partial', reason: 'streams_not_polling' },
      cadence: { last_checked_s_ago: 181, within_margin: false },
    })
  })

  test('a gap from before a place was added is none of its own, one from after it is', async () => {
    await using house = startMonitors()
    const { stage } = house
    await house.add({ filter_spec: { subforum: ['dogs'] } })
    const { id } = (await house.add({ filter_spec: { subforum: ['cats'] } })).body
    await stage.look()
    stage.pass(60 * S)
    stage.feed.faults({ kind: 'forbidden', reason: null }, 2)
    await stage.look()
    await stage.check()
    stage.pass(S)
    await house.update({ id, filter_spec: { subforum: ['dogs'] } })
    expect((await house.health(id)).coverage_24h.gaps).toEqual([])

    stage.feed.faults({ kind: 'forbidden', reason: null }, 1)
    await stage.check()
    expect((await house.health(id)).coverage_24h.gaps).toMatchObject([{ stream: 'posts:dogs' }])
  })

  test('a platform that only fails is looked at, but not seen: the stream has stalled', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    await house.stage.look()
    for (let i = 0; i < 4; i++) {
      house.stage.feed.faults({ kind: 'forbidden', reason: null }, 1)
      await house.stage.check()
    }

    expect(await house.health(id)).toMatchObject({
      stream_liveness: { status: 'degraded', streams: [{ reason: 'stalled' }] },
      coverage_24h: { status: 'degraded', gap_events_24h: 4, posts_missed_estimate: null },
    })
  })

  test('a clock that jumped leaves what it hid unknown', async () => {
    await using house = startMonitors()
    const { stage } = house
    const { id } = (await house.add({ filter_spec: spec })).body
    await stage.look()
    stage.jump(300 * S)
    await stage.monitoring.checkDue()
    await stage.check()

    expect((await house.health(id)).coverage_24h).toMatchObject({
      status: 'partial',
      reason: 'loss_events_not_observed',
      unobserved_events: [{ kind: 'clock_jump', stream: null }],
    })
  })

  test('a paused monitor says that it is, and knows nothing else', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    await house.stage.look()
    await house.update({ id, active: false })

    expect(await house.health(id)).toMatchObject({
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

  test('what was withheld is counted by its reason, and a day beyond the stored rows is not resolved', async () => {
    await using house = startMonitors({ plan: { ...PLAN, daily_deliveries: 2 } })
    const { stage } = house
    stage.webhook('wh_1')
    const { id } = (await house.add({ filter_spec: { subforum: ['cats'] } })).body
    await stage.look()
    stage.feed.put('cats', post(1, 'late', START + S))
    stage.pass(1000 * S)
    stage.feed.put(
      'cats',
      ...Array.from({ length: 600 }, (_, i) => post(2 + i, 'x', stage.clock.now())),
    )
    await stage.check()

    expect(await house.health(id)).toMatchObject({
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

  test('a poll log that cannot be read is unknown, and everything else is still told', async () => {
    await using house = startMonitors()
    const { id } = (await house.add({ filter_spec: spec })).body
    await house.stage.look()
    house.stage.db.run('ALTER TABLE gaps RENAME TO gone')

    expect(await house.health(id)).toMatchObject({
      delivered_24h: 0,
      coverage_24h: {
        status: 'unknown',
        reason: 'poll_log_unreadable',
        posts_in_window_at_least: null,
      },
      stream_liveness: { status: 'live' },
    })
  })

  test('it wants an id', async () => {
    await using house = startMonitors()

    expect(await house.call('/forum/monitor/health')).toMatchObject({
      status: 400,
      body: { error: 'id is required' },
    })
  })
})

test('the document tells the fields of a filter in the words of the wire', async () => {
  await using house = startMonitors({ community: 'board' })
  const { body } = await house.document()
  const schema =
    body.paths['/forum/monitor/add'].post.requestBody.content['application/json'].schema

  expect(Object.keys(schema.properties.filter_spec.properties)).toContain('board')
  expect(schema.required).toEqual(['filter_spec'])
})

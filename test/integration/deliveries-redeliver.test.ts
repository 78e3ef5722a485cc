import { expect, test } from 'bun:test'

import { envelope } from '../../src/core/delivery/envelope.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { blankBodies } from '../../src/store/delivery/messages.ts'
import { redeliver } from '../../src/store/delivery/redeliver.ts'
import { retireWebhook } from '../../src/store/delivery/webhooks.ts'
import { startDelivering } from '../support/delivery-fixture.ts'
import { startTargets } from '../support/webhooks-fixture.ts'

const REDELIVER = '/forum/monitor/deliveries/redeliver'
const DAY_MS = 86_400_000

type Targets = Awaited<ReturnType<typeof startTargets>>

/** An ended delivery in the given state. */
function ended(it: Targets, id: string, webhook_id: string, status: string, customer = 'cus_1') {
  const monitor_id = `mon_of_${customer}`
  insertDelivery(it.db, {
    id,
    customer_id: customer,
    monitor_id,
    webhook_id,
    status: 'pending',
    body: envelope({ delivery_id: id, monitor_id, items: [{ id: 'a' }], grouped: false }),
    now: it.clock.now(),
  })
  it.db
    .query(
      `UPDATE deliveries SET status = $status, next_attempt_at = NULL, attempts = 1, retry_index = 1,
              delivered_at = iif($status = 'delivered', 1, NULL) WHERE id = $id`,
    )
    .run({ id, status })
}

async function started() {
  const it = await startTargets()
  it.addMonitor('mon_of_cus_1')
  it.addMonitor('mon_of_cus_2', 'cus_2')
  return { it, id: (await it.create()).id }
}

const statuses = (it: Targets) =>
  Object.fromEntries(
    it.db
      .query<{ id: string; status: string; round: number }, []>(
        'SELECT id, status, round FROM deliveries ORDER BY id',
      )
      .all()
      .map(({ id, status, round }) => [id, `${status} ${round}`]),
  )

const SINCE = '2025-12-31T00:00:00Z'

test('a time span selects failed and dead deliveries unless a status is given', async () => {
  const { it, id } = await started()
  await using _ = it
  for (const status of ['delivered', 'failed', 'dead', 'suppressed']) ended(it, status, id, status)

  const counted = await it.call(REDELIVER, { since: SINCE, until: '2026-01-02', dry_run: true })
  expect(counted.body).toEqual({ queued: 2, skipped: 0, dry_run: true })
  expect(statuses(it)).toMatchObject({ failed: 'failed 1', dead: 'dead 1' })
  expect(it.nudges()).toBe(0)

  const span = { since: SINCE, until: '2026-01-02T00:00:00Z' }
  expect((await it.call(REDELIVER, span)).body).toEqual({ queued: 2, skipped: 0, dry_run: false })
  expect((await it.call(`/api${REDELIVER}`, { ...span, status: 'delivered' })).body.queued).toBe(1)
  expect(statuses(it)).toEqual({
    dead: 'pending 2',
    delivered: 'pending 2',
    failed: 'pending 2',
    suppressed: 'suppressed 1',
  })
})

test('without until the newest is redelivered, even if it is ahead of the local clock', async () => {
  const { it, id } = await started()
  await using _ = it
  // Rows of one instant: each has a later time than the one before it.
  for (const delivery_id of ['dlv_1', 'dlv_2', 'dlv_3']) ended(it, delivery_id, id, 'dead')

  expect((await it.call(REDELIVER, { since: SINCE })).body).toMatchObject({ queued: 3 })
})

test('pending deliveries and those without an active target are skipped', async () => {
  const { it, id } = await started()
  await using _ = it
  const gone = (await it.create()).id
  ended(it, 'dlv_1', gone, 'failed')
  ended(it, 'dlv_2', id, 'failed')
  retireWebhook(it.db, gone, it.clock.now())

  expect((await it.call(REDELIVER, { delivery_id: 'dlv_1' })).body).toMatchObject({
    queued: 0,
    skipped: 1,
  })
  expect((await it.call(REDELIVER, { delivery_id: 'dlv_2' })).body.queued).toBe(1)
  expect((await it.call(REDELIVER, { delivery_id: 'dlv_2' })).body).toMatchObject({
    queued: 0,
    skipped: 1,
  })
})

test('erased content is skipped: an empty delivery would count as delivered', async () => {
  const { it, id } = await started()
  await using _ = it
  ended(it, 'old', id, 'dead')
  blankBodies(it.db, { before_at: it.clock.now() + 1, now: it.clock.now() }, 10)
  ended(it, 'young', id, 'dead')

  const many = await it.call(REDELIVER, { since: SINCE, until: '2026-01-02' })
  expect(many.body).toEqual({ queued: 1, skipped: 1, dry_run: false })
  const one = await it.call(REDELIVER, { delivery_id: 'old' })
  expect(one.body).toEqual({ queued: 0, skipped: 1, dry_run: false })
  expect(statuses(it)).toEqual({ old: 'dead 1', young: 'pending 2' })
})

test('a suppressed delivery is sent by its own id only, and counts toward its day', async () => {
  const { it, id } = await started()
  await using _ = it
  ended(it, 'dlv_1', id, 'suppressed')
  expect((await it.call(REDELIVER, { delivery_id: 'dlv_1' })).body.queued).toBe(1)
  expect(it.db.query('SELECT deliveries FROM monitor_days').get()).toEqual({ deliveries: 1 })
})

test('redelivers to one of several targets', async () => {
  const { it, id } = await started()
  await using _ = it
  const other = (await it.create()).id
  ended(it, 'dlv_1', id, 'dead')
  ended(it, 'dlv_2', other, 'dead')
  const body = { since: SINCE, until: '2026-01-02T00:00:00Z', webhook_id: other }
  expect((await it.call(REDELIVER, body)).body.queued).toBe(1)
  expect(statuses(it)).toEqual({ dlv_1: 'dead 1', dlv_2: 'pending 2' })
})

test('deliveries and targets of another customer are the same 404 as absent ones, and in no span', async () => {
  const { it } = await started()
  await using _ = it
  const foreign = (await it.create(undefined, 'cus_2')).id
  ended(it, 'dlv_2', foreign, 'dead', 'cus_2')
  for (const [theirs, none] of [
    [{ delivery_id: 'dlv_2' }, { delivery_id: 'dlv_none' }],
    [
      { since: SINCE, webhook_id: foreign },
      { since: SINCE, webhook_id: 'wh_none' },
    ],
  ]) {
    const answer = await it.call(REDELIVER, theirs)
    expect([answer.status, answer.text]).toEqual([404, (await it.call(REDELIVER, none)).text])
  }
  const span = { since: SINCE, until: '2026-01-02T00:00:00Z' }
  expect((await it.call(REDELIVER, span)).body.queued).toBe(0)
  expect(statuses(it)).toEqual({ dlv_2: 'dead 1' })
})

test.each([
  [{}, 'since', 'since is required, or delivery_id'],
  [{ since: '2025-12-01' }, 'since', 'since must be at most 14 days ago'],
  [{ since: SINCE, until: '2025-12-30' }, 'until', 'until must not be before since'],
  [{ since: SINCE, status: 'pending' }, 'status', 'status must be one of delivered, failed, dead'],
  [
    { delivery_id: 'dlv_1', since: SINCE },
    'since',
    'since does not go with delivery_id, which names one delivery',
  ],
  [{ since: SINCE, dry_run: 'no' }, 'dry_run', 'dry_run must be true or false'],
])('%j: names %s', async (body, field, error) => {
  const { it } = await started()
  await using _ = it
  expect(await it.call(REDELIVER, body)).toMatchObject({ status: 400, body: { field, error } })
})

test('a redelivery has the same id and bytes and the whole retry schedule, and attempts count on', async () => {
  await using it = await startDelivering({ retry_delays_s: [0, 5] })
  it.receiver.answers.push(500, 500, 500)
  await it.deliver('dlv_1')
  await it.clock.advance(10_000)
  expect(it.row('dlv_1')).toMatchObject({ status: 'dead', attempts: 2 })

  const which = {
    since: 0,
    until: it.clock.now() + DAY_MS,
    statuses: ['dead'],
    webhook_id: null,
  } as const
  const redelivery = {
    customer_id: 'cus_1',
    which,
    dry_run: false,
    rows_max: 10,
    now: it.clock.now(),
  }
  expect(redeliver(it.db, redelivery)).toEqual({ queued: 1, skipped: 0 })
  it.nudge()
  await it.clock.advance(10_000)

  expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 4 })
  expect(new Set(it.receiver.received.map(({ text }) => text)).size).toBe(1)
  expect(it.db.query('SELECT n, round, http_status FROM attempts ORDER BY n').values()).toEqual([
    [1, 1, 500],
    [2, 1, 500],
    [3, 2, 500],
    [4, 2, 200],
  ])
})

test('more than the limit of one call is refused, and none is queued', async () => {
  await using it = await startDelivering({ retry_delays_s: [0] })
  it.receiver.answers.push(500, 500, 500)
  for (const id of ['dlv_1', 'dlv_2', 'dlv_3']) await it.deliver(id)
  const which = {
    since: 0,
    until: it.clock.now() + DAY_MS,
    statuses: ['dead'],
    webhook_id: null,
  } as const
  const redelivery = {
    customer_id: 'cus_1',
    which,
    dry_run: false,
    rows_max: 2,
    now: it.clock.now(),
  }
  expect(redeliver(it.db, redelivery)).toEqual({ too_many: true })
  expect(it.row('dlv_1').status).toBe('dead')
})

// Goal: whatever instant the process dies at, a committed match arrives, under one id and with the same bytes.
// Method: stop dead at each window between the commit of the match and the commit of its outcome, start again on the
// same file, and look at what the receiver got.

import { expect, test } from 'bun:test'

import { claimDue } from '../../src/store/outbox.ts'
import { type Delivering, startDelivering } from '../support/delivering.ts'

const SECOND = 1000
const HOUR = 3_600_000

const room = { slots: 10, of: () => 10 }

/** Takes the due rows as a sender does, and dies with them. */
function claimAndDie(it: Delivering, boot: string) {
  const claimed = claimDue(it.db, { boot, now: it.clock.now(), free: room, served_last: '' })
  it.die()
  return claimed.length
}

const interrupted = (it: Delivering) =>
  it.db.query<{ interrupted: number }, []>('SELECT interrupted FROM deliveries').get()?.interrupted

test('dead after the match was committed: the next start sends it', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  it.die()
  await it.reboot()

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('dead after the claim: the next start frees the lease at once and repeats the same rung', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  expect(claimAndDie(it, 'boot_dead')).toBe(1)
  await it.reboot()

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  expect(interrupted(it)).toBe(1)
})

test('dead while the receiver thinks: the same id and bytes come again, signed anew', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise })
  await it.deliver('dlv_1')
  it.die()
  release.resolve()
  await it.clock.advance(2 * SECOND)
  await it.reboot()

  const [first, second] = it.receiver.received
  expect(it.receiver.received).toHaveLength(2)
  expect(second?.text).toBe(first?.text ?? '')
  expect(second?.headers.get('x-service-delivery-id')).toBe('dlv_1')
  expect(second?.headers.get('x-service-signature')).not.toBe(
    first?.headers.get('x-service-signature') ?? '',
  )
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

const refuseOutcomes = (it: Delivering) =>
  it.db.run(
    "CREATE TRIGGER refuse BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'disk full'); END",
  )

test('dead inside the commit of a 2xx: the delivery comes again rather than never', async () => {
  await using it = await startDelivering()
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  expect(it.row('dlv_1')).toEqual({ status: 'pending', attempts: 0, last_error: null })
  it.db.run('DROP TRIGGER refuse')
  it.die()
  await it.reboot()

  expect(it.receiver.received).toHaveLength(2)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('an outcome that the disk refuses is kept and written later, not sent again', async () => {
  await using it = await startDelivering()
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  await it.clock.advance(60 * SECOND)
  expect(it.row('dlv_1').status).toBe('pending')
  it.db.run('DROP TRIGGER refuse')
  await it.clock.advance(SECOND)

  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  expect(it.receiver.received).toHaveLength(1)
})

test('what holds the place of an outcome that the disk refuses is free once that is written', async () => {
  await using it = await startDelivering({ concurrency: 1 })
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  it.db.run('DROP TRIGGER refuse')
  await it.clock.advance(SECOND)

  await it.deliver('dlv_2')
  expect(it.row('dlv_2').status).toBe('delivered')
})

test('an outcome that the disk refused is written before the sender is idle', async () => {
  await using it = await startDelivering()
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  it.db.run('DROP TRIGGER refuse')
  await it.sender.idle()

  expect(it.row('dlv_1').status).toBe('delivered')
})

test('a disk that fails, and is not merely full, is told to whoever runs the sender', async () => {
  await using it = await startDelivering()
  const release = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: release.promise })
  await it.deliver('dlv_1')
  it.db.run('PRAGMA query_only = ON')
  release.resolve()
  await it.clock.advance(0)
  it.db.run('PRAGMA query_only = OFF')

  expect(it.sender.turn()).rejects.toMatchObject({ code: 'SQLITE_READONLY' })
})

test('dead after the sixth failure was committed: dead it stays', async () => {
  await using it = await startDelivering({ retry_delays_s: [0] })
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  it.die()
  await it.reboot()
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'dead', attempts: 1, last_error: 'http_500' })
})

test('a retry that was waiting goes on from its rung after a start', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  it.die()
  await it.reboot()
  await it.clock.advance(4.9 * SECOND)

  expect(it.receiver.received).toHaveLength(1)
  await it.clock.advance(0.1 * SECOND)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 2, last_error: 'http_500' })
})

test('a delivery with which the process dies again and again is given up after twenty times', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  for (let n = 1; n <= 20; n++) {
    it.db.run("UPDATE deliveries SET lease = 'boot_dead' WHERE status = 'pending'")
    it.receiver.answers.push({ hang: true })
    it.die()
    await it.reboot()
  }
  expect(it.row('dlv_1').status).toBe('pending')

  it.die()
  await it.reboot()
  expect(it.row('dlv_1')).toEqual({
    status: 'dead',
    attempts: 0,
    last_error: 'interrupted_repeatedly',
  })
})

test('a fault of ours puts the attempt off for five seconds, and it is no rung of the ladder', async () => {
  let faults = 1
  const fraction = () => {
    if (faults-- > 0) throw new Error('a bug')
    return 0.5
  }
  await using it = await startDelivering({ fraction })
  await it.deliver('dlv_1')
  await it.clock.advance(4.9 * SECOND)
  expect(it.row('dlv_1')).toEqual({ status: 'pending', attempts: 0, last_error: null })
  expect(it.receiver.received).toHaveLength(1)

  await it.clock.advance(0.2 * SECOND)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('a retry set by a clock that ran a day ahead is due within its rung after a start', async () => {
  await using it = await startDelivering()
  it.clock.jump(24 * HOUR)
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  it.die()
  it.clock.jump(-24 * HOUR)
  await it.reboot()
  await it.clock.advance(5.5 * SECOND)

  expect(it.row('dlv_1').status).toBe('delivered')
})

test('a jump of the clock that could not be written down is followed as soon as it can be', async () => {
  await using it = await startDelivering()
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  it.db.run('PRAGMA query_only = 1')
  it.clock.jump(24 * HOUR)
  it.nudge()
  await it.clock.advance(0)
  it.db.run('PRAGMA query_only = 0')
  it.nudge()
  await it.clock.advance(0)
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', attempts: 1 })

  await it.clock.advance(5.5 * SECOND)
  expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 2 })
})

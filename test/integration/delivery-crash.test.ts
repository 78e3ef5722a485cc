// Goal: a committed match arrives after a crash at any instant, under one id and with the same
// bytes. Method: stop at each window between the commit of the match and the commit of its outcome,
// restart on the same file, and check the receiver.

import { expect, test } from 'bun:test'

import { connect, guardCommits, onCommit } from '../../src/store/db/connection.ts'
import { claimDue } from '../../src/store/delivery/outbox.ts'
import { IN_FLIGHT } from '../../src/store/delivery/pending.ts'
import { type Delivering, startDelivering } from '../support/delivery-fixture.ts'

const SECOND = 1000
const HOUR = 3_600_000

const free_slots = { slots: 10, of: () => 10 }

/** Claims the due rows like a sender, and crashes with them. */
function claimAndDie(it: Delivering, run_id: string) {
  const claimed = claimDue(it.db, {
    run_id,
    now: it.clock.now(),
    free: free_slots,
    served_last: '',
  })
  it.die()
  return claimed.length
}

const interrupted = (it: Delivering) =>
  it.db.query<{ interrupted: number }, []>('SELECT interrupted FROM deliveries').get()?.interrupted

test('crash after the match was committed: the next start sends it', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  it.die()
  await it.reboot()

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
})

test('crash after the claim: the next start repeats the same retry index', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  expect(claimAndDie(it, 'boot_dead')).toBe(1)
  await it.reboot()

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  expect(interrupted(it)).toBe(1)
})

test('crash during the attempt: the same id and bytes are sent again, with a new signature', async () => {
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

test('crash during the commit of a 2xx: the delivery is repeated rather than lost', async () => {
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

test('an outcome that cannot be stored is kept and stored later, not sent again', async () => {
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

test('outcomes that cannot be stored are one line of the log, and their end is another', async () => {
  await using it = await startDelivering()
  refuseOutcomes(it)
  for (const id of ['dlv_1', 'dlv_2', 'dlv_3']) await it.deliver(id)
  await it.clock.advance(60 * SECOND)
  const written = () =>
    it.events
      .filter(({ event }) => event.startsWith('delivery.write'))
      .map(({ level, event }) => [level, event])
  expect(written()).toEqual([['error', 'delivery.write_failed']])

  it.db.run('DROP TRIGGER refuse')
  await it.clock.advance(SECOND)
  expect(written()).toEqual([
    ['error', 'delivery.write_failed'],
    ['info', 'delivery.writes_recovered'],
  ])
})

test('the place of an unstored outcome is freed once it is stored', async () => {
  await using it = await startDelivering({ concurrency: 1 })
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  it.db.run('DROP TRIGGER refuse')
  await it.clock.advance(SECOND)

  await it.deliver('dlv_2')
  expect(it.row('dlv_2').status).toBe('delivered')
})

test('an unstored outcome is stored before the sender is idle', async () => {
  await using it = await startDelivering()
  refuseOutcomes(it)
  await it.deliver('dlv_1')
  it.db.run('DROP TRIGGER refuse')
  await it.sender.idle()

  expect(it.row('dlv_1').status).toBe('delivered')
})

test('an outcome after the end of the loop is stored at once, before the other attempts have ended', async () => {
  await using it = await startDelivering()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  it.receiver.answers.push({ until: first.promise }, { until: second.promise })
  await it.deliver('dlv_1')
  await it.deliver('dlv_2')
  it.stop()
  first.resolve()
  await it.clock.advance(0)

  expect(it.row('dlv_1').status).toBe('delivered')
  expect(it.row('dlv_2').status).toBe('pending')
  second.resolve()
})

test('outcomes and the claims that follow them share a commit', async () => {
  await using it = await startDelivering({ concurrency: 2 })
  const ids = ['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4']
  const both = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: both.promise }, { until: both.promise })
  for (const id of ids) it.put(id)
  const claimed = (id: string) =>
    it.db
      .query<{ row: number }, [string]>(
        `SELECT row FROM deliveries WHERE id = ? AND row IN ${IN_FLIGHT}`,
      )
      .get(id) !== null
  /** Per commit: deliveries that are recorded, and those that are claimed. */
  const commits: string[] = []
  onCommit(it.db, {
    mono: () => 0,
    observe: () => {
      const recorded = ids.filter((id) => it.row(id).status === 'delivered').length
      commits.push(`${recorded} ${ids.filter(claimed).length}`)
    },
  })
  it.nudge()
  await it.clock.advance(0)
  expect(commits).toEqual(['0 2'])

  both.resolve()
  await it.clock.advance(0)
  expect(it.rows().every(({ status }) => status === 'delivered')).toBe(true)
  // No commit leaves the places of ended attempts free while deliveries wait.
  expect(commits).not.toContain('1 1')
  expect(commits).not.toContain('2 0')
  expect(commits.at(-1)).toBe('4 0')
})

test('an outcome that cannot be stored holds up no other of the same commit', async () => {
  await using it = await startDelivering()
  const both = Promise.withResolvers<void>()
  it.receiver.answers.push({ until: both.promise }, { until: both.promise })
  it.put('dlv_1')
  it.put('dlv_2')
  it.db.run(`CREATE TRIGGER refuse BEFORE INSERT ON attempts
    WHEN NEW.delivery_row = (SELECT row FROM deliveries WHERE id = 'dlv_1') BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
  it.nudge()
  await it.clock.advance(0)
  both.resolve()
  await it.clock.advance(0)

  expect(it.row('dlv_1').status).toBe('pending')
  expect(it.row('dlv_2').status).toBe('delivered')
  it.db.run('DROP TRIGGER refuse')
  await it.clock.advance(SECOND)
  expect(it.row('dlv_1').status).toBe('delivered')
  expect(it.receiver.received).toHaveLength(2)
})

test('outcomes that another process holds up wait for its lock once, and are stored after it', async () => {
  await using it = await startDelivering()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  it.receiver.answers.push({ until: first.promise }, { until: second.promise })
  await it.deliver('dlv_1')
  await it.deliver('dlv_2')
  let begun = 0
  guardCommits(it.db, () => {
    begun += 1
    return true
  })
  const begunBy = async (ms: number) => {
    begun = 0
    await it.clock.advance(ms)
    return begun
  }
  it.db.run('PRAGMA busy_timeout = 20')
  using other = connect(it.path)
  other.run('BEGIN IMMEDIATE')
  first.resolve()
  expect(await begunBy(0)).toBe(1)
  second.resolve()
  // The outcome that waits, and the one that has come.
  expect(await begunBy(0)).toBe(2)
  // Both wait.
  expect(await begunBy(SECOND)).toBe(1)
  expect(it.rows().map(({ status }) => status)).toEqual(['pending', 'pending'])

  other.run('ROLLBACK')
  await it.clock.advance(SECOND)
  expect(it.rows().map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  expect(it.receiver.received).toHaveLength(2)
})

test('a failing disk that is not merely full is reported to the caller of the sender', async () => {
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

test('crash after the sixth failure was committed: it stays dead-lettered', async () => {
  await using it = await startDelivering({ retry_delays_s: [0] })
  it.receiver.answers.push(500)
  await it.deliver('dlv_1')
  it.die()
  await it.reboot()
  await it.clock.advance(HOUR)

  expect(it.receiver.received).toHaveLength(1)
  expect(it.row('dlv_1')).toEqual({ status: 'dead', attempts: 1, last_error: 'http_500' })
})

test('a waiting retry continues at its retry index after a start', async () => {
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

test('a delivery whose attempts crash the process is abandoned after twenty', async () => {
  await using it = await startDelivering()
  it.put('dlv_1')
  for (let n = 1; n <= 20; n++) {
    it.db.run(
      "INSERT INTO loop_state SELECT 'claims', 'boot_dead', json_array(json_array(row, 0)) FROM deliveries WHERE status = 'pending'",
    )
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

test('an internal error delays the attempt by five seconds, and does not advance the retry schedule', async () => {
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

test('a retry scheduled by a clock a day ahead is due within its delay after a start', async () => {
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

test('a clock jump that could not be stored is applied as soon as it can be', async () => {
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

import { describe, expect, test } from 'bun:test'

import { apiKey } from '../../src/core/base/ids.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { PRICES } from '../support/app-options.ts'
import { addKey } from '../support/customers.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'

const DAY_MS = 24 * 3_600_000

const comment = (it: Writing, name: string, text = 'Once') =>
  it.act(
    'v2/comment',
    { post_url: it.post.permalink, text },
    name === '' ? {} : { 'idempotency-key': name },
  )

/** Changes the database beside the running daemon. */
function beside<T>(it: Writing, work: (db: Db) => T): T {
  const { config, clock } = it.house
  const random = { uuid: () => crypto.randomUUID(), bytes: (size: number) => new Uint8Array(size) }
  const { db, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  try {
    return work(db)
  } finally {
    close()
  }
}

function secondKey(it: Writing, db: Db): string {
  const customer = db.query<{ id: string }, []>('SELECT id FROM customers').get()
  const token = apiKey('customer', new Uint8Array(32).fill(9))
  addKey(db, customer?.id ?? '', {
    token,
    scopes: ['write'],
    id: 'key_second',
    at: it.house.clock.now(),
  })
  return token
}

const names = (it: Writing) =>
  beside(it, (db) => db.query<{ name: string }, []>('SELECT name FROM idempotent_writes').all())

describe('a write with a lost answer', () => {
  test('exists at the platform once, is billed, and is not retried', async () => {
    await using it = await startWriting()
    it.sandbox.addFault({ path: '/api/comment', fault: 'lost_answer' })

    const { status, body } = await comment(it, '')

    expect([status, body.code]).toEqual([502, 'OUTCOME_UNKNOWN'])
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('is sent once, and a repeat with its key gets the same answer', async () => {
    await using it = await startWriting()
    it.sandbox.addFault({ path: '/api/comment', fault: 'lost_answer', times: 1 })

    const first = await comment(it, 'mine')
    const second = await comment(it, 'mine')

    expect(first.body.code).toBe('OUTCOME_UNKNOWN')
    expect([second.status, second.body]).toEqual([first.status, first.body])
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })
})

describe('a write with an Idempotency-Key', () => {
  test('is sent once, and repeats get its answer for free', async () => {
    await using it = await startWriting()
    const first = await comment(it, 'mine')
    const second = await comment(it, 'mine')

    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('x-credits-remaining')).toBeNull()
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('is a new write under another key, and without one', async () => {
    await using it = await startWriting()
    for (const name of ['a', 'b', '', '']) await comment(it, name)

    expect(it.comments()).toHaveLength(4)
  })

  test('is a new write on another route, and by another API key', async () => {
    await using it = await startWriting()
    const vote = await it.act('vote', it.WRITES.vote, { 'idempotency-key': 'mine' })
    const comments = await comment(it, 'mine')
    const authorization = `Bearer ${beside(it, (db) => secondKey(it, db))}`
    const others = await it.act(
      'v2/comment',
      { post_url: it.post.permalink, text: 'Once' },
      { 'idempotency-key': 'mine', authorization },
    )

    expect([vote.status, comments.status, others.status]).toEqual([200, 200, 200])
    expect(it.comments()).toHaveLength(2)
  })

  test('is refused with a different body, after any outcome of the first', async () => {
    await using it = await startWriting()
    await comment(it, 'mine')
    const other = await comment(it, 'mine', 'Twice')
    const others = await it.send(
      'v2/comment',
      { ...it.sessionOf('ben'), post_url: it.post.permalink, text: 'Once' },
      { 'idempotency-key': 'mine' },
    )

    expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    expect([others.status, others.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('is the same in any order of its fields', async () => {
    await using it = await startWriting()
    const headers = { 'idempotency-key': 'mine' }
    const fields = Object.entries({ ...it.ann, post_url: it.post.permalink, text: 'Once' })

    const first = await it.send('v2/comment', Object.fromEntries(fields), headers)
    const second = await it.send('v2/comment', Object.fromEntries(fields.toReversed()), headers)

    expect(second.body).toEqual(first.body)
    expect(it.comments()).toEqual(['Once'])
  })

  test('is in progress while its first call runs', async () => {
    await using it = await startWriting()
    it.sandbox.addFault({ path: '/api/comment', fault: 'slow', delay_s: 3600, times: 1 })

    const running = comment(it, 'mine')
    const seen = it.sandbox.requests.length
    while (it.sandbox.requests.length <= seen) await Bun.sleep(1)
    const second = await comment(it, 'mine')
    const other = await comment(it, 'mine', 'Twice')
    it.sandbox.advance(3600)
    const first = await running

    expect([second.status, second.body.code]).toEqual([409, 'IN_PROGRESS'])
    expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    expect(first.status).toBe(200)
    expect((await comment(it, 'mine')).body).toEqual(first.body)
    expect(it.comments()).toEqual(['Once'])
  })

  test('requested ten times concurrently is sent once', async () => {
    await using it = await startWriting()
    const answers = await Promise.all(Array.from({ length: 10 }, () => comment(it, 'mine')))

    const codes = answers.map(({ status, body }) => body.code ?? status)
    expect(codes.filter((code) => code === 200)).toHaveLength(1)
    expect(codes.filter((code) => code === 'IN_PROGRESS')).toHaveLength(9)
    expect(it.comments()).toEqual(['Once'])
  })
})

describe('a stored answer', () => {
  test.each([
    ['a refusal', { fault: 'form_error', code: 'THREAD_LOCKED' }, 409],
    ['a throttle', { fault: 'write_ratelimit', wait_s: 60 }, 502],
  ] as const)('%s is an answer, and is paid for once', async (_what, fault_rule, status) => {
    await using it = await startWriting()
    it.sandbox.addFault({ path: '/api/comment', ...fault_rule, times: 1 })

    const first = await comment(it, 'mine')
    const second = await comment(it, 'mine')

    expect([first.status, second.status]).toEqual([status, status])
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('retry-after')).toBe(first.headers.get('retry-after'))
    expect(it.comments()).toEqual([])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test.each([
    ['a block', { path: '/api/comment', fault: 'block_403_html' }],
    ['a platform that is not there', { path: '/api/me.json', fault: '5xx' }],
  ] as const)('%s has no effect, so that the key can be used again', async (_what, fault_rule) => {
    await using it = await startWriting()
    it.sandbox.addFault({ ...fault_rule, times: 1 })

    const first = await comment(it, 'mine')
    const second = await comment(it, 'mine')

    expect(first.status).toBeGreaterThanOrEqual(500)
    expect(second.status).toBe(200)
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('does not exist for a call refused before the platform request', async () => {
    await using it = await startWriting()
    const bad = await comment(it, 'mine', '')
    const proxied = await it.act(
      'v2/comment',
      { post_url: it.post.permalink, text: 'Once', proxy: 'http://10.0.0.1:1' },
      { 'idempotency-key': 'mine' },
    )
    const good = await comment(it, 'mine')

    expect([bad.status, proxied.status, good.status]).toEqual([400, 400, 200])
  })

  test('needs a valid key: others are refused before any work', async () => {
    await using it = await startWriting()
    const { status, body } = await comment(it, 'x'.repeat(129))

    expect([status, body.field]).toEqual([400, 'idempotency-key'])
    expect(it.comments()).toEqual([])
  })

  test('lasts a day, and then the key is new', async () => {
    await using it = await startWriting()
    await comment(it, 'mine')
    it.house.clock.jump(DAY_MS - 1000)
    const repeat = await comment(it, 'mine')
    it.house.clock.jump(1000)
    const again = await comment(it, 'mine')

    expect(repeat.headers.get('idempotent-replayed')).toBe('true')
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null])
    expect(it.comments()).toEqual(['Once', 'Once'])
  })
})

describe('a daemon that crashes', () => {
  test('during a write never repeats it', async () => {
    await using it = await startWriting()
    await comment(it, 'mine')
    // State after a crash between the platform's answer and the commit: the claim alone.
    beside(it, (db) => db.run('UPDATE idempotent_writes SET answer = NULL'))
    await it.house.restart()

    const again = await comment(it, 'mine')
    const other = await comment(it, 'mine', 'Twice')

    expect([again.status, again.body.code]).toEqual([502, 'OUTCOME_UNKNOWN'])
    expect(other.body.code).toBe('IDEMPOTENCY_MISMATCH')
    expect(it.comments()).toEqual(['Once'])
    expect(await it.spent()).toBe(PRICES.write)
  })

  test('and restarts still has the answers', async () => {
    await using it = await startWriting()
    const first = await comment(it, 'mine')
    await it.house.restart()

    expect((await comment(it, 'mine')).body).toEqual(first.body)
    expect(it.comments()).toEqual(['Once'])
  })
})

test('keys are deleted after a day', async () => {
  await using it = await startWriting()
  await comment(it, 'old')
  it.house.clock.jump(DAY_MS - 60_000)
  await comment(it, 'young')
  // The maintenance runs within the hour.
  await it.house.clock.advance(3_600_000)

  expect(names(it)).toEqual([{ name: 'young' }])
})

test('the database contains neither the session nor the text', async () => {
  await using it = await startWriting()
  await comment(it, 'my-own-name', 'Between the two of us')
  beside(it, (db) => db.run('PRAGMA wal_checkpoint(TRUNCATE)'))

  const file = Buffer.from(await Bun.file(`${it.house.dir}/forumd.sqlite`).bytes())
  expect(file.includes('my-own-name')).toBe(true)
  for (const secret of ['Between us', ...Object.values(it.ann)])
    expect(file.includes(secret)).toBe(false)
})

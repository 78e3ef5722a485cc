import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { feedback } from '../../src/api/feedback.ts'
import { insertCustomer } from '../../src/store/customers.ts'
import { openDb } from '../../src/store/db.ts'
import { insertFeedback } from '../../src/store/feedback.ts'
import { insertKey } from '../../src/store/keys.ts'
import { json, startHouse } from '../support/http.ts'
import { LIMITS } from '../support/quiet-app.ts'

// The commands are processes of their own, and the machine may be busy.
setDefaultTimeout(60_000)

const rowsShape = z.array(z.object({ id: z.string() }))
const NO_LIMIT = { feedback_per_minute: 0 }
const IDEA = { type: 'idea', title: 'Dark mode', details: 'My eyes hurt at night.' }

function start(limits: { feedback_per_minute?: number } = NO_LIMIT) {
  const house = startHouse({
    routes: (infra, db) => [feedback(infra, db)],
    limits: { ...LIMITS, ...limits },
  })
  return { house, send: (body: unknown) => house.call('/feedback', json(body)) }
}

/** A key of a second customer. */
function stranger(house: ReturnType<typeof start>['house']): Record<string, string> {
  insertCustomer(house.db, {
    id: 'cus_2',
    name: 'bob',
    plan: 'entry',
    created_at: house.clock.now(),
    starting_credit_micros: 0,
    payment_id: 'pay_2',
  })
  const token = `fk_${'b'.repeat(43)}`
  insertKey(house.db, {
    id: 'key_2',
    customer_id: 'cus_2',
    token,
    name: null,
    scopes: [],
    created_at: house.clock.now(),
    expires_at: null,
  })
  return { authorization: `Bearer ${token}` }
}

test('feedback is taken, can be read again, and costs nothing', async () => {
  const { house, send } = start()
  await using _ = house
  const sent = await send({ ...IDEA, area: 'dashboard', evidence: 'a picture' })
  const { id } = sent.body

  expect(sent.status).toBe(200)
  expect(sent.body).toEqual({
    id: expect.stringMatching(/^fb_[0-9a-f-]{36}$/),
    status: 'new',
    created_at: '2026-01-01T00:00:00.000Z',
  })
  expect(sent.headers.get('x-credits-remaining')).toBeNull()
  expect((await house.call(`/feedback/${String(id)}`)).body).toEqual({
    id,
    ...IDEA,
    area: 'dashboard',
    evidence: 'a picture',
    status: 'new',
    response: null,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  })
  expect(house.db.query('SELECT balance_micros FROM customers').all()).toEqual([
    { balance_micros: 500_000 },
  ])
})

test('what may be left out is null then', async () => {
  const { house, send } = start()
  await using _ = house
  const { body } = await send({ ...IDEA, evidence: null })

  expect((await house.call(`/feedback/${String(body['id'])}`)).body).toMatchObject({
    area: null,
    evidence: null,
  })
})

test.each([
  [{}, 'type', 'type is required: one of bug, idea, missing_capability'],
  [{ ...IDEA, type: 'rant' }, 'type', 'type must be one of bug, idea, missing_capability'],
  [{ ...IDEA, type: 7 }, 'type', 'type must be one of bug, idea, missing_capability'],
  [{ type: 'bug' }, 'title', 'title is required'],
  [{ ...IDEA, title: '' }, 'title', 'title must be text of 1 to 120 characters'],
  [{ ...IDEA, title: ' \n ' }, 'title', 'title must be text of 1 to 120 characters'],
  [{ ...IDEA, title: 'x'.repeat(121) }, 'title', 'title must be text of 1 to 120 characters'],
  [{ ...IDEA, title: ['x'] }, 'title', 'title must be text of 1 to 120 characters'],
  [{ type: 'bug', title: 'x' }, 'details', 'details is required'],
  [
    { ...IDEA, details: 'x'.repeat(8001) },
    'details',
    'details must be text of 1 to 8000 characters',
  ],
  [{ ...IDEA, area: 'x'.repeat(61) }, 'area', 'area must be text of 1 to 60 characters, or null'],
  [{ ...IDEA, area: 1 }, 'area', 'area must be text of 1 to 60 characters, or null'],
  [
    { ...IDEA, evidence: { url: 'x' } },
    'evidence',
    'evidence must be text of 1 to 8000 characters, or null',
  ],
  [
    { ...IDEA, status: 'shipped' },
    'status',
    'status is not a known field; allowed: type, title, details, area, evidence',
  ],
  [[], 'body', 'body must be a JSON object'],
])('feedback %j is refused by name, and nothing is kept', async (body, field, error) => {
  const { house, send } = start()
  await using _ = house
  const answer = await send(body)

  expect([answer.status, answer.body]).toEqual([400, { error, code: 'INVALID_REQUEST', field }])
  expect((await house.call('/feedback')).body['count']).toBe(0)
})

test('the longest that is allowed is kept whole', async () => {
  const { house, send } = start()
  await using _ = house
  const long = {
    type: 'missing_capability',
    title: 't'.repeat(120),
    details: 'd'.repeat(8000),
    area: 'a'.repeat(60),
    evidence: 'e'.repeat(8000),
  }
  const { body } = await send(long)

  expect((await house.call(`/feedback/${String(body['id'])}`)).body).toMatchObject(long)
})

test('the list goes from page to page, newest first, and through its filters', async () => {
  const { house, send } = start()
  await using _ = house
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) {
    const type = n % 2 === 0 ? 'bug' : 'idea'
    ids.unshift(String((await send({ ...IDEA, type, title: `number ${n}` })).body['id']))
  }
  house.db.run("UPDATE feedback SET status = 'triaged' WHERE title = 'number 3'")
  const list = async (query: string): Promise<Record<string, unknown>> => {
    const { body } = await house.call(`/feedback${query}`)
    return { ...body, feedback: rowsShape.parse(body['feedback']).map(({ id }) => id) }
  }

  const first = await list('?limit=2')
  expect(first).toEqual({ feedback: ids.slice(0, 2), count: 2, limit: 2, next_cursor: ids[1] })
  const second = await list(`?limit=2&cursor=${ids[1]}`)
  expect(second).toEqual({ feedback: ids.slice(2, 4), count: 2, limit: 2, next_cursor: ids[3] })
  const third = await list(`?limit=2&cursor=${ids[3]}`)
  expect(third).toEqual({ feedback: ids.slice(4), count: 1, limit: 2, next_cursor: null })
  expect((await list('?status=triaged'))['feedback']).toEqual([ids[1]])
  expect((await list('?type=idea'))['feedback']).toEqual([ids[1], ids[3]])
  expect((await list('?type=bug&status=triaged'))['feedback']).toEqual([])
})

test.each([
  ['?status=old', 'status', 'status must be one of new, triaged, shipped, declined'],
  ['?type=rant', 'type', 'type must be one of bug, idea, missing_capability'],
  ['?limit=101', 'limit', 'limit must be a whole number from 1 to 100'],
  ['?cursor=7', 'cursor', 'cursor must be the next_cursor of an earlier page'],
])('the list refuses %s by name', async (query, field, error) => {
  const { house } = start()
  await using _ = house
  const { status, body } = await house.call(`/feedback${query}`)

  expect([status, body]).toEqual([400, { error, code: 'INVALID_REQUEST', field }])
})

test('what another customer said is as if nobody had said it', async () => {
  const { house, send } = start()
  await using _ = house
  const id = String((await send(IDEA)).body['id'])
  const headers = stranger(house)
  const foreign = await house.call(`/feedback/${id}`, { headers })
  const absent = await house.call(`/feedback/${id.slice(0, -1)}x`, { headers })

  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  expect((await house.call('/feedback', { headers })).body['count']).toBe(0)
  expect((await house.call(`/feedback?cursor=${id}x`, { headers })).body['count']).toBe(0)
})

test('feedback is ten calls a minute for each key', async () => {
  const { house, send } = start({})
  await using _ = house
  const headers = stranger(house)
  const statuses: number[] = []
  for (let n = 0; n < 5; n += 1) {
    statuses.push((await send(IDEA)).status)
    statuses.push((await house.call('/feedback')).status)
  }
  const over = await send(IDEA)

  expect(statuses).toEqual(Array.from({ length: 10 }, () => 200))
  expect(over.status).toBe(429)
  expect(over.body).toMatchObject({ code: 'rate_limited', retry_after: 6 })
  expect((await house.call('/feedback', { headers })).status).toBe(200)
})

const MAIN = join(import.meta.dir, '../../src/main.ts')
let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'forumd-feedback-'))
  writeFileSync(
    join(dir, 'forumd.toml'),
    '[platform]\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n',
  )
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function forumd(args: string[], stdin = '') {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, MAIN, ...args], {
    cwd: dir,
    stdin: Buffer.from(stdin),
    env: { PATH: process.env['PATH'] ?? '' },
  })
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

test('an operator lists feedback and answers it on the command line', () => {
  expect(forumd(['key', 'create', '--customer', 'ann']).code).toBe(0)
  expect(forumd(['feedback', 'list']).out).toBe('There is no such feedback.\n')
  const db = openDb(join(dir, 'data/forumd.sqlite'))
  const { id: customer_id } = db.query<{ id: string }, []>('SELECT id FROM customers').get() ?? {
    id: '',
  }
  const said = { type: 'bug' as const, details: 'It did.', area: null, evidence: null }
  for (const n of [1, 2])
    insertFeedback(db, { ...said, id: `fb_${n}`, title: `bug ${n}`, customer_id, created_at: n })
  const unruly = 'a\u001b[2Jb'
  insertFeedback(db, { ...said, id: 'fb_0', title: unruly, customer_id, created_at: 0 })
  db.close()

  const answered = forumd(
    ['feedback', 'answer', 'fb_1', '--status', 'shipped', '--response', '-'],
    'in 1.1\n',
  )
  const rows = JSON.parse(forumd(['feedback', 'list', '--json']).out).feedback

  expect(answered).toEqual({ code: 0, out: 'bug 1: shipped, “in 1.1”\n', err: '' })
  // What a customer wrote does nothing to the operator's terminal.
  expect(forumd(['feedback', 'answer', 'fb_0', '--status', 'new']).out).toBe('a\\u001b[2Jb: new\n')
  expect(forumd(['feedback', 'list']).out).not.toContain('\u001b')
  expect(rows).toMatchObject([
    { id: 'fb_2', customer: 'ann', status: 'new', response: null, title: 'bug 2' },
    { id: 'fb_1', customer: 'ann', status: 'shipped', response: 'in 1.1', details: 'It did.' },
    { id: 'fb_0', title: unruly },
  ])
  expect(forumd(['feedback', 'list', '--status', 'new']).out).toContain('fb_2')
  expect(forumd(['feedback', 'list', '--status', 'new']).out).not.toContain('fb_1')
})

test.each([
  [
    ['list', '--status', 'old'],
    2,
    '--status is "old": allowed are new, triaged, shipped, declined',
  ],
  [['answer', 'fb_1'], 2, '--status STATUS or --response TEXT is needed'],
  [['answer', 'fb_1', '--response', ' '], 2, '--response must have 1 to 8000 characters'],
  [
    ['answer', 'fb_9', '--status', 'new'],
    1,
    'there is no feedback "fb_9": see forumd feedback list',
  ],
])('forumd feedback %j says what is wrong', (args, code, sentence) => {
  const ended = forumd(['feedback', ...args])

  expect([ended.code, ended.out]).toEqual([code, ''])
  expect(ended.err).toContain(sentence)
})

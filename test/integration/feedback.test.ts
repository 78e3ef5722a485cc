import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { feedback } from '../../src/api/account/feedback.ts'
import { REMOVED } from '../../src/core/base/removed.ts'
import { findFeedback, insertFeedback } from '../../src/store/customers/feedback.ts'
import { openDb } from '../../src/store/db/connection.ts'
import { LIMITS } from '../support/app-options.ts'
import { addCustomer, addKey } from '../support/customers.ts'
import { PROGRAM } from '../support/process.ts'
import { json, startTestApi } from '../support/test-api.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

// Each command starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

const NO_LIMIT = { feedback_per_minute: 0 }
const IDEA = { type: 'idea', title: 'Dark mode', details: 'My eyes hurt at night.' }

const ROOM = { feedback_rows: 200, feedback_kib: 1024, feedback_days: 365 }

function start(
  limits: { feedback_per_minute?: number } = NO_LIMIT,
  room: Partial<typeof ROOM> = {},
) {
  const daemon = startTestApi({
    routes: (context, db) => [
      feedback(context, { db, limits: { ...ROOM, ...room }, notify: () => {} }),
    ],
    limits: { ...LIMITS, ...limits },
  })
  return { house: daemon, send: (body: unknown) => daemon.call('/feedback', json(body)) }
}

/** A key of a second customer. */
function newCustomerHeaders(daemon: ReturnType<typeof start>['house']): Record<string, string> {
  addCustomer(daemon.db, 'cus_2', { name: 'bob', at: daemon.clock.now() })
  const token = `fk_${'b'.repeat(43)}`
  addKey(daemon.db, 'cus_2', { token, id: 'key_2', at: daemon.clock.now() })
  return { authorization: `Bearer ${token}` }
}

test('the removed list is 405, and says what replaces it', async () => {
  const { house: daemon } = start()
  await using _ = daemon
  const { status, body } = await daemon.call('/feedback')

  expect([status, body['message']]).toEqual([
    405,
    `${REMOVED.methods['GET /feedback']}; allowed: POST`,
  ])
})

test('evidence may be an object, which is shown as its JSON', async () => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const { status, body } = await send({ ...IDEA, evidence: { url: 'https://a.test/', n: 2 } })

  expect(status).toBe(200)
  expect((await daemon.call(`/feedback/${String(body.id)}`)).body).toMatchObject({
    evidence: '{"url":"https://a.test/","n":2}',
  })
})

test('feedback is stored, readable, and free', async () => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const sent = await send({ ...IDEA, area: 'dashboard', evidence: 'a picture' })
  const { id } = sent.body

  expect(sent.status).toBe(200)
  expect(sent.body).toEqual({
    id: expect.stringMatching(/^fb_[0-9a-f-]{36}$/),
    status: 'new',
    created_at: '2026-01-01T00:00:00.000Z',
  })
  expect(sent.headers.get('x-credits-remaining')).toBeNull()
  expect((await daemon.call(`/feedback/${String(id)}`)).body).toEqual({
    id,
    ...IDEA,
    area: 'dashboard',
    evidence: 'a picture',
    status: 'new',
    response: null,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  })
  expect(daemon.db.query('SELECT balance_micros FROM customers').all()).toEqual([
    { balance_micros: 500_000 },
  ])
})

test('absent optional fields are null', async () => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const { body } = await send({ ...IDEA, evidence: null })

  expect((await daemon.call(`/feedback/${String(body['id'])}`)).body).toMatchObject({
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
    { ...IDEA, evidence: ['x'] },
    'evidence',
    'evidence must be text or an object of 1 to 8000 characters, or null',
  ],
  [
    { ...IDEA, evidence: { log: 'x'.repeat(8000) } },
    'evidence',
    'evidence must be text or an object of 1 to 8000 characters, or null',
  ],
  [
    { ...IDEA, status: 'shipped' },
    'status',
    'status is not a known field; allowed: type, title, details, area, evidence',
  ],
  [[], 'body', 'body must be a JSON object'],
])('feedback %j is refused by field, and nothing is stored', async (body, field, error) => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const answer = await send(body)

  expect([answer.status, answer.body]).toMatchObject([
    400,
    { error, code: 'INVALID_REQUEST', field },
  ])
  expect(daemon.db.query('SELECT count(*) AS n FROM feedback').get()).toEqual({ n: 0 })
})

test('the longest permitted feedback is stored in full', async () => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const long = {
    type: 'missing_capability',
    title: 't'.repeat(120),
    details: 'd'.repeat(8000),
    area: 'a'.repeat(60),
    evidence: 'e'.repeat(8000),
  }
  const { body } = await send(long)

  expect((await daemon.call(`/feedback/${String(body['id'])}`)).body).toMatchObject(long)
})

test('feedback of another customer appears absent', async () => {
  const { house: daemon, send } = start()
  await using _ = daemon
  const id = String((await send(IDEA)).body['id'])
  const headers = newCustomerHeaders(daemon)
  const foreign = await daemon.call(`/feedback/${id}`, { headers })
  const absent = await daemon.call(`/feedback/${id.slice(0, -1)}x`, { headers })

  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
})

test('feedback is ten calls a minute for each key', async () => {
  const { house: daemon, send } = start({})
  await using _ = daemon
  const headers = newCustomerHeaders(daemon)
  const statuses: number[] = []
  for (let n = 0; n < 5; n += 1) {
    statuses.push((await send(IDEA)).status)
    statuses.push((await daemon.call('/feedback/fb_none')).status)
  }
  const over = await send(IDEA)

  expect(statuses).toEqual(Array.from({ length: 5 }, () => [200, 404]).flat())
  expect(over.status).toBe(429)
  expect(over.body).toMatchObject({ code: 'rate_limited', retry_after: 6 })
  expect((await daemon.call('/feedback/fb_none', { headers })).status).toBe(404)
})

let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'forumd-feedback-'))
  writeFileSync(
    join(dir, 'forumd.toml'),
    '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n',
  )
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function forumd(args: string[], stdin = '') {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...PROGRAM, ...args], {
    cwd: dir,
    stdin: Buffer.from(stdin),
    env: { PATH: process.env['PATH'] ?? '' },
  })
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

test('an operator answers feedback on the command line, and GET has the answer', async () => {
  expect(forumd(['key', 'create', '--customer', 'ann']).code).toBe(0)
  const db = openDb(join(dir, 'data/forumd.sqlite'))
  const { id: customer_id } = db.query<{ id: string }, []>('SELECT id FROM customers').get() ?? {
    id: '',
  }
  const report = { type: 'bug' as const, details: 'It did.', area: null, evidence: null }
  for (const [id, title] of Object.entries({ fb_0: 'a\u001b[2Jb', fb_1: 'bug 1' }))
    insertFeedback(db, { ...report, id, title, customer_id, created_at: 1 })

  expect(forumd(['feedback', 'answer', 'fb_1', '-', '--status', 'shipped'], 'in 1.1\n')).toEqual({
    code: 0,
    out: 'bug 1: shipped, answered\n',
    err: '',
  })
  // Control characters of a customer's text do not reach the operator's terminal.
  expect(forumd(['feedback', 'answer', 'fb_0', 'noted']).out).toBe(
    'a\\u001b[2Jb: triaged, answered\n',
  )
  expect(findFeedback(db, customer_id, 'fb_1')).toMatchObject({
    status: 'shipped',
    response: 'in 1.1',
  })
  db.close()
})

test.each([
  [['answer', 'fb_1', 'x', '--status', 'old'], 2, 'status must be one of new, triaged'],
  [['answer', 'fb_1'], 2, 'TEXT'],
  [['answer', 'fb_1', ' '], 2, 'text must have 1 to 8000 characters'],
  [['answer', 'fb_9', 'x'], 1, 'there is no feedback "fb_9"'],
  [['list'], 2, 'forumd feedback answer ID TEXT'],
])('forumd feedback %j reports its problem', (args, code, sentence) => {
  const ended = forumd(['feedback', ...args])

  expect([ended.code, ended.out]).toEqual([code, ''])
  expect(ended.err).toContain(sentence)
})

test('the operator receives a notice with id and text', async () => {
  const notices: unknown[] = []
  using receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      notices.push(await request.json())
      return new Response()
    },
  })
  await using daemon = await startTestDaemon({
    change(config) {
      config.operator.webhook = receiver.url.href
    },
  })
  const sent = await daemon.send('/feedback', {
    type: 'bug',
    title: 'it broke',
    details: 'It did, "twice".',
    area: 'inbox',
    evidence: { n: 2 },
  })
  const { id } = sent.body
  await daemon.clock.advance(2000)

  expect(notices).toMatchObject([
    {
      event: 'feedback.received',
      kind: 'feedback_received',
      subject: id,
      message: [
        'Feedback of the customer ann (bug): it broke',
        'It did, "twice".',
        'inbox',
        '{"n":2}',
        `Answer it on the host: forumd feedback answer ${id} TEXT`,
      ].join('\n\n'),
    },
  ])
})

test('the number of stored feedback is limited per customer', async () => {
  const { house: daemon, send } = start(NO_LIMIT, { feedback_rows: 3 })
  await using _ = daemon
  for (let n = 0; n < 3; n += 1) expect((await send(IDEA)).status).toBe(200)
  const more = await send(IDEA)

  expect([more.status, more.body]).toEqual([
    409,
    {
      error: 'feedback_exhausted',
      code: 'feedback_exhausted',
      message:
        'a customer may have 3 pieces of feedback stored; each is deleted 365 days after its last change',
      limit: 3,
    },
  ])
  const headers = newCustomerHeaders(daemon)
  expect((await daemon.call('/feedback', json(IDEA, headers))).status).toBe(200)
})

test('stored bytes are limited: a key can store one MiB', async () => {
  const { house: daemon, send } = start(NO_LIMIT, { feedback_rows: 0 })
  await using _ = daemon
  const large = { ...IDEA, details: '€'.repeat(8000), evidence: '€'.repeat(8000) }
  let stored = 0
  for (let n = 0; n < 100; n += 1) stored += (await send(large)).status === 200 ? 1 : 0

  expect(stored).toBe(21)
  expect((await send(large)).body).toMatchObject({ code: 'feedback_exhausted', limit: 1024 })
  expect(
    daemon.db
      .query('SELECT sum(octet_length(details) + octet_length(evidence)) AS n FROM feedback')
      .get(),
  ).toEqual({ n: 21 * 48_000 })
})

test('a limit of 0 means none', async () => {
  const none = { feedback_rows: 0, feedback_kib: 0, feedback_days: 0 }
  const { house: daemon, send } = start(NO_LIMIT, none)
  await using _ = daemon
  for (let n = 0; n < 210; n += 1) expect((await send(IDEA)).status).toBe(200)
})

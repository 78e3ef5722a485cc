// Goal: a proposed write is made once, after a person has approved it, as the account that the
// person selects.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { apiKey } from '../../src/core/base/ids.ts'
import { moveDraft } from '../../src/store/customers/drafts.ts'
import { addAccounts } from '../support/accounts.ts'
import { addKey } from '../support/customers.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'
import { beside, operatorKey, pageOf } from './operator-fixture.ts'

const HOUR_MS = 3_600_000

let it: Writing
let operator: string
beforeAll(async () => {
  it = await startWriting({
    change: ({ limits }) => {
      limits.management_per_minute = 0
      limits.key_rate = 0
    },
  })
  operator = operatorKey(it.house)
  it.sandbox.user({ name: 'carl' })
  const { cookies } = it.sandbox.session({ username: 'carl' })
  addAccounts(it.house, [
    { name: 'main', username: 'carl', cookies },
    { name: 'empty' },
    {
      name: 'app',
      secrets: { kind: 'oauth', client_id: 'a', client_secret: 'b', refresh_token: 'c' },
    },
  ])
  await it.house.clock.advance(2000)
})
afterAll(() => it[Symbol.asyncDispose]())

const post = (path: string, body: object, key?: string) =>
  it.house.call(path, { method: 'POST', body: JSON.stringify(body) }, key)
const draft = async (text: string) => {
  const body = { post_url: it.post.permalink, text }
  const created = await post('/drafts', { action: 'comment', body })
  expect(created.status).toBe(200)
  return created.body
}
const read = async (id: string) => (await it.house.call(`/drafts/${id}`)).body
const count = (text: string) => it.comments().filter((one) => one === text).length

/** A decision as the audit list has it. */
const decided = (action: string, id: string, account: string | null) => ({
  action,
  subject: { id, name: 'comment' },
  detail: { customer: 'ann', account },
})

describe('a draft', () => {
  test('waits for 24 hours, costs nothing, and writes nothing', async () => {
    const before = await it.spent()
    const draft_created = await draft('Not yet')

    expect(draft_created).toMatchObject({
      id: expect.stringMatching(/^drf_/),
      action: 'comment',
      body: { text: 'Not yet' },
      status: 'waiting',
      customer: { name: 'ann' },
      answer: null,
    })
    expect(Date.parse(draft_created.expires_at) - Date.parse(draft_created.created_at)).toBe(
      24 * HOUR_MS,
    )
    expect(count('Not yet')).toBe(0)
    expect(await it.spent()).toBe(before)
    expect((await it.house.call('/drafts?status=waiting')).body.drafts).toContainEqual(
      draft_created,
    )
  })

  test.each([
    [{ body: {} }, 'action', 'action is required'],
    [{ action: 'login', body: {} }, 'action', 'action must be one of comment, vote'],
    [{ action: 'vote' }, 'body', 'body is required'],
    [{ action: 'vote', body: [] }, 'body', 'body must be an object'],
    [{ action: 'vote', body: { direction: 'up' } }, 'id', 'id or url is required'],
    [{ action: 'vote', body: { id: 't3_a', direction: 'left' } }, 'direction', 'one of up, down'],
    [{ action: 'comment', body: { text: 'so' } }, 'post_url', 'post_url is required'],
    [
      { action: 'dm', body: { to: 'ben', subject: 'a', text: 'b', bcc: 'c' } },
      'bcc',
      'not a known',
    ],
  ])('%j is refused by its field', async (body, field, sentence) => {
    const { status, body: response_body } = await post('/drafts', body)

    expect({ status, field: response_body.field }).toEqual({ status: 400, field })
    expect(response_body.error).toContain(sentence)
  })

  test.each(['forum_session', 'loid', 'cookies', 'proxy', 'token_v2'])(
    'holds no %s',
    async (field) => {
      const body = { id: it.post.name, direction: 'up', [field]: 'x' }
      const { status, body: response_body } = await post('/drafts', { action: 'vote', body })

      expect({ status, code: response_body.code, field: response_body.field }).toEqual({
        status: 400,
        code: 'INVALID_FIELD',
        field: `body.${field}`,
      })
    },
  )
})

test('a key without the scope write cannot create drafts, and can list them', async () => {
  const { id, customer } = await draft('Seen by all keys')
  const token = apiKey('customer', crypto.getRandomValues(new Uint8Array(32)))
  beside(it.house, ({ db }) =>
    addKey(db, customer.id, {
      token,
      scopes: ['read'],
      id: 'key_reader',
      at: it.house.clock.now(),
    }),
  )
  const body = { id: it.post.name, direction: 'up' }
  const refused = [
    await post('/drafts', { action: 'vote', body }, token),
    await post(`/drafts/${id}/approve`, it.ann, token),
    await post(`/drafts/${id}/decline`, {}, token),
  ]

  expect(refused.map(({ status, body: response_body }) => [status, response_body.reason])).toEqual(
    Array.from({ length: 3 }, () => [403, 'scope']),
  )
  expect((await it.house.call(`/drafts/${id}`, {}, token)).body.status).toBe('waiting')
})

test('a disabled write cannot be drafted or approved', async () => {
  const body = { action: 'vote', body: { id: it.post.name, direction: 'up' } }
  const { id } = (await post('/drafts', body)).body
  it.house.config.features.vote = false
  const refused = [await post('/drafts', body), await post(`/drafts/${id}/approve`, it.ann)]
  it.house.config.features.vote = true

  expect(refused.map(({ status, body: response_body }) => [status, response_body.code])).toEqual([
    [403, 'FEATURE_DISABLED'],
    [403, 'FEATURE_DISABLED'],
  ])
  expect((await read(id)).status).toBe('waiting')
})

describe('a customer', () => {
  test('approves with a session, and the draft is written and billed once', async () => {
    const { id } = await draft('Agreed')
    const before = await it.spent()
    const { status, body, headers } = await post(`/drafts/${id}/approve`, it.ann)

    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'approved',
      answer: { success: true, comment: { author: 'ann', body: 'Agreed' } },
    })
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    expect(count('Agreed')).toBe(1)
    expect((await it.spent()) - before).toBe(12_000)
  })

  test('that approves twice concurrently causes one write', async () => {
    const { id } = await draft('Once')
    const both = await Promise.all([1, 2].map(() => post(`/drafts/${id}/approve`, it.ann)))
    const third = await post(`/drafts/${id}/approve`, it.ann)

    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    expect(third.status).toBe(409)
    expect(third.body).toMatchObject({ code: 'draft_not_waiting', status: 'approved' })
    expect(count('Once')).toBe(1)
  })

  test('that declines causes no write, and later calls report the decision', async () => {
    const { id } = await draft('Never')
    expect((await post(`/drafts/${id}/decline`, {})).body.status).toBe('declined')
    const late_approval = await post(`/drafts/${id}/approve`, it.ann)

    expect(late_approval.body).toMatchObject({
      code: 'draft_not_waiting',
      status: 'declined',
      message: 'this draft is declined already',
    })
    expect((await post(`/drafts/${id}/decline`, {})).status).toBe(409)
    expect(count('Never')).toBe(0)
  })

  test('cannot change the content by approving it', async () => {
    const { id } = await draft('As it was')
    const changed = await post(`/drafts/${id}/approve`, { ...it.ann, text: 'Otherwise' })

    expect(changed.status).toBe(400)
    expect(changed.body.field).toBe('text')
    expect(changed.body.error).toContain('text is not a field of a session')
    expect((await read(id)).status).toBe('waiting')
  })

  test.each([
    [{}, 400, 'SESSION_REQUIRED'],
    [{ loid: 'a' }, 400, 'INCOMPLETE_SESSION'],
    [{ forum_session: 'dead', loid: 'dead' }, 401, 'REAUTH_REQUIRED'],
  ])('that sends %j gets an error, and the draft stays open', async (session, status, code) => {
    const { id } = await draft(`Waits for ${code}`)
    const refused = await post(`/drafts/${id}/approve`, session)

    expect({ status: refused.status, code: refused.body.code }).toEqual({ status, code })
    expect((await read(id)).status).toBe('waiting')
    expect((await post(`/drafts/${id}/approve`, it.ann)).status).toBe(200)
    expect(count(`Waits for ${code}`)).toBe(1)
  })

  test("gets the platform's permanent refusal, and the draft has failed", async () => {
    const body = { to: 'unknown-user', subject: 'Hello', text: 'there' }
    const { id } = (await post('/drafts', { action: 'dm', body })).body
    const refused = await post(`/drafts/${id}/approve`, it.ann)

    expect(refused.status).toBe(404)
    expect(await read(id)).toMatchObject({ status: 'failed', answer: { code: 'NOT_FOUND' } })
  })

  test('cannot list or decide drafts of another customer', async () => {
    const bob = it.house.mint('bob')
    const { id } = await draft('Ours')
    const foreign = [
      await it.house.call(`/drafts/${id}`, {}, bob),
      await post(`/drafts/${id}/approve`, it.ann, bob),
      await post(`/drafts/${id}/decline`, {}, bob),
    ]

    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404])
    expect((await it.house.call('/drafts', {}, bob)).body).toEqual({
      drafts: [],
      count: 0,
      limit: 25,
      next_cursor: null,
    })
    expect((await read(id)).status).toBe('waiting')
  })

  test('has at most a hundred waiting drafts', async () => {
    const eve = it.house.mint('eve')
    const body = { action: 'vote', body: { id: it.post.name, direction: 'up' } }
    for (let open_count = 0; open_count < 100; open_count++)
      expect((await post('/drafts', body, eve)).status).toBe(200)
    const { status, body: response_body } = await post('/drafts', body, eve)

    expect({ status, code: response_body.code }).toEqual({ status: 409, code: 'drafts_exhausted' })
    const page = (await it.house.call('/drafts?limit=60', {}, eve)).body
    const rest = (await it.house.call(`/drafts?limit=60&cursor=${page.next_cursor}`, {}, eve)).body
    expect([page.count, rest.count, rest.next_cursor]).toEqual([60, 40, null])
  })
})

describe('the operator', () => {
  test('approves for an account of the pool, at the customer’s cost', async () => {
    const { id } = await draft('By the house')
    const before = await it.spent()
    const { status, body } = await post(
      `/operator/drafts/${id}/approve`,
      { account: 'main' },
      operator,
    )

    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'approved',
      account: 'main',
      answer: { comment: { author: 'carl', body: 'By the house' } },
    })
    expect((await it.spent()) - before).toBe(12_000)
    expect((await read(id)).account).toBeUndefined()
    // The placeholder of the session is never sent.
    expect(it.sandbox.requests.filter(({ cookies }) => cookies.includes('lent'))).toEqual([])
    expect(it.sandbox.requests.some(({ user }) => user === 'carl')).toBe(true)
  })

  test.each([
    [{}, 'account is required'],
    [{ account: 'unknown' }, 'the name of an account of the pool'],
    [{ account: 'empty' }, 'empty is needs_login'],
    [{ account: 'app' }, 'application has no session'],
  ])('that names %j gets the reason of the refusal', async (body, sentence) => {
    const { id } = await draft('Waits for an account')
    const { status, body: response_body } = await post(
      `/operator/drafts/${id}/approve`,
      body,
      operator,
    )

    expect({ status, field: response_body.field }).toEqual({ status: 400, field: 'account' })
    expect(response_body.error).toContain(sentence)
    expect((await read(id)).status).toBe('waiting')
  })

  test('lists drafts of all customers, and declines them', async () => {
    const { id } = await draft('Seen')
    const { body } = await it.house.call('/operator/drafts?status=waiting', {}, operator)
    expect(body.drafts.map((one: { id: string }) => one.id)).toContain(id)

    const declined = await post(`/operator/drafts/${id}/decline`, {}, operator)
    expect(declined.body.status).toBe('declined')
    expect((await it.house.call('/operator/drafts', {})).status).toBe(403)
  })

  test('records each decision once, without the text', async () => {
    const [approved, declined] = [await draft('canary-yes'), await draft('canary-no')]
    const decide = (id: string, how: string, body: object = {}) =>
      post(`/operator/drafts/${id}/${how}`, body, operator)
    await decide(approved.id, 'approve', { account: 'main' })
    await decide(declined.id, 'decline')
    expect((await decide(declined.id, 'decline')).status).toBe(409)
    expect((await decide(declined.id, 'approve', { account: 'main' })).status).toBe(409)
    const { actions } = (await it.house.call('/operator/audit', {}, operator)).body

    expect(actions.slice(0, 2)).toMatchObject([
      decided('draft.declined', declined.id, null),
      decided('draft.approved', approved.id, 'main'),
    ])
    expect(JSON.stringify(actions)).not.toContain('canary')
  })

  test('does the same from the dashboard', async () => {
    const { id } = await draft('From the page')
    const headers = await pageOf(it.house, operator)
    const answer = await fetch(`${it.house.url()}/dashboard/api/operator/drafts/${id}/approve`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ account: 'main' }),
    })

    expect(answer.status).toBe(200)
    expect(await read(id)).toMatchObject({ status: 'approved' })
  })
})

describe('time', () => {
  test('ends a draft after 24 hours', async () => {
    const { id } = await draft('Too late')
    // Instead of a day of a running daemon, the expiry is moved to the past.
    beside(it.house, ({ db }) => {
      db.query('UPDATE drafts SET expires_at = $now WHERE id = $id').run({
        id,
        now: it.house.clock.now(),
      })
    })
    const late_approval = await post(`/drafts/${id}/approve`, it.ann)

    expect((await read(id)).status).toBe('expired')
    expect({ status: late_approval.status, ...late_approval.body }).toMatchObject({
      code: 'draft_not_waiting',
      message: 'this draft has ended: not approved within 24 hours',
    })
    expect(late_approval.status).toBe(409)
    expect(count('Too late')).toBe(0)
  })

  test('a daemon killed during a write leaves a draft that is never written twice', async () => {
    const { id } = await draft('Who knows')
    beside(it.house, ({ db }) => {
      moveDraft(db, id, { to: 'running', now: it.house.clock.now() })
    })
    await it.house.restart()

    expect(await read(id)).toMatchObject({ status: 'failed', answer: { code: 'OUTCOME_UNKNOWN' } })
    expect((await post(`/drafts/${id}/approve`, it.ann)).status).toBe(409)
  })
})

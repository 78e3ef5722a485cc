import { expect, setDefaultTimeout, test } from 'bun:test'

import * as z from 'zod'

import { revokeKey } from '../../src/store/keys.ts'
import { addAccounts } from '../support/accounts.ts'
import { beside, type House, operatorKey, pageOf, startOperated } from './operator-stage.ts'

// A daemon for each of them, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND

const snapshotShape = z.object({
  at: z.string(),
  last_minute: z.record(z.string(), z.number()),
  pending: z.number(),
  recent: z.array(z.record(z.string(), z.string().nullable())),
  accounts: z.record(z.string(), z.number()).optional(),
})

/** Real time, for what comes over a socket: it is waited for as long as the test may last. */
async function until(there: () => boolean): Promise<void> {
  while (!there()) await Bun.sleep(2)
}

/** Listens as the page does. */
async function listen(house: House, headers: Record<string, string>) {
  const left = new AbortController()
  const answer = await fetch(`${house.url()}/dashboard/live`, { headers, signal: left.signal })
  let text = ''
  let over = false
  const read = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true })
  })()
    .catch(() => {})
    .finally(() => {
      over = true
    })
  const snapshots = () =>
    [...text.matchAll(/^event: snapshot\ndata: (.*)\n\n/gm)].map(([, data = '']) =>
      snapshotShape.parse(JSON.parse(data)),
    )
  return {
    status: answer.status,
    headers: answer.headers,
    text: () => text,
    snapshots,
    latest: () => snapshots().at(-1),
    over: () => over,
    /** Lets time go on until something like this was told. */
    async told(like: (snapshot: z.infer<typeof snapshotShape>) => boolean) {
      for (let n = 0; n < 120 && !snapshots().some(like); n += 1) await house.clock.advance(SECOND)
      return snapshots().find(like)
    },
    async [Symbol.asyncDispose]() {
      left.abort()
      await read
    },
  }
}

const watch = async (house: House, as: string, name: string) => {
  const send = async (path: string, body: object) => {
    const { status } = await house.call(path, { method: 'POST', body: JSON.stringify(body) }, as)
    expect(status).toBe(200)
  }
  await send('/forum/monitor/webhook/create', { url: house.receiver.url })
  await send('/forum/monitor/add', { name, filter_spec: { subforum: 'coffee', q: name } })
}

test('what is going on is told at once, and then whenever it is something else', async () => {
  await using house = await startOperated()
  await using page = await listen(house, await pageOf(house, house.key))
  await until(() => page.snapshots().length === 1)

  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(page.headers.get('cache-control')).toBe('no-store')
  expect(page.headers.get('access-control-allow-origin')).toBeNull()
  expect(page.latest()).toEqual({
    at: '2026-01-01T00:00:00.000Z',
    last_minute: {
      checks: 0,
      items_seen: 0,
      matches: 0,
      delivered: 0,
      failed: 0,
      reads: 0,
      spent_usd: 0,
    },
    pending: 0,
    recent: [],
  })
  await house.clock.advance(10 * SECOND)
  expect(page.snapshots()).toHaveLength(1)

  await house.call('/api/forum/posts?subforum=coffee')
  const read = await page.told(({ last_minute }) => last_minute['reads'] === 1)
  expect(read?.last_minute).toMatchObject({ reads: 1, spent_usd: 0.002 })
  // And a minute later it is no longer of the last minute.
  const later = await page.told(
    ({ at, last_minute }) => at > (read?.at ?? '') && !last_minute['reads'],
  )
  expect(later?.last_minute).toMatchObject({ reads: 0, spent_usd: 0 })
})

test('a match and its delivery are told with their title and their monitor', async () => {
  await using house = await startOperated()
  await watch(house, house.key, 'needle')
  await house.clock.advance(2 * MINUTE)
  await using page = await listen(house, await pageOf(house, house.key))
  await until(() => page.snapshots().length === 1)
  house.sandbox.post({ subforum: 'coffee', title: 'a needle <b>', created_at: house.clock.now() })
  const told = await page.told(({ recent }) => recent.some(({ what }) => what === 'delivered'))

  expect(told?.last_minute).toMatchObject({ matches: 1, delivered: 1, failed: 0 })
  expect(told?.last_minute['checks']).toBeGreaterThan(0)
  expect(told?.recent).toEqual([
    {
      at: expect.any(String),
      what: 'delivered',
      monitor_id: expect.stringMatching(/^mon_/),
      monitor_name: 'needle',
      delivery_id: expect.stringMatching(/^dlv_/),
      webhook_id: expect.stringMatching(/^wh_/),
      title: 'a needle <b>',
      status: null,
    },
    expect.objectContaining({ what: 'match', delivery_id: null, title: 'a needle <b>' }),
  ])
})

test('a target that refuses shows as failed, and one that is paused as paused', async () => {
  await using house = await startOperated()
  await watch(house, house.key, 'needle')
  await house.clock.advance(2 * MINUTE)
  await using page = await listen(house, await pageOf(house, house.key))
  house.receiver.answers.push(410)
  house.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: house.clock.now() })
  const told = await page.told(({ recent }) => recent.some(({ what }) => what === 'paused'))

  expect(told?.last_minute).toMatchObject({ delivered: 0, failed: 1 })
  expect(told?.recent.map(({ what, status }) => [what, status]).toSorted()).toEqual([
    ['failed', 'http_410'],
    ['match', null],
    ['paused', 'gone'],
  ])
})

test('no customer hears of another, and the operator hears of all', async () => {
  await using house = await startOperated()
  const bob = house.mint('bob')
  await watch(house, house.key, 'needle')
  await house.clock.advance(2 * MINUTE)
  await using ann = await listen(house, await pageOf(house, house.key))
  await using other = await listen(house, await pageOf(house, bob))
  await using ops = await listen(house, await pageOf(house, operatorKey(house)))
  await until(() => [ann, other, ops].every((it) => it.snapshots().length > 0))
  house.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: house.clock.now() })
  await house.call('/api/forum/posts?subforum=coffee')
  const delivered = (page: typeof ann) =>
    page.told(({ recent }) => recent.some(({ what }) => what === 'delivered'))

  expect((await delivered(ops))?.recent).toHaveLength(2)
  expect((await delivered(ann))?.recent).toHaveLength(2)
  await house.clock.advance(30 * SECOND)
  expect(other.snapshots()).toHaveLength(1)
  expect(other.latest()).toMatchObject({
    last_minute: { checks: 0, items_seen: 0, matches: 0, delivered: 0, reads: 0, spent_usd: 0 },
    pending: 0,
    recent: [],
  })
  expect(other.text()).not.toMatch(/needle|mon_|dlv_/)
  expect(ann.latest()?.accounts).toBeUndefined()
})

test('the operator is told how the accounts stand', async () => {
  await using house = await startOperated()
  await using page = await listen(house, await pageOf(house, operatorKey(house)))
  await until(() => page.snapshots().length > 0)
  expect(page.latest()?.accounts).toEqual({ usable: 0, cooling: 0, needs_login: 0 })
  addAccounts(house, [{ name: 'new' }])
  const told = await page.told(({ accounts }) => accounts?.['needs_login'] === 1)

  expect(told?.accounts).toEqual({ usable: 0, cooling: 0, needs_login: 1 })
})

test('it is told no more than once a second, whatever happens', async () => {
  await using house = await startOperated()
  await using page = await listen(house, await pageOf(house, house.key))
  await until(() => page.snapshots().length === 1)
  for (let n = 0; n < 10; n += 1) {
    await house.call('/account/me')
    await house.call('/api/forum/posts?subforum=coffee')
    await house.clock.advance(100)
  }
  await house.clock.advance(100)

  expect(page.snapshots().length).toBeLessThanOrEqual(2)
})

test('a page that hears nothing new is told so every fifteen seconds', async () => {
  await using house = await startOperated()
  await using page = await listen(house, await pageOf(house, house.key))
  await until(() => page.snapshots().length === 1)
  await house.clock.advance(16 * SECOND)
  await until(() => page.text().includes(': nothing new'))

  expect(page.snapshots()).toHaveLength(1)
})

test.each([
  [
    'its key is revoked',
    (house: House) =>
      beside(house, ({ db }) => {
        const { id } = db.query<{ id: string }, []>('SELECT id FROM api_keys').get() ?? { id: '' }
        revokeKey(db, id, house.clock.now())
      }),
  ],
  [
    'the session is signed out',
    async (house: House, headers: Record<string, string>) => {
      await fetch(`${house.url()}/dashboard/session`, { method: 'DELETE', headers })
    },
  ],
])('it ends when %s', async (_, end) => {
  await using house = await startOperated()
  const headers = await pageOf(house, house.key)
  await using page = await listen(house, headers)
  await until(() => page.snapshots().length === 1)
  await end(house, headers)
  await house.clock.advance(SECOND)
  await until(page.over)

  expect((await fetch(`${house.url()}/dashboard/live`, { headers })).status).toBe(401)
})

test('it ends at once when the daemon does, though nobody moves the clock', async () => {
  await using house = await startOperated()
  await using page = await listen(house, await pageOf(house, house.key))
  await using ops = await listen(house, await pageOf(house, operatorKey(house)))
  await until(() => page.snapshots().length + ops.snapshots().length === 2)
  await house.restart()

  await until(() => page.over() && ops.over())
  expect((await house.call('/health')).status).toBe(200)
})

test('it is open ten times at most for one customer, and a place comes free when one leaves', async () => {
  await using house = await startOperated()
  const headers = await pageOf(house, house.key)
  const pages = await Promise.all(Array.from({ length: 10 }, () => listen(house, headers)))
  const over = await fetch(`${house.url()}/dashboard/live`, { headers })

  expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
  expect([over.status, over.headers.get('retry-after')]).toEqual([429, '5'])
  expect((await listen(house, await pageOf(house, operatorKey(house)))).status).toBe(200)
  await pages[0]?.[Symbol.asyncDispose]()
  let status = 429
  while (status === 429) {
    await using again = await listen(house, headers)
    status = again.status
  }
  expect(status).toBe(200)
  await Promise.all(pages.map((it) => it[Symbol.asyncDispose]()))
})

test('the matches of a monitor come through the cookie as they happen, and end with the daemon', async () => {
  await using house = await startOperated()
  await watch(house, house.key, 'needle')
  const [{ id }] = (await house.call('/forum/monitor/list')).body.monitors
  await house.clock.advance(2 * MINUTE)
  const headers = await pageOf(house, house.key)
  const answer = await fetch(`${house.url()}/dashboard/api/forum/monitor/stream?id=${id}`, {
    headers,
  })
  let text = ''
  const read = (async () => {
    for await (const chunk of answer.body ?? []) text += new TextDecoder().decode(chunk)
  })()
  house.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: house.clock.now() })
  for (let n = 0; n < 120 && !text.includes('event: match'); n += 1)
    await house.clock.advance(SECOND)

  expect(text).toContain('a needle')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  await house.restart()
  await read
})

test('asking for its head alone holds no place', async () => {
  await using house = await startOperated()
  const headers = await pageOf(house, house.key)
  for (let n = 0; n < 12; n += 1) {
    const answer = await fetch(`${house.url()}/dashboard/live`, { method: 'HEAD', headers })
    expect(answer.status).toBe(200)
  }
})

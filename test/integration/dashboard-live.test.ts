import { expect, setDefaultTimeout, test } from 'bun:test'

import * as z from 'zod'

import { revokeKey } from '../../src/store/customers/keys.ts'
import { addAccounts } from '../support/accounts.ts'
import {
  beside,
  type OperatorDaemon,
  operatorKey,
  pageOf,
  startOperated,
} from './operator-fixture.ts'

// Each test starts a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND

const snapshotShape = z.object({
  at: z.string(),
  last_minute: z.record(z.string(), z.number()),
  waiting: z.number(),
  retrying: z.number(),
  unread: z.number().optional(),
  inbox: z.object({ item: z.number().nullable(), action: z.number().nullable() }).optional(),
  recent: z.array(z.record(z.string(), z.string().nullable())),
  accounts: z.record(z.string(), z.number()).optional(),
})

/** Waits in real time for data of a socket, up to the timeout of the test. */
async function until(there: () => boolean): Promise<void> {
  while (!there()) await Bun.sleep(2)
}

/** Reads the stream as the page does. */
async function listen(daemon: OperatorDaemon, headers: Record<string, string>) {
  const left = new AbortController()
  const answer = await fetch(`${daemon.url()}/dashboard/live`, { headers, signal: left.signal })
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
    /** Advances time until such a snapshot arrives. */
    async waitForSnapshot(like: (snapshot: z.infer<typeof snapshotShape>) => boolean) {
      for (let n = 0; n < 120 && !snapshots().some(like); n += 1) await daemon.clock.advance(SECOND)
      return snapshots().find(like)
    },
    async [Symbol.asyncDispose]() {
      left.abort()
      await read
    },
  }
}

const watch = async (daemon: OperatorDaemon, as: string, name: string) => {
  const send = async (path: string, body: object) => {
    const { status } = await daemon.call(path, { method: 'POST', body: JSON.stringify(body) }, as)
    expect(status).toBe(200)
  }
  await send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  await send('/forum/monitor/add', { name, filter_spec: { subforum: 'coffee', q: name } })
}

test('the state is sent at once, and then after each change', async () => {
  await using daemon = await startOperated()
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
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
    waiting: 0,
    retrying: 0,
    unread: 0,
    inbox: { item: null, action: null },
    recent: [],
  })
  await daemon.clock.advance(10 * SECOND)
  expect(page.snapshots()).toHaveLength(1)

  await daemon.call('/api/forum/posts?subforum=coffee')
  const read = await page.waitForSnapshot(({ last_minute }) => last_minute['reads'] === 1)
  expect(read?.last_minute).toMatchObject({ reads: 1, spent_usd: 0.002 })
  // A minute later it is no longer in the last minute.
  const later = await page.waitForSnapshot(
    ({ at, last_minute }) => at > (read?.at ?? '') && !last_minute['reads'],
  )
  expect(later?.last_minute).toMatchObject({ reads: 0, spent_usd: 0 })
})

test('a match and its delivery appear with their title and monitor', async () => {
  await using daemon = await startOperated()
  await watch(daemon, daemon.key, 'needle')
  await daemon.clock.advance(2 * MINUTE)
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
  await until(() => page.snapshots().length === 1)
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle <b>', created_at: daemon.clock.now() })
  const snapshot = await page.waitForSnapshot(({ recent }) =>
    recent.some(({ what }) => what === 'delivered'),
  )

  expect(snapshot?.last_minute).toMatchObject({ matches: 1, delivered: 1, failed: 0 })
  expect(snapshot?.last_minute['checks']).toBeGreaterThan(0)
  expect(snapshot?.recent).toEqual([
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

test('a refusing target appears as failed, and a paused one as paused', async () => {
  await using daemon = await startOperated()
  await watch(daemon, daemon.key, 'needle')
  await daemon.clock.advance(2 * MINUTE)
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
  daemon.receiver.answers.push(410)
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: daemon.clock.now() })
  const snapshot = await page.waitForSnapshot(({ recent }) =>
    recent.some(({ what }) => what === 'paused'),
  )

  expect(snapshot?.last_minute).toMatchObject({ delivered: 0, failed: 1 })
  expect(snapshot?.recent.map(({ what, status }) => [what, status]).toSorted()).toEqual([
    ['failed', 'http_410'],
    ['match', null],
    ['paused', 'gone'],
  ])
})

test('a customer gets no events of another, and the operator gets all', async () => {
  await using daemon = await startOperated()
  const bob = daemon.mint('bob')
  await watch(daemon, daemon.key, 'needle')
  await daemon.clock.advance(2 * MINUTE)
  await using ann = await listen(daemon, await pageOf(daemon, daemon.key))
  await using other = await listen(daemon, await pageOf(daemon, bob))
  await using ops = await listen(daemon, await pageOf(daemon, operatorKey(daemon)))
  await until(() => [ann, other, ops].every((it) => it.snapshots().length > 0))
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: daemon.clock.now() })
  await daemon.call('/api/forum/posts?subforum=coffee')
  const delivered = (page: typeof ann) =>
    page.waitForSnapshot(({ recent }) => recent.some(({ what }) => what === 'delivered'))

  expect((await delivered(ops))?.recent).toHaveLength(2)
  expect((await delivered(ann))?.recent).toHaveLength(2)
  expect([ann.latest()?.unread, ops.latest()?.unread]).toEqual([1, undefined])
  const { inbox } = ann.latest() ?? {}
  expect([typeof inbox?.item, inbox?.action]).toEqual(['number', null])
  const update = { filter: {}, set: { starred: true } }
  await daemon.call('/forum/inbox/update', { method: 'POST', body: JSON.stringify(update) })
  const acted = await ann.waitForSnapshot((it) => typeof it.inbox?.action === 'number')
  expect(acted?.inbox?.item).toBe(inbox?.item)
  await daemon.clock.advance(30 * SECOND)
  expect(other.snapshots()).toHaveLength(1)
  expect(other.latest()).toMatchObject({
    last_minute: { checks: 0, items_seen: 0, matches: 0, delivered: 0, reads: 0, spent_usd: 0 },
    waiting: 0,
    retrying: 0,
    unread: 0,
    inbox: { item: null, action: null },
    recent: [],
  })
  expect(other.text()).not.toMatch(/needle|mon_|dlv_/)
  expect(ann.latest()?.accounts).toBeUndefined()
})

test('the operator gets the state of the accounts', async () => {
  await using daemon = await startOperated()
  await using page = await listen(daemon, await pageOf(daemon, operatorKey(daemon)))
  await until(() => page.snapshots().length > 0)
  expect(page.latest()?.accounts).toEqual({ usable: 0, cooling: 0, needs_login: 0 })
  addAccounts(daemon, [{ name: 'new' }])
  const snapshot = await page.waitForSnapshot(({ accounts }) => accounts?.['needs_login'] === 1)

  expect(snapshot?.accounts).toEqual({ usable: 0, cooling: 0, needs_login: 1 })
})

test('events are sent at most once a second under any load', async () => {
  await using daemon = await startOperated()
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
  await until(() => page.snapshots().length === 1)
  for (let n = 0; n < 10; n += 1) {
    await daemon.call('/account/me')
    await daemon.call('/api/forum/posts?subforum=coffee')
    await daemon.clock.advance(100)
  }
  await daemon.clock.advance(100)

  expect(page.snapshots().length).toBeLessThanOrEqual(2)
})

test('an unchanged state sends a comment every fifteen seconds', async () => {
  await using daemon = await startOperated()
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
  await until(() => page.snapshots().length === 1)
  await daemon.clock.advance(16 * SECOND)
  await until(() => page.text().includes(': nothing new'))

  expect(page.snapshots()).toHaveLength(1)
})

test.each([
  [
    'its key is revoked',
    (daemon: OperatorDaemon) =>
      beside(daemon, ({ db }) => {
        const { id } = db.query<{ id: string }, []>('SELECT id FROM api_keys').get() ?? { id: '' }
        revokeKey(db, id, daemon.clock.now())
      }),
  ],
  [
    'the session is signed out',
    async (daemon: OperatorDaemon, headers: Record<string, string>) => {
      await fetch(`${daemon.url()}/dashboard/session`, { method: 'DELETE', headers })
    },
  ],
])('the stream ends when %s', async (_, end) => {
  await using daemon = await startOperated()
  const headers = await pageOf(daemon, daemon.key)
  await using page = await listen(daemon, headers)
  await until(() => page.snapshots().length === 1)
  await end(daemon, headers)
  await daemon.clock.advance(SECOND)
  await until(page.over)

  expect((await fetch(`${daemon.url()}/dashboard/live`, { headers })).status).toBe(401)
})

test('the stream ends as soon as the daemon stops', async () => {
  await using daemon = await startOperated()
  await using page = await listen(daemon, await pageOf(daemon, daemon.key))
  await using ops = await listen(daemon, await pageOf(daemon, operatorKey(daemon)))
  await until(() => page.snapshots().length + ops.snapshots().length === 2)
  await daemon.restart()

  await until(() => page.over() && ops.over())
  expect((await daemon.call('/health')).status).toBe(200)
})

test('it is open at most ten times per customer, and a closed one frees its place', async () => {
  await using daemon = await startOperated()
  const headers = await pageOf(daemon, daemon.key)
  const pages = await Promise.all(Array.from({ length: 10 }, () => listen(daemon, headers)))
  const over = await fetch(`${daemon.url()}/dashboard/live`, { headers })

  expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
  expect([over.status, over.headers.get('retry-after')]).toEqual([429, '5'])
  expect((await listen(daemon, await pageOf(daemon, operatorKey(daemon)))).status).toBe(200)
  await pages[0]?.[Symbol.asyncDispose]()
  let status = 429
  while (status === 429) {
    await using again = await listen(daemon, headers)
    status = again.status
  }
  expect(status).toBe(200)
  await Promise.all(pages.map((it) => it[Symbol.asyncDispose]()))
})

test('matches of a monitor stream through the cookie, and end with the daemon', async () => {
  await using daemon = await startOperated()
  await watch(daemon, daemon.key, 'needle')
  const [{ id }] = (await daemon.call('/forum/monitor/list')).body.monitors
  await daemon.clock.advance(2 * MINUTE)
  const headers = await pageOf(daemon, daemon.key)
  const answer = await fetch(`${daemon.url()}/dashboard/api/forum/monitor/stream?id=${id}`, {
    headers,
  })
  let text = ''
  const read = (async () => {
    for await (const chunk of answer.body ?? []) text += new TextDecoder().decode(chunk)
  })()
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: daemon.clock.now() })
  for (let n = 0; n < 120 && !text.includes('event: match'); n += 1)
    await daemon.clock.advance(SECOND)

  expect(text).toContain('a needle')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  await daemon.restart()
  await read
})

test('a HEAD request occupies no place', async () => {
  await using daemon = await startOperated()
  const headers = await pageOf(daemon, daemon.key)
  for (let n = 0; n < 12; n += 1) {
    const answer = await fetch(`${daemon.url()}/dashboard/live`, { method: 'HEAD', headers })
    expect(answer.status).toBe(200)
  }
})

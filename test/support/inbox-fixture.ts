import { createApp } from '../../src/api/app.ts'
import { inboxMute } from '../../src/api/inbox/mute.ts'
import { inbox } from '../../src/api/inbox/routes.ts'
import type { MonitorDeps } from '../../src/api/monitors/edit.ts'
import { rowOf } from '../../src/core/enrichment/enrich.ts'
import { decodeFilterSpec, encodeFilterSpec, parseFilterSpec } from '../../src/core/filter/parse.ts'
import { type Item, itemKey } from '../../src/core/forum/items.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { writeMessages } from '../../src/monitor/deliver.ts'
import { openDb, transact } from '../../src/store/db/connection.ts'
import { catchUp } from '../../src/store/delivery/projections.ts'
import { keepItems } from '../../src/store/erasure/kept-items.ts'
import { insertMatches } from '../../src/store/monitoring/matches.ts'
import { findMonitor } from '../../src/store/monitoring/monitors.ts'
import { PLAN } from '../unit/monitor/fixture.ts'
import { NO_LIMITS, quietApp } from './app-options.ts'
import { fakeClock } from './clock.ts'
import { addCustomer, addKey } from './customers.ts'
import { realPatterns } from './patterns.ts'
import { listingWatch, watchesOf } from './watch.ts'

export const NOON = Date.parse('2026-05-01T12:00:00Z')
const MINUTE_MS = 60_000

const words = createNaming({ platform: 'forum', community: 'subforum' })

/** A database with the customers ann (two keys) and bob, and functions that put matches into it as a poll does. */
export function createInboxStore(path = ':memory:') {
  const db = openDb(path, { create: true })
  let now = NOON
  for (const id of ['ann', 'bob']) {
    addCustomer(db, id, { at: now })
    for (const key of ['1', '2'])
      addKey(db, id, {
        token: `fk_${id}${key}`,
        scopes: ['monitor'],
        id: `key_${id}${key}`,
        name: key === '1' ? 'laptop' : null,
        at: now,
      })
  }

  function addMonitor(id: string, filter_spec: object, customer = 'ann', name = id) {
    db.query(
      `INSERT INTO monitors (id, customer_id, name, filter_spec, cadence_s, active_since, created_at, updated_at, webhook_ids)
       VALUES ($id, $customer, $name, $spec, 60, 0, 0, 0, '[]')`,
    ).run({ id, customer, name, spec: encodeFilterSpec(parseFilterSpec(filter_spec, words)) })
  }
  addMonitor('mon_cats', { subforum: ['cats'], include_any: ['kitten', 'whiskers'] })
  addMonitor('mon_all', {
    subforum: ['cats', 'dogs'],
    include_any: ['kitten', 'dog'],
    kind: 'both',
  })
  addMonitor('mon_bob', { include_any: ['kitten'] }, 'bob')

  return {
    db,
    words,
    addMonitor,
    now: () => now,
    advance: (ms: number) => void (now += ms),
    /** Stores a match of items, in one delivery; the clock moves on by a minute. */
    match(items: Item | Item[], monitor_id = 'mon_cats') {
      const found = [items].flat()
      const monitor = db
        .query<{ customer_id: string; filter_spec: string }, [string]>(
          'SELECT customer_id, filter_spec FROM monitors WHERE id = ?',
        )
        .get(monitor_id)
      if (monitor === null) throw new Error(`there is no monitor ${monitor_id}`)
      const spec = decodeFilterSpec(monitor.filter_spec)
      transact(db, () => {
        insertMatches(
          db,
          found.map((it) => ({
            monitor_id,
            item_id: itemKey(it),
            message: null,
            feed_id: 1,
            matched_at: now,
          })),
        )
        keepItems(db, found, now)
        writeMessages(
          {
            db,
            instance_id: 'ins_1',
            words,
            watches: new Map(),
            plan_of: () => PLAN,
            on_pending: () => {},
          },
          [
            {
              monitor_id,
              customer_id: monitor.customer_id,
              plan: 'entry',
              names: found.map(itemKey),
              rows: found.map((item) => rowOf(words, spec, item).row),
              suppressed: null,
              is_pulled: true,
              targets: [],
            },
          ],
          now,
        )
      })
      catchUp({ db, words, clock_offset_ms: () => 0 })
      now += MINUTE_MS
    },
    monitor: (id: string, customer = 'ann') => findMonitor(db, customer, id),
    [Symbol.dispose]: () => db.close(),
  }
}

/** The same behind its HTTP interface. */
export function startInbox() {
  const store = createInboxStore()
  const { db } = store
  const clock = { ...fakeClock(() => Bun.sleep(5)), now: store.now, sleep: () => Bun.sleep(1) }
  const deps: MonitorDeps = {
    db,
    patterns: realPatterns(),
    watches: watchesOf(listingWatch()),
    plan_of: () => PLAN,
    model: () => null,
    feed_url: (id) => `https://api.forum.example/feed/${id}`,
    nudge: () => {},
  }
  const app = createApp({
    db,
    ...quietApp(clock),
    random: {
      uuid: () => Bun.randomUUIDv7(),
      fraction: () => 0.5,
      bytes: (count: number) => new Uint8Array(count),
    },
    words,
    limits: NO_LIMITS,
    routes: (context) => [inbox(context, deps), inboxMute(context, deps)],
  })
  app.listen({ port: 0, hostname: '127.0.0.1' })
  const base = `http://127.0.0.1:${app.server?.port}`

  /** Calls with a key, such as ann1. */
  async function call(path: string, body?: object, key = 'ann1') {
    const response = await fetch(`${base}/forum/inbox${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer fk_${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer: any = JSON.parse(text)
    return { status: response.status, body: answer }
  }
  return {
    ...store,
    base,
    call,
    /** Ids of a list. */
    ids: async (query = '', key = 'ann1'): Promise<string[]> =>
      (await call(query, undefined, key)).body.items.map(({ id }: { id: string }) => id),
    set: (ids: string[], set: object, key = 'ann1') => call('/update', { ids, set }, key),
    async [Symbol.asyncDispose]() {
      await app.stop(true)
      db.close()
    },
  }
}

import { expect, test } from 'bun:test'

import type { Item } from '../../../src/core/items.ts'
import { createFilters } from '../../../src/monitor/filters.ts'
import { insertCustomer } from '../../../src/store/customers.ts'
import { openDb } from '../../../src/store/db.ts'
import { postOf } from '../../support/items.ts'

/** Monitors as the store keeps them, each a spec and when it was last changed. */
function start(mono?: () => number) {
  const db = openDb(':memory:', { create: true })
  const events: { event: string; fields: Record<string, unknown> }[] = []
  const log = (_: string, event: string, fields: Record<string, unknown> = {}) =>
    void events.push({ event, fields })
  insertCustomer(db, {
    id: 'cus_1',
    name: 'ada',
    plan: 'entry',
    created_at: 0,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  })
  const filters = createFilters(db, log, mono)
  return {
    events,
    filters,
    keep(id: string, filter_spec: unknown, updated_at = 1) {
      db.run('DELETE FROM monitors WHERE id = ?', [id])
      db.query(
        `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
         VALUES ($id, 'cus_1', $filter_spec, 60, 0, 0, $updated_at)`,
      ).run({
        id,
        filter_spec: typeof filter_spec === 'string' ? filter_spec : JSON.stringify(filter_spec),
        updated_at,
      })
      return { id, updated_at }
    },
  }
}

const within = (more: object) => ({ subforum: ['cats'], ...more })
const ids = (match: (item: Item) => { monitor_id: string }[], title: string): string[] =>
  match(postOf({ title }))
    .map(({ monitor_id }) => monitor_id)
    .toSorted()

test('a stream asks its own monitors, whatever the others wait for', () => {
  const { filters, keep } = start()
  const a = keep('mon_a', within({ include_any: ['bun'] }))
  const b = keep('mon_b', within({ include_any: ['bun', 'deno'] }))

  const first = filters.among(1, [a, b])
  const second = filters.among(2, [b])

  expect(ids(first, 'bun')).toEqual(['mon_a', 'mon_b'])
  expect(ids(second, 'bun')).toEqual(['mon_b'])
  expect(first(postOf({ title: 'Deno and Bun' }))).toContainEqual({
    monitor_id: 'mon_b',
    terms: ['bun', 'deno'],
  })
})

test('monitors come to a stream, are edited, and leave it', () => {
  const { filters, keep } = start()
  const a = keep('mon_a', within({ include_any: ['bun'] }))
  expect(ids(filters.among(1, [a]), 'bun')).toEqual(['mon_a'])

  const b = keep('mon_b', within({}))
  expect(ids(filters.among(1, [a, b]), 'bun')).toEqual(['mon_a', 'mon_b'])

  const edited = keep('mon_a', within({ include_any: ['deno'] }), 2)
  expect(ids(filters.among(1, [edited, b]), 'bun')).toEqual(['mon_b'])
  expect(ids(filters.among(1, [edited]), 'deno')).toEqual(['mon_a'])
  expect(ids(filters.among(1, []), 'deno')).toEqual([])
})

test('what is for nobody any more is not kept for good: a stream is made anew, in small parts', () => {
  const { filters, keep } = start()
  const kept = Array.from({ length: 60 }, (_, i) => keep(`mon_${i}`, within({ q: `word${i}` })))
  const ask = () => ids(filters.among(1, kept), 'word59')
  ask()
  let edits = 0
  for (; edits < 1000 && filters.isWarm(1); edits++) {
    kept[0] = keep('mon_0', within({ q: `edit${edits}` }), 2 + edits)
    expect(ask()).toEqual(['mon_59'])
  }
  // A hundred, and as many as there are.
  expect(edits).toBe(161)
  expect(filters.warmUp(1, kept)).toBe(true)
  expect(filters.warmUp(1, kept)).toBe(false)
  expect(filters.isWarm(1)).toBe(true)
  expect(ids(filters.among(1, kept), 'edit160')).toEqual(['mon_0'])
  expect(ids(filters.among(1, kept), 'edit159')).toEqual([])
})

test('a monitor that is edited between a question and its answer is asked by what it says now', () => {
  const { filters, keep } = start()
  const a = keep('mon_a', within({ include_any: ['bun'] }))
  const b = keep('mon_b', within({ include_any: ['bun'] }))
  const ask = filters.among(1, [a, b])
  keep('mon_a', within({ include_any: ['bun'], include_all: ['deno'] }), 2)
  keep('mon_b', '{"q":"(("}', 2)

  expect(ids(ask, 'bun')).toEqual([])
  expect(ids(ask, 'bun and deno')).toEqual(['mon_a'])
})

test('a spec that cannot be read matches nothing and is told once', () => {
  const { filters, keep, events } = start()
  const good = keep('mon_a', within({}))
  const bad = keep('mon_b', '{"subforum":["cats"],"q":"(("}')
  const gone = { id: 'mon_c', updated_at: 1 }

  for (let i = 0; i < 3; i++)
    expect(ids(filters.among(1, [good, bad, gone]), 'x')).toEqual(['mon_a'])

  expect(filters(bad)).toBeNull()
  expect(events.map(({ event, fields }) => [event, fields.monitor])).toEqual([
    ['filter.unreadable', 'mon_b'],
  ])

  const mended = keep('mon_b', within({}), 2)
  expect(ids(filters.among(1, [good, mended]), 'x')).toEqual(['mon_a', 'mon_b'])
})

test('a filter is read anew for another version, and when it was asked for long ago', () => {
  const { filters, keep } = start()
  const a = keep('mon_a', within({ include_any: ['bun'] }))
  const spec = filters(a)
  expect(spec?.include_any).toEqual(['bun'])
  expect(filters(a)).toBe(spec)

  const edited = keep('mon_a', within({ include_any: ['deno'] }), 2)
  const next = filters(edited)
  expect(next?.include_any).toEqual(['deno'])

  for (let i = 0; i < 499; i++) filters(keep(`mon_${i}`, within({})))
  expect(filters(edited)).toBe(next)
  filters(keep('mon_new', within({})))
  expect(filters(edited)).toBe(next)
  for (let i = 0; i < 500; i++) filters(keep(`mon_${i}`, within({}), 2))
  expect(filters(edited)).not.toBe(next)
  expect(filters(edited)).toEqual(next)
})

test('what cannot be read does not hold up what can', () => {
  const { filters, keep } = start()
  const bad = Array.from({ length: 120 }, (_, i) => keep(`mon_${i}`, '{"q":"(("}'))
  const good = keep('mon_a', within({ include_any: ['bun'] }))

  let parts = 1
  while (parts < 9 && filters.warmUp(1, [...bad, good])) parts++
  expect(parts).toBe(3)
  expect(ids(filters.among(1, [...bad, good]), 'bun')).toEqual(['mon_a'])
})

test('patterns that take long are told, with the monitor and how long', () => {
  let now = 0
  const { filters, keep, events } = start(() => (now += 12.6))
  const quick = keep('mon_a', within({ regex: ['b.n'] }))
  expect(ids(filters.among(1, [quick]), 'bun')).toEqual(['mon_a'])
  expect(events).toEqual([])

  const step = start(() => (now += 40.4))
  const slow = step.keep('mon_b', within({ regex: ['b.n'] }))
  expect(ids(step.filters.among(1, [slow]), 'bun')).toEqual(['mon_b'])
  expect(step.events).toEqual([
    { event: 'filter.slow', fields: { monitor: 'mon_b', duration_ms: 40 } },
  ])
})

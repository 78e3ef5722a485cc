import { expect, test } from 'bun:test'

import type { Item } from '../../../src/core/forum/items.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { addCustomer } from '../../support/customers.ts'
import { postOf } from '../../support/items.ts'
import { memoryDb } from '../../support/memory-db.ts'

/** Stored monitors, each with a spec and the time of its last change. */
function start() {
  const db = memoryDb()
  const events: { event: string; fields: Record<string, unknown> }[] = []
  const log = (_: string, event: string, fields: Record<string, unknown> = {}) =>
    void events.push({ event, fields })
  addCustomer(db, 'cus_1', { name: 'ada' })
  const filters = createFilters(db, log)
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

test('a feed evaluates only its own monitors', () => {
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

test('monitors are added to a feed, edited and removed', () => {
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

test('a matcher with many removed versions is rebuilt in small steps', () => {
  const { filters, keep } = start()
  const monitors = Array.from({ length: 60 }, (_, i) => keep(`mon_${i}`, within({ q: `word${i}` })))
  const matchedIds = () => ids(filters.among(1, monitors), 'word59')
  matchedIds()
  let edits = 0
  for (; edits < 1000 && filters.isWarm(1); edits++) {
    monitors[0] = keep('mon_0', within({ q: `edit${edits}` }), 2 + edits)
    expect(matchedIds()).toEqual(['mon_59'])
  }
  // A hundred, and as many as there are monitors.
  expect(edits).toBe(161)
  expect(filters.warmUp(1, monitors)).toBe(true)
  expect(filters.warmUp(1, monitors)).toBe(false)
  expect(filters.isWarm(1)).toBe(true)
  expect(ids(filters.among(1, monitors), 'edit160')).toEqual(['mon_0'])
  expect(ids(filters.among(1, monitors), 'edit159')).toEqual([])
})

test('a monitor edited between scan and evaluation is evaluated with its new filter', () => {
  const { filters, keep } = start()
  const a = keep('mon_a', within({ include_any: ['bun'] }))
  const b = keep('mon_b', within({ include_any: ['bun'] }))
  const prepared = filters.among(1, [a, b])
  keep('mon_a', within({ include_any: ['bun'], include_all: ['deno'] }), 2)
  keep('mon_b', '{"q":"(("}', 2)

  expect(ids(prepared, 'bun')).toEqual([])
  expect(ids(prepared, 'bun and deno')).toEqual(['mon_a'])
})

test('a spec that cannot be read matches nothing and is logged once', () => {
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

  const fixed = keep('mon_b', within({}), 2)
  expect(ids(filters.among(1, [good, fixed]), 'x')).toEqual(['mon_a', 'mon_b'])
})

test('a filter is read again for another version, and after eviction', () => {
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

test('an unreadable spec does not delay readable ones', () => {
  const { filters, keep } = start()
  const bad = Array.from({ length: 120 }, (_, i) => keep(`mon_${i}`, '{"q":"(("}'))
  const good = keep('mon_a', within({ include_any: ['bun'] }))

  let parts = 1
  while (parts < 9 && filters.warmUp(1, [...bad, good])) parts++
  expect(parts).toBe(3)
  expect(ids(filters.among(1, [...bad, good]), 'bun')).toEqual(['mon_a'])
})

import { expect, test } from 'bun:test'

import {
  cutBundles,
  deliveryId,
  editionName,
  envelope,
} from '../../../../src/core/delivery/envelope.ts'

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

test('the id of a delivery is dlv_ and 22 characters, the same for the same match', () => {
  const id = deliveryId('ins', 'mon_1', 'wh_1', ['t3_a', 't3_b'])
  expect(id).toMatch(/^dlv_[A-Za-z0-9_-]{22}$/)
  expect(deliveryId('ins', 'mon_1', 'wh_1', ['t3_a', 't3_b'])).toBe(id)
})

test('another instance, monitor, target, item or order is another delivery', () => {
  const ids = [
    deliveryId('ins', 'mon_1', 'wh_1', ['t3_a', 't3_b']),
    deliveryId('other', 'mon_1', 'wh_1', ['t3_a', 't3_b']),
    deliveryId('ins', 'mon_2', 'wh_1', ['t3_a', 't3_b']),
    deliveryId('ins', 'mon_1', 'wh_2', ['t3_a', 't3_b']),
    deliveryId('ins', 'mon_1', null, ['t3_a', 't3_b']),
    deliveryId('ins', 'mon_1', 'wh_1', ['t3_b', 't3_a']),
    deliveryId('ins', 'mon_1', 'wh_1', ['t3_a']),
    deliveryId('ins', 'mon_1', 'wh_1', ['t3_at3_b']),
  ]
  expect(new Set(ids).size).toBe(ids.length)
})

test('an item that a source gives the id of an earlier one has a name of its own', () => {
  const names = [0, 1, 1_700_000_000, 1_700_000_001].map((created_s) =>
    editionName('t3_a', created_s),
  )
  expect(new Set(names).size).toBe(names.length)
})

test('a bundle has at most 25 items', () => {
  const matches = Array.from({ length: 26 }, (_, n) => ({
    created_at: n,
    name: `t3_${n}`,
    bytes: 10,
  }))

  expect(cutBundles(matches).map(({ length }) => length)).toEqual([25, 1])
})

test('the body has the fields of the interface, in its order, and counts its items', () => {
  const body = envelope({
    delivery_id: 'dlv_1',
    monitor_id: 'mon_1',
    items: [{ id: 'a' }, { id: 'b' }],
    grouped: true,
  })
  expect(text(body)).toBe(
    '{"delivery_id":"dlv_1","monitor_id":"mon_1","count":2,"grouped":true,"items":[{"id":"a"},{"id":"b"}]}',
  )
})

test('a suppressed delivery has its reason, and a test is marked as one', () => {
  const base = { delivery_id: 'dlv_1', monitor_id: 'mon_1', items: [], grouped: false }
  const suppressed = { reason: 'stale_item', oldest_age_s: 1000, threshold_s: 900 } as const
  expect(JSON.parse(text(envelope({ ...base, suppressed })))).toMatchObject({ suppressed })
  expect(JSON.parse(text(envelope({ ...base, test: true })))).toMatchObject({ test: true })
  expect(text(envelope(base))).not.toContain('suppressed')
})

test('a lone surrogate from the platform still gives a UTF-8 body', () => {
  const body = envelope({
    delivery_id: 'd',
    monitor_id: 'm',
    items: [{ title: 'a\ud83d' }],
    grouped: false,
  })
  expect(new TextDecoder('utf-8', { fatal: true }).decode(body)).toContain('\\ud83d')
})

import { expect, test } from 'bun:test'

import type { Fault } from '../../../src/core/base/result.ts'
import { createSourceTrace } from '../../../src/platforms/source-state.ts'

const DOWN: Fault = { kind: 'unavailable', status: 503, retry_after_s: null }

function traced() {
  const time = { now: 1_000_000 }
  const trace = createSourceTrace({ now: () => time.now, mono: () => time.now })
  const ask = (fault: Fault | null, is_whole?: boolean) => {
    trace.request()
    trace.result(fault, is_whole)
  }
  return { ...trace, ask, time }
}

test('a source that was not requested is never tried', () => {
  const it = traced()
  it.result(null)
  expect(it.state()).toEqual({
    status: 'never_tried',
    fault: null,
    since: null,
    last_request_at: null,
    requests_last_minute: 0,
  })
})

test('a status holds since its first result, and a failure names its last fault', () => {
  const it = traced()
  it.ask({ kind: 'timeout' })
  it.time.now += 500
  it.ask(DOWN)
  const failing = { status: 'fails', fault: 'unavailable:503', since: 1_000_000 }
  expect(it.state()).toMatchObject({ ...failing, last_request_at: 1_000_500 })
  it.time.now += 500
  it.ask(null)
  expect(it.state()).toMatchObject({ status: 'works', fault: null, since: 1_001_000 })
})

test.each<[string, Fault]>([
  ['what was asked for', { kind: 'not_found', reason: null }],
  ['a proxy', { ...DOWN, trouble: 'failed' }],
  ['this machine', { ...DOWN, own: 'out_of_files' }],
  ['the configured pace', { kind: 'throttled', retry_after_s: 3, not_requested: true }],
])('a fault of %s leaves the source working', (_, fault) => {
  const it = traced()
  it.ask(null)
  it.ask(fault)
  expect(it.state().status).toBe('works')
})

test('each fault of a poll of the whole source is its own', () => {
  const it = traced()
  it.ask({ kind: 'not_found', reason: null }, true)
  expect(it.state()).toMatchObject({ status: 'fails', fault: 'not_found' })
})

test('requests are counted for a minute', () => {
  const it = traced()
  it.ask(null)
  it.time.now += 30_000
  it.ask(null)
  expect(it.state().requests_last_minute).toBe(2)
  it.time.now += 30_000
  expect(it.state().requests_last_minute).toBe(1)
})

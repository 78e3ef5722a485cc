import { expect, test } from 'bun:test'

import { onLog, watchLateness } from '../../../../src/api/metrics/counters.ts'
import { createMetrics } from '../../../../src/api/metrics/registry.ts'
import { latenessOf } from '../../../../src/runtime/runtime.ts'

const linesOf = async (metrics: ReturnType<typeof createMetrics>) =>
  (await metrics.render()).split('\n')

test('counters, histograms and gauges use the Prometheus text format', async () => {
  const metrics = createMetrics()
  metrics.count('http_requests_total', { route: '/a' })
  metrics.count('http_requests_total', { route: '/a' }, 2)
  metrics.count('http_requests_total', { route: 'say "\\n"\n' })
  metrics.observe('http_request_seconds', 0.2, { route: '/a' })
  metrics.observe('http_request_seconds', 99, { route: '/a' })
  metrics.onScrape('reserve_file', () => 1)
  metrics.onScrape('disk_free_files', () => null)
  metrics.onScrape('webhooks', () => [[{ kind: 'slack' }, 3]])
  const lines = await linesOf(metrics)

  const at = lines.indexOf('# TYPE forumd_http_requests_total counter')
  expect(lines.slice(at - 1, at + 3)).toEqual([
    expect.stringMatching(/^# HELP forumd_http_requests_total Calls answered/),
    '# TYPE forumd_http_requests_total counter',
    'forumd_http_requests_total{route="/a"} 3',
    'forumd_http_requests_total{route="say \\"\\\\n\\"\\n"} 1',
  ])
  expect(lines).toContain('forumd_http_request_seconds_bucket{route="/a",le="0.1"} 0')
  expect(lines).toContain('forumd_http_request_seconds_bucket{route="/a",le="0.25"} 1')
  expect(lines).toContain('forumd_http_request_seconds_bucket{route="/a",le="+Inf"} 2')
  expect(lines).toContain('forumd_http_request_seconds_sum{route="/a"} 99.2')
  expect(lines).toContain('forumd_reserve_file 1')
  expect(lines).toContain('forumd_webhooks{kind="slack"} 3')
  expect(lines.filter((line) => line.startsWith('forumd_disk_free_files'))).toEqual([])
  expect(lines.at(-1)).toBe('')
})

test('series without labels exist before their first event', async () => {
  expect(await linesOf(createMetrics())).toContain('forumd_human_checks_total 0')
})

test('unbounded labels do not fill the memory', async () => {
  const metrics = createMetrics({})
  const named = createMetrics({
    http_requests_total: { kind: 'counter', help: 'Calls.', labels: ['n'] },
  })
  for (let n = 0; n < 6_000; n += 1) named.count('http_requests_total', { n: String(n) })

  expect((await linesOf(named)).length).toBe(5_003)
  expect(await linesOf(metrics)).toEqual([''])
})

test('an unreadable gauge is omitted from the scrape and counted', async () => {
  const metrics = createMetrics()
  metrics.onScrape('db_bytes', () => {
    throw new Error('the disk is gone')
  })
  metrics.onScrape('reserve_file', () => 1)
  const lines = await linesOf(metrics)

  expect(lines).toContain('forumd_reserve_file 1')
  expect(lines).toContain('forumd_scrape_failures_total 1')
  expect(lines.some((line) => line.startsWith('forumd_db_bytes'))).toBe(false)
})

test('the event loop runs between two readers of a scrape', async () => {
  const metrics = createMetrics()
  const order: string[] = []
  metrics.onScrape(
    'reserve_file',
    () => (order.push('first'), setImmediate(() => order.push('other')), 1),
  )
  metrics.onScrape('db_bytes', () => (order.push('second'), 1))
  await metrics.render()

  expect(order).toEqual(['first', 'other', 'second'])
})

test('a stall of the event loop is measured in full, and dropped after a minute', async () => {
  const metrics = createMetrics()
  const stopping = new AbortController()
  let at = 0
  const naps = [20, 320, 20]
  const clock = {
    now: () => at,
    mono: () => at,
    sleep: async () => {
      at += naps.shift() ?? 20
      if (naps.length === 0) stopping.abort()
    },
  }
  const worst = watchLateness(metrics, { clock, lateness: latenessOf(clock) }, stopping.signal)
  await Bun.sleep(0)

  expect(worst()).toBe(0.3)
  const lines = await linesOf(metrics)
  expect(lines).toContain('forumd_event_loop_late_seconds_bucket{le="0.25"} 1')
  expect(lines).toContain('forumd_event_loop_late_seconds_bucket{le="0.5"} 2')
  at += 61_000
  expect(worst()).toBe(0)
})

test('matches, polls and human checks are counted from log events', async () => {
  const metrics = createMetrics()
  const observed: string[] = []
  const log = onLog((_, event) => observed.push(event), metrics)
  log('debug', 'check.recorded', { count: 2, matched: 3 })
  log('debug', 'candidates.matched', { matched: 1, pending: 1 })
  log('warn', 'check.cut', { stream: 'x' })
  log('warn', 'act.blocked', { act: 'comment' })
  log('warn', 'account.needs_login', { account: 'a', reason: 'human_check' })
  log('warn', 'account.needs_login', { account: 'b', reason: 'wrong_credentials' })
  const lines = await linesOf(metrics)

  expect(observed.length).toBe(6)
  expect(lines).toContain('forumd_checks_total{outcome="reached"} 2')
  expect(lines).toContain('forumd_checks_total{outcome="cut"} 1')
  expect(lines).toContain('forumd_matches_total 4')
  expect(lines).toContain('forumd_human_checks_total 2')
  expect(lines).toContain('forumd_log_events_total{event="account.needs_login",level="warn"} 2')
})

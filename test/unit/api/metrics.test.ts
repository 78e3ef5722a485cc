import { expect, test } from 'bun:test'

import { createMetrics } from '../../../src/api/metrics.ts'

test('counters, histograms and gauges are written as Prometheus reads them', () => {
  const metrics = createMetrics({ calls_total: 'Calls.', call_seconds: 'How long calls take.' })
  metrics.count('calls_total', { route: '/a' })
  metrics.count('calls_total', { route: '/a' }, 2)
  metrics.count('calls_total', { route: 'say "\\n"\n' })
  metrics.observe('call_seconds', 0.2)
  metrics.observe('call_seconds', 99)
  metrics.gauge('pending', 'Waiting.', () => 3)
  metrics.gauge('unknown', 'Not told.', () => null)
  const lines = metrics.render().split('\n')

  expect(lines.slice(0, 4)).toEqual([
    '# HELP forumd_calls_total Calls.',
    '# TYPE forumd_calls_total counter',
    'forumd_calls_total{route="/a"} 3',
    'forumd_calls_total{route="say \\"\\\\n\\"\\n"} 1',
  ])
  expect(lines).toContain('forumd_call_seconds_bucket{le="0.1"} 0')
  expect(lines).toContain('forumd_call_seconds_bucket{le="0.25"} 1')
  expect(lines).toContain('forumd_call_seconds_bucket{le="+Inf"} 2')
  expect(lines).toContain('forumd_call_seconds_sum 99.2')
  expect(lines).toContain('forumd_pending 3')
  expect(lines.join()).not.toContain('unknown')
  expect(lines.at(-1)).toBe('')
})

test('labels that run away do not fill the memory', () => {
  const metrics = createMetrics({})
  for (let n = 0; n < 6_000; n += 1) metrics.count('calls_total', { n: String(n) })

  expect(metrics.render().split('\n').length).toBe(5_003)
})

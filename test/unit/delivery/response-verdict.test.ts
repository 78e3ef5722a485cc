import { expect, test } from 'bun:test'

import { toReport } from '../../../src/core/delivery/retry.ts'
import { kindOf, kindOfUrl } from '../../../src/delivery/kinds.ts'
import { toAttempt } from '../../../src/delivery/send.ts'
import type { TransportResponse } from '../../../src/net/transport.ts'

const answer = (
  status: number,
  body = '',
  headers: Record<string, string> = {},
): TransportResponse => ({
  kind: 'answered',
  status,
  headers: new Headers(headers),
  body: new TextEncoder().encode(body),
})

test('Slack confirms with ok, and no other body is a confirmation', () => {
  expect(toAttempt(kindOf('slack'), answer(200, 'ok'), 0)).toMatchObject({ accepted: true })
  expect(toAttempt(kindOf('slack'), answer(200, '<html>'), 0)).toMatchObject({ accepted: false })
  expect(toAttempt(kindOf('slack'), answer(404, 'no_service'), 0)).toMatchObject({
    accepted: false,
  })
})

test('Discord confirms with any 2xx, and gives its retry delay in JSON', () => {
  expect(toAttempt(kindOf('discord'), answer(204), 0)).toMatchObject({ accepted: true })
  const limited = answer(429, '{"message":"limited","retry_after":64.57,"global":false}', {
    'retry-after': '65',
  })
  expect(toAttempt(kindOf('discord'), limited, 0)).toMatchObject({ status: 429, retry_after_s: 65 })
  expect(
    toAttempt(kindOf('discord'), answer(429, '<html>', { 'retry-after': '7' }), 0),
  ).toMatchObject({
    retry_after_s: 7,
  })
})

test('a webhook confirms with any 2xx and any body', () => {
  expect(toAttempt(kindOf('webhook'), answer(202, 'no'), 0)).toMatchObject({ accepted: true })
  expect(toAttempt(kindOf('webhook'), answer(503, '', { 'retry-after': '9' }), 0)).toMatchObject({
    accepted: false,
    retry_after_s: 9,
  })
})

test.each([
  ['https://hooks.slack.com/services/T/B/X', 'slack'],
  ['https://discord.com/api/webhooks/1/x', 'discord'],
  ['https://discordapp.com/api/webhooks/1/x', 'discord'],
  ['https://ptb.discord.com/api/webhooks/1/x', 'discord'],
  ['https://canary.discord.com/api/webhooks/1/x', 'discord'],
  ['https://discord.com/api/v10/users/@me', 'webhook'],
  ['https://hooks.slack.com/webhooks/abc', 'webhook'],
  ['https://hooks.slack.com.evil.example.net/services/T/B/X', 'webhook'],
  ['https://example.com/services/', 'webhook'],
  ['mailto:a@b.example', 'email'],
] as const)('%s accepts the body of a %s', (url, kind) => {
  expect(kindOfUrl(url).name).toBe(kind)
})

test('a successful test has no advice', () => {
  const attempt = toAttempt(kindOf('webhook'), answer(204), 0)
  expect(toReport(attempt, 'dlv_t', 12, 'oven is cold')).toEqual({
    body_start: 'oven is cold',
    ok: true,
    status_code: 204,
    delivery_id: 'dlv_t',
    duration_ms: 12,
    reason: null,
    hint: null,
    detail: 'the receiver answered 204',
  })
})

test.each([301, 400, 404, 410, 429, 500])(
  'a test answered %i reports the status with advice',
  (status) => {
    const report = toReport(toAttempt(kindOf('webhook'), answer(status), 0), 'dlv_t', 12)
    expect(report).toMatchObject({ ok: false, status_code: status, reason: `http_${status}` })
    expect(report.hint?.length).toBeGreaterThan(10)
  },
)

test.each([
  'timeout',
  'dns_failed',
  'connect_failed',
  'tls_failed',
  'target_not_public',
  'bad_answer',
] as const)('a test that failed with %s reports the error with advice', (error) => {
  const report = toReport({ kind: 'failed', error }, 'dlv_t', 12)
  expect(report).toMatchObject({ ok: false, status_code: null, reason: error })
  expect(report.hint?.length).toBeGreaterThan(10)
  expect(report.detail.length).toBeGreaterThan(10)
})

import { expect, test } from 'bun:test'

import { signedIn } from '../support/sessions.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const PATH = '/api/forum/posts?subforum=coffee&limit=10'
const KEYS = 10
const READS = 200

test('two hundred concurrent identical reads of ten keys are one platform request, and all are billed', async () => {
  await using daemon = await startTestDaemon({ world: 'seeded' })
  const keys = Array.from({ length: KEYS }, (_, n) => daemon.mint(`reader ${n}`))
  const before = daemon.sandbox.requests.length

  const answers = await Promise.all(
    Array.from({ length: READS }, (_, n) => daemon.call(PATH, {}, keys[n % KEYS])),
  )

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  const cache_states = answers.map(({ headers }) => headers.get('x-cache'))
  expect(cache_states.filter((it) => it === 'miss').length).toBe(1)
  expect(cache_states.every((it) => it === 'miss' || it === 'shared' || it === 'hit')).toBe(true)
  expect(daemon.sandbox.requests.length - before).toBe(1)
  for (const key of keys)
    expect((await daemon.call('/account/me', {}, key)).body).toMatchObject({
      credits_used: (READS / KEYS) * 0.002,
      total_requests: READS / KEYS,
    })
})

test('two reads of one page with sessions are two requests, each as its account', async () => {
  await using daemon = await startTestDaemon({ world: 'seeded' })
  const username = 'ada_reads'
  const headers = signedIn(daemon.sandbox, username)
  const before = daemon.sandbox.requests.length

  const answers = await Promise.all([
    daemon.call(PATH, { headers }),
    daemon.call(PATH, { headers }),
  ])

  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.map(({ headers: response_headers }) => response_headers.get('x-cache'))).toEqual([
    'miss',
    'miss',
  ])
  const platform_requests = daemon.sandbox.requests.slice(before)
  expect(platform_requests.map(({ path, user }) => [path, user])).toEqual([
    ['/r/coffee/new.json', username],
    ['/r/coffee/new.json', username],
  ])
})

import { expect, test } from 'bun:test'

import { startHouse } from '../support/house.ts'
import { signedIn } from '../support/sessions.ts'

const PATH = '/api/forum/posts?subforum=coffee&limit=10'
const KEYS = 10
const READS = 200

test('two hundred identical reads at once through ten keys are one request upstream, and all are billed', async () => {
  await using house = await startHouse({ world: 'seeded' })
  const keys = Array.from({ length: KEYS }, (_, n) => house.mint(`reader ${n}`))
  const before = house.sandbox.requests.length

  const answers = await Promise.all(
    Array.from({ length: READS }, (_, n) => house.call(PATH, {}, keys[n % KEYS])),
  )

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  const told = answers.map(({ headers }) => headers.get('x-cache'))
  expect(told.filter((it) => it === 'miss').length).toBe(1)
  expect(told.every((it) => it === 'miss' || it === 'shared' || it === 'hit')).toBe(true)
  expect(house.sandbox.requests.length - before).toBe(1)
  for (const key of keys)
    expect((await house.call('/account/me', {}, key)).body).toMatchObject({
      credits_used: (READS / KEYS) * 0.002,
      total_requests: READS / KEYS,
    })
})

test('two reads of one page with a session are two requests, each as that account', async () => {
  await using house = await startHouse({ world: 'seeded' })
  const username = 'ada_reads'
  const headers = signedIn(house.sandbox, username)
  const before = house.sandbox.requests.length

  const answers = await Promise.all([house.call(PATH, { headers }), house.call(PATH, { headers })])

  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.map(({ headers: told }) => told.get('x-cache'))).toEqual(['miss', 'miss'])
  const asked = house.sandbox.requests.slice(before)
  expect(asked.map(({ path, user }) => [path, user])).toEqual([
    ['/r/coffee/new.json', username],
    ['/r/coffee/new.json', username],
  ])
})

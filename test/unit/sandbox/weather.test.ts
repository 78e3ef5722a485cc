import { expect, test } from 'bun:test'

import { cookieOf, names, NOON, open, page, titles, visit } from './visit.ts'

async function cats(count = 3) {
  const sandbox = await open()
  for (let index = 0; index < count; index++)
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * 60_000 })
  return sandbox
}

const CATS = '/r/cats/new.json'

test.each([
  ['block_403_html', 403, 'text/html', 'blocked by network security'],
  ['challenge_200_html', 200, 'text/html', 'Please wait for verification'],
  ['login_page_200', 200, 'text/html', 'Welcome to Reddit'],
  ['429_html', 429, 'text/html', 'Too Many Requests'],
  ['429_json', 429, 'application/json', '"error": 429'],
  ['5xx', 503, 'text/html', 'Our CDN was unable to reach our servers'],
  ['html', 200, 'text/html', '<!doctype html>'],
  ['json_message_200', 200, 'application/json', '"error":403'],
] as const)('%s answers %i %s', async (fault, status, type, text) => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault })

  const answer = await visit(sandbox, CATS)

  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toStartWith(type)
  expect(answer.text).toContain(text)
})

test('empty_200 has the type of JSON and no body', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'empty_200' })

  expect(await visit(sandbox, CATS)).toMatchObject({ status: 200, text: '' })
})

test('a status and a time to wait can be said', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: '5xx', status: 502, retry_after_s: 7 })

  const answer = await visit(sandbox, CATS)

  expect(answer.status).toBe(502)
  expect(answer.headers.get('retry-after')).toBe('7')
})

test('an answer is given as it was said, byte for byte', async () => {
  await using sandbox = await cats()
  const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x00, 0xe2, 0x82, 0x22, 0x7d])
  sandbox.weather({
    path: '/r/cats',
    fault: 'answer',
    status: 418,
    headers: { 'content-type': 'application/x-odd', 'set-cookie': ['a=1; Path=/', 'b=2'] },
    body: bytes,
  })

  const response = await fetch(sandbox.url + CATS)

  expect(response.status).toBe(418)
  expect(response.headers.get('content-type')).toBe('application/x-odd')
  expect(response.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2'])
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
})

/** What a promise fails with; null when it does not. */
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

test('a cut connection answers nothing', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'reset' })

  expect(await failure(fetch(sandbox.url + CATS))).toBeInstanceOf(Error)
})

test('a truncated answer begins well and breaks off', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'truncated' })

  const response = await fetch(sandbox.url + CATS)

  expect(response.status).toBe(200)
  expect(await failure(response.text())).toBeInstanceOf(Error)
})

test('a slow answer waits for the sandbox clock, and no longer', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'slow', seconds: 30 })
  let answered = false
  const answer = visit(sandbox, CATS).then((it) => {
    answered = true
    return it
  })

  // Another request comes and goes; the slow one is still held.
  await page(sandbox, '/r/all/new.json')
  sandbox.advance(29)
  await page(sandbox, '/r/all/new.json')
  expect(answered).toBe(false)

  sandbox.advance(1)
  expect((await answer).status).toBe(200)
})

test('stopping lets go of what is held back', async () => {
  const sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'slow', delay_s: 3_600 })
  const answer = visit(sandbox, CATS).catch(() => 'cut')
  await page(sandbox, '/r/all/new.json')

  await sandbox.stop()

  expect(await answer).toBeDefined()
})

test('weather can be bounded by times, begin late and end by the clock', async () => {
  await using sandbox = await cats()
  const statuses = async (count: number) => {
    const seen: number[] = []
    for (let turn = 0; turn < count; turn++) seen.push((await visit(sandbox, CATS)).status)
    return seen
  }

  sandbox.weather({ path: '/r/cats', fault: '5xx', times: 2, skip: 1 })
  expect(await statuses(5)).toEqual([200, 503, 503, 200, 200])

  sandbox.weather({ path: '/r/cats', fault: '5xx', seconds: 60 })
  expect(await statuses(1)).toEqual([503])
  sandbox.advance(61)
  expect(await statuses(1)).toEqual([200])

  sandbox.weather({ path: '/r/cats', fault: '5xx' })
  sandbox.clearWeather()
  expect(await statuses(1)).toEqual([200])
})

test.each([
  ['/r/*/new.json', 503],
  ['/r/cats', 503],
  ['*new.json?limit=5*'.replace(/^\*/, '/*'), 503],
  ['/r/dogs', 200],
  ['/r/*/hot.json', 200],
])('weather over %s makes it %i', async (path, status) => {
  await using sandbox = await cats()
  sandbox.weather({ path, fault: '5xx' })

  expect((await visit(sandbox, `${CATS}?limit=5&raw_json=1`)).status).toBe(status)
})

test('the newest weather is the one that is felt', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: '5xx' })
  sandbox.weather({ path: '/r/cats', fault: '429_json', times: 1 })

  expect((await visit(sandbox, CATS)).status).toBe(429)
  expect((await visit(sandbox, CATS)).status).toBe(503)
})

test('drop_session takes a session for none, once', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  sandbox.weather({ path: '/r/coffee', fault: 'drop_session', times: 1 })

  const modhash = async () =>
    (await page(sandbox, '/r/coffee/new.json', { cookie })).data.modhash.length

  expect(await modhash()).toBe(0)
  expect(await modhash()).toBe(50)
})

test('revoke_after_n ends a session for good after so many requests', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  sandbox.weather({ path: '/api/me', fault: 'revoke_after_n', count: 2 })

  const alive = async () =>
    (await visit(sandbox, '/api/me.json', { cookie })).json.data.name !== undefined

  expect([await alive(), await alive(), await alive()]).toEqual([true, true, false])
  sandbox.clearWeather()
  expect(await alive()).toBe(false)
})

test.each([
  ['private', 'private'],
  ['quarantine', 'quarantined'],
] as const)('%s closes a place for as long as it lasts', async (fault, reason) => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault, times: 1 })

  expect(await visit(sandbox, CATS)).toMatchObject({ status: 403, json: { reason } })
  expect((await visit(sandbox, CATS)).status).toBe(200)
})

test('dup_rows repeats the last rows of a page', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'dup_rows', count: 2 })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 0', 'cat 1', 'cat 2', 'cat 1', 'cat 2'])
})

test('vanish_anchor takes the newest rows out of sight, and what was before them', async () => {
  await using sandbox = await cats()
  const [newest] = names(await page(sandbox, CATS))
  sandbox.weather({ path: '/r/cats', fault: 'vanish_anchor' })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 1', 'cat 2'])
  expect(titles(await page(sandbox, `${CATS}?before=${newest}`))).toEqual([])
})

test('a stale page shows nothing that came after the weather, or that is too young', async () => {
  await using sandbox = await cats()
  sandbox.weather({ path: '/r/cats', fault: 'stale', times: 1 })
  sandbox.post({ subforum: 'cats', title: 'news' })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 0', 'cat 1', 'cat 2'])
  expect(titles(await page(sandbox, CATS))).toContain('news')
  sandbox.weather({ path: '/r/cats', fault: 'stale', age_s: 90 })
  expect(titles(await page(sandbox, CATS))).toEqual(['cat 2'])
})

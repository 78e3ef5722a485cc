import { expect, test } from 'bun:test'

import { cookieOf, fetchPath, names, NOON, open, page, titles } from './fetch-path.ts'

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
  sandbox.addFault({ path: '/r/cats', fault })

  const answer = await fetchPath(sandbox, CATS)

  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toStartWith(type)
  expect(answer.text).toContain(text)
})

test('empty_200 has the type of JSON and no body', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'empty_200' })

  expect(await fetchPath(sandbox, CATS)).toMatchObject({ status: 200, text: '' })
})

test('status and delay can be set', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: '5xx', status: 502, retry_after_s: 7 })

  const answer = await fetchPath(sandbox, CATS)

  expect(answer.status).toBe(502)
  expect(answer.headers.get('retry-after')).toBe('7')
})

test('a fixed answer is returned byte for byte', async () => {
  await using sandbox = await cats()
  const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x00, 0xe2, 0x82, 0x22, 0x7d])
  sandbox.addFault({
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

/** Error of a rejected promise; null if it resolves. */
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

test('a broken connection has no response', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'reset' })

  expect(await failure(fetch(sandbox.url + CATS))).toBeInstanceOf(Error)
})

test('a truncated response ends before its Content-Length', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'truncated' })

  const response = await fetch(sandbox.url + CATS)

  expect(response.status).toBe(200)
  expect(await failure(response.text())).toBeInstanceOf(Error)
})

test('a slow response waits for the sandbox clock, and no longer', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'slow', seconds: 30 })
  let answered = false
  const answer = fetchPath(sandbox, CATS).then((it) => {
    answered = true
    return it
  })

  // Another request is answered; the slow one is still delayed.
  await page(sandbox, '/r/all/new.json')
  sandbox.advance(29)
  await page(sandbox, '/r/all/new.json')
  expect(answered).toBe(false)

  sandbox.advance(1)
  expect((await answer).status).toBe(200)
})

test('stopping releases delayed responses', async () => {
  const sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'slow', delay_s: 3_600 })
  const answer = fetchPath(sandbox, CATS).catch(() => 'cut')
  await page(sandbox, '/r/all/new.json')

  await sandbox.stop()

  expect(await answer).toBeDefined()
})

test('a rule can be limited in number, begin late and end by the clock', async () => {
  await using sandbox = await cats()
  const statuses = async (count: number) => {
    const seen: number[] = []
    for (let turn = 0; turn < count; turn++) seen.push((await fetchPath(sandbox, CATS)).status)
    return seen
  }

  sandbox.addFault({ path: '/r/cats', fault: '5xx', times: 2, skip: 1 })
  expect(await statuses(5)).toEqual([200, 503, 503, 200, 200])

  sandbox.addFault({ path: '/r/cats', fault: '5xx', seconds: 60 })
  expect(await statuses(1)).toEqual([503])
  sandbox.advance(61)
  expect(await statuses(1)).toEqual([200])

  sandbox.addFault({ path: '/r/cats', fault: '5xx' })
  sandbox.clearFaults()
  expect(await statuses(1)).toEqual([200])
})

test.each([
  ['/r/*/new.json', 503],
  ['/r/cats', 503],
  ['*new.json?limit=5*'.replace(/^\*/, '/*'), 503],
  ['/r/dogs', 200],
  ['/r/*/hot.json', 200],
])('a rule over %s makes it %i', async (path, status) => {
  await using sandbox = await cats()
  sandbox.addFault({ path, fault: '5xx' })

  expect((await fetchPath(sandbox, `${CATS}?limit=5&raw_json=1`)).status).toBe(status)
})

test('the newest rule applies', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: '5xx' })
  sandbox.addFault({ path: '/r/cats', fault: '429_json', times: 1 })

  expect((await fetchPath(sandbox, CATS)).status).toBe(429)
  expect((await fetchPath(sandbox, CATS)).status).toBe(503)
})

test('drop_session treats a session as anonymous, once', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  sandbox.addFault({ path: '/r/coffee', fault: 'drop_session', times: 1 })

  const modhash = async () =>
    (await page(sandbox, '/r/coffee/new.json', { cookie })).data.modhash.length

  expect(await modhash()).toBe(0)
  expect(await modhash()).toBe(50)
})

test('revoke_after_n ends a session permanently after that many requests', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')
  sandbox.addFault({ path: '/api/me', fault: 'revoke_after_n', count: 2 })

  const alive = async () =>
    (await fetchPath(sandbox, '/api/me.json', { cookie })).json.data.name !== undefined

  expect([await alive(), await alive(), await alive()]).toEqual([true, true, false])
  sandbox.clearFaults()
  expect(await alive()).toBe(false)
})

test.each([
  ['private', 'private'],
  ['quarantine', 'quarantined'],
] as const)('%s closes a subforum while it applies', async (fault, reason) => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault, times: 1 })

  expect(await fetchPath(sandbox, CATS)).toMatchObject({ status: 403, json: { reason } })
  expect((await fetchPath(sandbox, CATS)).status).toBe(200)
})

test('dup_rows repeats the last rows of a page', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'dup_rows', count: 2 })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 0', 'cat 1', 'cat 2', 'cat 1', 'cat 2'])
})

test('vanish_anchor removes the newest rows, also as cursors', async () => {
  await using sandbox = await cats()
  const [newest] = names(await page(sandbox, CATS))
  sandbox.addFault({ path: '/r/cats', fault: 'vanish_anchor' })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 1', 'cat 2'])
  expect(titles(await page(sandbox, `${CATS}?before=${newest}`))).toEqual([])
  expect(titles(await page(sandbox, `${CATS}?after=${newest}`))).toEqual([])
})

test('a stale page shows nothing newer than the rule, or than its age', async () => {
  await using sandbox = await cats()
  sandbox.addFault({ path: '/r/cats', fault: 'stale', times: 1 })
  sandbox.post({ subforum: 'cats', title: 'news' })

  expect(titles(await page(sandbox, CATS))).toEqual(['cat 0', 'cat 1', 'cat 2'])
  expect(titles(await page(sandbox, CATS))).toContain('news')
  sandbox.addFault({ path: '/r/cats', fault: 'stale', age_s: 90 })
  expect(titles(await page(sandbox, CATS))).toEqual(['cat 2'])
})

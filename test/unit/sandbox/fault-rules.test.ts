import { expect, test } from 'bun:test'

import { cookieOf, fetchPath, names, NOON, open, page, titles } from './fetch-path.ts'

async function cats(count = 3) {
  const sandbox = await open()
  for (let index = 0; index < count; index++)
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * 60_000 })
  return sandbox
}

const CATS = '/r/cats/new.json'

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

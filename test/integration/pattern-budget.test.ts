// Goal: one customer's patterns keep nothing from others, at any cost and whenever they were
// accepted. Method: the attacks of the bar (bun run bar:abuse), smaller, against the daemon in its
// own process.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { startAbused } from '../support/abuse/fixture.ts'
import { attackWithPatterns, previewPatterns } from '../support/abuse/patterns.ts'
import { call } from '../support/abuse/target.ts'

setDefaultTimeout(60_000)

let abused: Awaited<ReturnType<typeof startAbused>>
beforeAll(async () => {
  abused = await startAbused()
})
afterAll(async () => {
  await abused[Symbol.asyncDispose]()
})

// Five times the processor time that registration allows, and a tenth of it.
const EXPENSIVE = '(a|b)*a(a|b){160}c'
const regex = ['\\bgrinder\\b', EXPENSIVE]

test('an unaffordable pattern is refused by name, in every field', async () => {
  const { target } = abused
  const spec = { subforum: 'trial', regex }
  const refused = { status: 400, body: { code: 'INVALID_REQUEST', field: 'filter_spec.regex[1]' } }
  const send = (path: string, body: object) =>
    call(target, `/forum/monitor/${path}`, JSON.stringify(body))
  target.sandbox.post({ subforum: 'trial', title: 'first' })

  const added = await send('add', { filter_spec: spec })
  expect(added).toMatchObject(refused)
  expect(added.text).toContain(EXPENSIVE)
  expect(await send('preview', { filter_spec: spec })).toMatchObject(refused)

  const cheap = await send('add', { filter_spec: { ...spec, regex: regex.slice(0, 1) } })
  expect(cheap.status).toBe(200)
  const { id } = cheap.body
  expect(await send('update', { id, filter_spec: spec })).toMatchObject(refused)
})

test('patterns of previews are not stored', async () => {
  const { grown_mib, statuses } = await previewPatterns(abused, {
    previews: 10,
    length: 500,
    patternOf: (n) => `e.{12}§${n}`,
  })

  expect(statuses[200]).toBeGreaterThan(0)
  expect(Object.keys(statuses).filter((it) => !['200', '400', '429'].includes(it))).toEqual([])
  expect(grown_mib).toBeLessThan(150)
})

test('expensive patterns accepted earlier are paused, and other monitors get their matches', async () => {
  const stored = [EXPENSIVE, 'b[ab]{241}c', 'a[ab]{230}d']
  const seconds = 2
  const { found_ms, paused } = await attackWithPatterns(abused, {
    customers: 2,
    posts: 100,
    length: 9900,
    seconds,
    stored,
  })

  expect(paused).toEqual(Array.from({ length: 4 }, () => 'filter_too_slow'))
  for (const all of [found_ms.words, found_ms.pattern])
    expect(all.filter(Number.isFinite)).toHaveLength(seconds)
  const events = abused.lines.filter((line) => line.includes('"filter.too_slow"'))
  expect(events).toHaveLength(paused.length)
})

test('the log has no internal error', () => {
  expect(abused.lines.filter((line) => /"level":"error"/.test(line))).toEqual([])
})

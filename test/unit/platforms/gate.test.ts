import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { WAIT_MAX_S } from '../../../src/core/base/wait.ts'
import { KIND_NAMES } from '../../../src/platforms/kinds.ts'
import { IDS_MAX, ROWS_MAX } from '../../../src/platforms/values.ts'
import {
  KINDS,
  mutate,
  type SiteKind,
  type SiteRow,
  startSite,
  STREAMED,
} from '../../support/hostile-site.ts'
import { cases } from '../../support/long-form.ts'
import { mutated, toResponse } from '../../support/mutations.ts'

const DAY = 86_400_000
const STEP_MS = 4000
const NONE = { skipped: [], unanswered: [] }
/** The clock of a site passes over the pauses of parallel requests, so that their dates seem so much older. */
const SLEEPS_MS = 5000
const LAST_ID = String(9e15)
const BAD_IDS = [-1, 0, 0.5, 100.5, 2 ** 53 - 1, 2 ** 53, 1e300, Infinity, '', 'x"y', null, {}]
const BAD_TIMES: Readonly<Record<'text' | 'seconds', unknown[]>> = {
  text: ['', 'soon', '1969-12-31T00:00:00Z', '9999-12-31T00:00:00Z', '+275760-09-13T00:00:01Z', {}],
  seconds: [-1, 1e12, 1795874400000000, 8.64e15, 1e300, Infinity, 'soon', {}],
}
const LONG = 'x'.repeat(150_000)
/** As long as the answer for one item may be. */
const FILLER = 'x'.repeat(900 * 1024)
/** One letter that NFKC makes 18 of. */
const EXPANDING = '\ufdfa'

const timesOf = (kind: SiteKind) =>
  BAD_TIMES[kind === 'hackernews' || kind === 'reddit' ? 'seconds' : 'text']

test('every kind of source has a site here', () => {
  expect(KINDS.toSorted()).toEqual(
    KIND_NAMES.filter((it): it is SiteKind => it !== 'feed').toSorted(),
  )
})

/** Reads a site with one hostile row between two honest ones; returns the ids that came. */
async function amidst(
  kind: SiteKind,
  field: 'id' | 'time' | 'title' | 'text',
  value: unknown,
): Promise<{
  ids: string[]
  honest: string[]
  hostile: string
  requests: number
  events: string[]
}> {
  await using it = startSite(kind)
  const name = (id: number) => (kind === 'reddit' ? id.toString(36) : String(id))
  for (let n = 0; n < 5; n++) it.put()
  const begun = kind === 'reddit' ? null : (await it.step(null)).state
  const rows = [it.put(), it.putWith(field, value), it.put()]
  const [first, hostile, last] = rows.map(({ id }) => name(id))
  // A number beyond JSON is written as an exponent.
  it.site.change = (answer) =>
    JSON.stringify(answer, (_, part) => (part === Infinity ? '#inf' : part)).replaceAll(
      '"#inf"',
      '1e400',
    )
  const found: string[] = []
  const before = it.site.requests
  if (kind === 'reddit') {
    const page = await it.posts()
    if (page.ok) found.push(...page.value.rows.map(({ id }) => id))
  } else {
    const step = await it.step(begun)
    found.push(...step.ids)
  }
  return {
    ids: found,
    honest: [first ?? '', last ?? ''],
    hostile: hostile ?? '',
    requests: it.site.requests - before,
    events: it.site.events.filter((event) => event.startsWith('source.reader_failed')),
  }
}

describe.each(KINDS)('%s', (kind) => {
  test.each([
    ...BAD_IDS.map((value) => ['id', value] as const),
    ...timesOf(kind).map((value) => ['time', value] as const),
    ['title', LONG],
    ['title', EXPANDING.repeat(1000)],
    ['text', 'x'.repeat(300_000)],
    ['text', 'x'.repeat(1_500_000)],
    ['text', EXPANDING.repeat(50_000)],
  ] as const)(
    'a row with a wrong %s is left out (%#), and the others are given',
    async (field, value) => {
      const found = await amidst(kind, field, value)
      expect(found.ids).toEqual(expect.arrayContaining(found.honest))
      expect(found.ids).not.toContain(found.hostile)
      expect(found.requests).toBeLessThan(60)
      expect(found.events).toEqual([])
    },
  )

  test.each([
    ['title', '\u0316\u0301'.repeat(900)],
    ['text', '\u0316\u0301'.repeat(50_000)],
    ['text', '\u0316\u200d\u0301\u0640'.repeat(25_000)],
    ['text', `http://${'\u0316\u0301'.repeat(50_000)}`],
    ['text', `<a href="http://${'\u0316\u0301'.repeat(1900)}">x</a>`.repeat(20)],
  ] as const)(
    'a row whose %s has only marks costs no more than other texts (%#), and is given',
    async (field, value) => {
      const found = await amidst(kind, field, value)
      expect(found.ids).toEqual(expect.arrayContaining([...found.honest, found.hostile]))
    },
  )

  test('a row that is left out is counted and named', async () => {
    await using it = startSite(kind)
    it.put()
    it.putWith('title', LONG)
    await it.posts()
    expect(it.left_out).toEqual(['s'])
    expect(it.source.left_out?.()).toMatchObject({ rows: 1, field: 'title' })
    expect(it.site.events).toContainEqual(expect.stringMatching(/^source\.rows_left_out .*title/))
  })

  test('a row whose time is none is counted, too', async () => {
    await using it = startSite(kind)
    it.put()
    it.putWith('time', { no: 'time' })
    for (let n = 0; n < 2; n++) await it.posts()
    expect(it.left_out).toEqual(['s'])
  })

  test('a row that is left out counts once, however often it is read', async () => {
    await using it = startSite(kind)
    it.put()
    it.putWith('title', LONG)
    for (let n = 0; n < 3; n++) {
      await it.posts()
      it.site.now += 60_000
    }
    expect(it.left_out).toEqual(['s'])
    it.putWith('title', LONG)
    await it.posts()
    expect(it.left_out).toEqual(['s', 's'])
  })

  test('rows beyond the bound of a list are counted, once', async () => {
    await using it = startSite(kind)
    it.put()
    const surplus = 7
    it.site.change = (answer) =>
      lengthen(answer, (kind === 'hackernews' ? IDS_MAX : ROWS_MAX) + surplus)
    for (let n = 0; n < 2; n++) {
      await it.posts()
      it.site.now += 60_000
    }
    expect(it.source.left_out?.()).toMatchObject({ rows: surplus, field: 'rows' })
  })

  test('texts that are given are well-formed, without U+0000, and addresses are whole', async () => {
    await using it = startSite(kind)
    it.putWith('title', 'cut \ud83d a\0b')
    const page = await it.posts()
    const [row] = page.ok ? page.value.rows : []
    expect(row?.title).toBe('cut \ufffd a\ufffdb')
    expect(row && new URL(row.url).href).toBe(row?.url ?? '')
  })

  test.each([
    '99999999999',
    '9'.repeat(400),
    '-1',
    '60.5',
    '3, 3',
    '1e9',
    'Fri, 31 Dec 9999 00:00:00 GMT',
  ])('a caller is given a bounded wait for Retry-After %p', async (line) => {
    for (const status of [429, 503]) {
      await using it = startSite(kind)
      it.site.override = () =>
        new Response('{}', {
          status,
          headers: { 'retry-after': line, 'content-type': 'application/json' },
        })
      const page = await it.posts()
      expect(page.ok).toBe(false)
      const wait_s = !page.ok && 'retry_after_s' in page.fault ? page.fault.retry_after_s : null
      expect(wait_s ?? 0).toBeGreaterThanOrEqual(0)
      expect(wait_s ?? 0).toBeLessThanOrEqual(WAIT_MAX_S)
      // A trial follows the bound.
      it.put()
      it.site.override = () => null
      it.site.now += WAIT_MAX_S * 1000 + 120_000
      expect(await it.posts()).toMatchObject({ ok: true })
    }
  })

  test.each([
    ['a cut answer', '{"latest_posts":[{"id":1', 'application/json'],
    ['an empty answer', '', 'application/json'],
    ['a page', '<!doctype html><p>Sorry', 'text/html'],
    ['a list of another shape', '{"unexpected":[]}', 'application/json'],
    ['a number', '7.5', 'application/json'],
  ])('%s with an ETag is not kept, and never an empty list', async (_what, body, type) => {
    await using it = startSite(kind)
    it.put()
    let conditions = 0
    it.site.override = (_path, headers) => {
      if (headers.get('if-none-match') !== null) {
        conditions += 1
        return new Response(null, { status: 304 })
      }
      return new Response(body, { headers: { 'content-type': type, etag: '"1"' } })
    }
    const page = await it.posts()
    expect(page.ok && page.value.rows.length === 0).toBe(false)
    await it.posts()
    expect(conditions).toBe(0)
    it.site.override = () => null
    it.site.now += 600_000
    expect(await it.posts()).toMatchObject({ ok: true, value: { rows: [{}] } })
  })
})

test('of the items of PieFed that wait for a second read no more are kept than fit into its position', async () => {
  await using it = startSite('piefed')
  it.put()
  const { state } = await it.step(null)
  it.put()
  it.site.change = (answer) => lengthen(answer, 1500)
  const step = await it.advance(state)
  const { held } = JSON.parse(step?.ok === true ? step.value.state : '{"held":[]}')
  expect(held.length).toBeGreaterThan(0)
  expect(held.length).toBeLessThanOrEqual(500)
})

/** An answer whose list of rows or of ids has so many. */
function lengthen(answer: unknown, length: number): unknown {
  const text = JSON.stringify(answer)
  const lists: unknown[][] = []
  const copy: unknown = JSON.parse(text, (key, value) => {
    if (Array.isArray(value) && value.length > 0 && !/categories/.test(key)) lists.push(value)
    return value
  })
  const [list] = lists
  if (list === undefined) return answer
  const [row] = list
  for (let id = 1_000_000; list.length < length; id++)
    list.push(
      typeof row === 'number'
        ? id
        : JSON.parse(JSON.stringify(row).replaceAll(/"id":("?)\w{2,3}\b/g, `"id":$1${id}`)),
    )
  return copy
}

/** The first half of them is hostile. */
const ROUNDS = cases({ short: 45, long: 90 })

/** Values that replace any part of an answer. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>(...BAD_IDS, ...BAD_TIMES.text, ...BAD_TIMES.seconds, 9e15, 2 ** 53 - 1),
  fc.constantFrom<unknown>(LONG, EXPANDING, [], [[]], true, 'a\0b', '\ud800', [null], { id: 1 }),
  fc.jsonValue(),
)

describe.each(STREAMED)('the watch of %s', (kind) => {
  test('reads no further page once a step has read what fits into memory', async () => {
    await using it = startSite(kind)
    for (let n = 0; n < 5; n++) it.put()
    const { state } = await it.step(null)
    for (let n = 0; n < 1000; n++) it.put()
    let bytes = 0
    it.site.change = (answer) => {
      if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer
      bytes += FILLER.length
      return { ...answer, filler: FILLER }
    }
    await it.advance(state)
    expect(bytes / FILLER.length).toBeGreaterThan(1)
    expect(bytes / FILLER.length).toBeLessThanOrEqual(12)
  })

  test.each(['headers', 'codings', 'waits', 'redirects', 'cuts', 'sizes', 'statuses'])(
    'proves no time with a post that it neither gave nor reported as unread while %s are wrong',
    async (phase) => {
      const random = createSeededRandom(20)
      await using it = startSite(kind)
      const change = (value: unknown) => {
        const body = Buffer.from(JSON.stringify(value))
        const headers: [string, string][] = [
          ['content-type', 'application/json'],
          ['date', new Date(it.clock.now()).toUTCString()],
        ]
        const given = { random, recorded: [], path: '/', own_url: 'http://127.0.0.1:1' }
        const changed = mutated(phase, { status: 200, headers, body }, given)
        // An answer that reads as another one is no sign of a post.
        return (changed?.lies === false && toResponse(changed.answer)) || value
      }
      for (let n = 0; n < 3; n++) it.put()
      let { state } = await it.step(null)
      const posted: SiteRow[] = []
      const known = new Set<string>()
      for (let round = 0; round < ROUNDS; round++) {
        it.site.change = round < ROUNDS / 2 ? change : (value) => value
        if (round < (ROUNDS * 2) / 3) posted.push(it.put(), it.put())
        const step = await it.step(state, STEP_MS)
        for (const id of step.ids) known.add(id)
        // The ids of a gap are requested again by the reads that close gaps.
        const { skipped, unanswered } = step.outcome.ok ? step.outcome.value : NONE
        for (const { from_id } of skipped) known.add(String(from_id))
        expect(unanswered.filter((id) => posted.some((row) => row.id === id))).toEqual([])
        ;({ state } = step)
        const until = (step.verified_at ?? 0) - SLEEPS_MS
        const missing = posted.filter(({ id, at }) => at < until && !known.has(String(id)))
        expect([round, missing]).toEqual([round, []])
      }
      expect(posted.filter(({ id }) => !known.has(String(id)))).toEqual([])
    },
    30_000,
  )

  test('goes on after any mutated answers, without an exception, an endless walk or a proof of the future', async () => {
    const mutation = fc.tuple(
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      hostile,
    )
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 12 }), async (mutations) => {
        await using it = startSite(kind)
        for (let n = 0; n < 8; n++) it.put()
        let { state } = await it.step(null)
        let n = 0
        it.site.change = (answer) => {
          const [pick, value] = mutations[n++ % mutations.length] ?? [0, null]
          const changed = mutate(answer, pick, value)
          return JSON.stringify(changed) ?? 'null'
        }
        for (let round = 0; round < 3; round++) {
          it.put()
          const step = await it.step(state)
          expect(step.requests).toBeLessThan(3000)
          if (step.verified_at !== null)
            expect(step.verified_at).toBeLessThanOrEqual(it.clock.now())
          if (step.outcome.ok)
            for (const item of step.outcome.value.items) {
              expect(item.created_utc * 1000).toBeLessThanOrEqual(it.clock.now() + DAY)
              expect(item.created_utc).toBeGreaterThanOrEqual(0)
            }
          ;({ state } = step)
          expect((state ?? '').length).toBeLessThan(128 * 1024)
        }
        // The site is honest again: what is new is given, at the latest when a lower end was confirmed.
        it.site.change = (answer) => answer
        it.site.now += 900_000
        const given = new Set<string>()
        for (let round = 0; round < 6; round++) {
          const { id } = it.put()
          const step = await it.step(state)
          for (const found of step.ids) given.add(found)
          ;({ state } = step)
          if (round === 5) expect([...given]).toContain(String(id))
        }
        expect(it.site.events.filter((event) => event.startsWith('source.reader_failed'))).toEqual(
          [],
        )
      }),
      { numRuns: cases({ short: 30, long: 1000 }) },
    )
  }, 120_000)

  test.each([
    [{ age: '-999999999' }],
    [{ date: 'Fri, 31 Dec 9999 23:59:59 GMT' }],
    [{ date: 'Fri, 31 Dec 9999 23:59:59 GMT', age: '1e99' }],
    [{ age: '9'.repeat(400) }],
  ])('proves nothing of the future with %p', async (headers) => {
    await using it = startSite(kind)
    it.put()
    let { state } = await it.step(null)
    it.site.headers = headers
    for (let round = 0; round < 6; round++) {
      it.put()
      const step = await it.step(state)
      expect(step.verified_at ?? 0).toBeLessThanOrEqual(it.clock.now())
      ;({ state } = step)
    }
    it.site.headers = {}
    it.put()
    const after = await it.step(state)
    expect(after.verified_at ?? 0).toBeLessThanOrEqual(it.clock.now())
  })

  test('items of the future do not move its clock', async () => {
    await using it = startSite(kind)
    it.put()
    const begun = await it.step(null)
    it.put({ at: it.clock.now() + DAY / 2 })
    it.put({ at: it.clock.now() + DAY / 2 })
    const step = await it.step(begun.state)
    expect(step.verified_at ?? 0).toBeLessThanOrEqual(it.clock.now())
    const { id } = it.put()
    const next = await it.step(step.state)
    expect([...next.ids]).toContain(String(id))
  })

  test('begins again at the present end when ids go back, says so, and gives what is new', async () => {
    await using it = startSite(kind)
    for (let n = 0; n < 5; n++) it.put({ id: 1000 + n })
    let { state } = await it.step(null)
    it.put({ id: 1005 })
    ;({ state } = await it.step(state))
    // A copy of the database from long ago.
    it.site.rows = it.site.rows.map((row, n) => ({ ...row, id: 400 + n, at: row.at - DAY }))
    const given = new Set<string>()
    let went_back = false
    for (let n = 0; n < 4; n++) {
      it.site.now += 30_000
      it.put({ id: 500 + n })
      const step = await it.step(state)
      went_back ||= step.outcome.ok && step.outcome.value.went_back === true
      for (const id of step.ids) given.add(id)
      ;({ state } = step)
    }
    expect(went_back).toBe(true)
    // The items of the copy were there before.
    expect([...given].filter((id) => Number(id) < 500)).toEqual([])
    expect([...given]).toContain('503')
    if (kind !== 'hackernews') expect([...given]).toContain('500')
  })

  test.each([61_000, 6000])(
    'gives every honest post around an answer with an id that is none, in steps of %d ms',
    async (after_ms) => {
      await using it = startSite(kind)
      for (let n = 0; n < 5; n++) it.put()
      let { state } = await it.step(null)
      const posted: string[] = []
      const given = new Set<string>()
      for (let round = 0; round < 30; round++) {
        posted.push(String(it.put({ at: it.clock.now() + after_ms - 2000 }).id))
        it.site.change = (answer) =>
          round === 3
            ? JSON.parse(JSON.stringify(answer).replaceAll(/\b1\d\d\b/g, LAST_ID))
            : answer
        const step = await it.step(state, after_ms)
        for (const id of step.ids) given.add(id)
        ;({ state } = step)
      }
      // A server that publishes in steps shows the last ones half so far.
      expect([...given]).toEqual(expect.arrayContaining(posted.slice(0, -3)))
    },
  )

  test('does not take the removal of its newest posts for ids that went back', async () => {
    await using it = startSite(kind)
    for (let n = 0; n < 60; n++) it.put()
    let { state } = await it.step(null)
    for (let n = 0; n < 3; n++) it.put()
    ;({ state } = await it.step(state))
    it.site.rows = it.site.rows.slice(0, -3)
    if (kind === 'hackernews') return
    for (let n = 0; n < 4; n++) {
      const step = await it.step(state)
      expect(step.outcome.ok && step.outcome.value.went_back === true).toBe(false)
      ;({ state } = step)
    }
    const { id } = it.put()
    const step = await it.step(state)
    expect([...step.ids]).toContain(String(id))
  })
})

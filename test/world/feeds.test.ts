/**
 * Feeds that misbehave as the protocol page lists, over hours of a clock of their own. The judge knows when each entry was
 * listed first, and reads what the source gave and claimed; it shares nothing with the walker.
 *
 * - MISSED: an entry or its new text was listed before a claim, was never given, and no gap covers its arrival. EARLY: it
 *   was given after the claim. One that was deleted before the next poll is excused.
 * - DOUBLED: an entry was given twice with the same text.
 * - FALSE: something was given that was there before the first poll, or never.
 */
import { describe, expect, test } from 'bun:test'

import { cases } from '../support/long-form.ts'
import { documentOf, MINUTE, START, startFeeds } from '../unit/platforms/feed/fixture.ts'
import { makeRandom } from './plan.ts'
import type { Random } from './plan.ts'

const HOUR = 60 * MINUTE
const S = 1000

type Text = { readonly fromMs: number; readonly text: string }

type Entry = {
  readonly n: number
  /** Its date in the list. */
  readonly at: number
  /** Since when the site lists it, and until when. */
  readonly fromMs: number
  untilMs: number
  readonly texts: Text[]
}

type Span = readonly [fromMs: number, untilMs: number]

type Scenario = {
  readonly perHour: number
  readonly window: number
  /** Entries that are written within a minute, twice an hour. */
  readonly burst?: number
  readonly edits?: number
  readonly deletions?: number
  /** Share of the entries that a moderator approves minutes later, at their old date. */
  readonly late?: number
  /** Share of the entries with a date of weeks ago. */
  readonly backDated?: number
  readonly errors?: number
  /** In spans of ten minutes each, once an hour. */
  readonly spans?: 'resorted' | 'empty' | 'unchanged' | 'cut' | 'page'
  readonly redirects?: boolean
  /** All ids are others from the second hour on; addresses and titles stay. */
  readonly reissued?: boolean
  /** The list ends for good after two hours. */
  readonly gone?: boolean
  /** Copies of the list may be so old. */
  readonly cacheMs?: number
  readonly oldestFirst?: boolean
  /** Each poll can overlap the one before, and nothing else keeps the list from being proven. */
  readonly isProvable?: boolean
}

const CALM = { perHour: 12, window: 15 } as const

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  plain: { ...CALM, isProvable: true },
  busy: { perHour: 90, window: 20, isProvable: true },
  'oldest first': { perHour: 30, window: 15, oldestFirst: true },
  'rolled over': { ...CALM, burst: 40 },
  edits: { ...CALM, edits: 0.4, isProvable: true },
  deletions: { ...CALM, deletions: 0.1 },
  'approved late': { ...CALM, late: 0.3, isProvable: true },
  'back-dated': { ...CALM, backDated: 0.3, isProvable: true },
  errors: { ...CALM, errors: 0.3 },
  resorted: { ...CALM, spans: 'resorted' },
  emptied: { ...CALM, spans: 'empty' },
  '304 lies': { ...CALM, spans: 'unchanged' },
  cut: { ...CALM, spans: 'cut' },
  pages: { ...CALM, spans: 'page' },
  redirects: { ...CALM, redirects: true, isProvable: true },
  're-issued ids': { ...CALM, reissued: true },
  gone: { ...CALM, gone: true },
  copies: { ...CALM, cacheMs: 5 * MINUTE, isProvable: true },
  weather: {
    perHour: 20,
    window: 15,
    burst: 30,
    edits: 0.2,
    late: 0.1,
    errors: 0.2,
    redirects: true,
  },
}

const between = (random: Random, least: number, most: number) => least + random() * (most - least)

const planEntries = (random: Random, scenario: Scenario, hours: number): Entry[] => {
  const entries: Entry[] = []
  const write = (writtenMs: number) => {
    const isOld = writtenMs < START
    const does = (share = 0) => !isOld && random() < share
    const n = entries.length + 1
    const fromMs = does(scenario.late) ? writtenMs + between(random, 1, 15) * MINUTE : writtenMs
    const isBackDated = does(scenario.backDated)
    const date = isBackDated ? writtenMs - between(random, 1, 30) * 24 * HOUR : writtenMs
    const texts = [{ fromMs, text: `text ${n}` }]
    if (does(scenario.edits))
      texts.push({ fromMs: fromMs + between(random, 1, 30) * MINUTE, text: `text ${n} again` })
    const untilMs = does(scenario.deletions) ? fromMs + between(random, 1, 60) * MINUTE : Infinity
    entries.push({ n, at: Math.floor(date / S) * S, fromMs, untilMs, texts })
  }
  const gap = (perHour: number) => (-Math.log(1 - random()) * HOUR) / perHour
  for (let at = START - 3 * HOUR; at < START + hours * HOUR; at += gap(scenario.perHour)) write(at)
  for (let hour = 0.3; scenario.burst !== undefined && hour < hours; hour += 0.5)
    for (let row = 0; row < scenario.burst; row++) write(START + hour * HOUR + row * S)
  return entries
}

/** The list that an honest site shows. */
const listAt = (entries: readonly Entry[], { window }: Scenario, nowMs: number): Entry[] =>
  entries
    .filter(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs)
    .toSorted((a, b) => b.at - a.at || b.n - a.n)
    .slice(0, window)

const textAt = ({ texts }: Entry, nowMs: number): string =>
  texts.findLast(({ fromMs }) => fromMs <= nowMs)?.text ?? ''

type Poll = {
  readonly atMs: number
  readonly isRead: boolean
  readonly given: readonly { n: number; text: string }[]
  /** End of what is proven; null: the poll failed or proves nothing. */
  readonly claimMs: number | null
  readonly gap: Span | null
}

const runFeed = async (scenario: Scenario, seed: number, hours: number) => {
  const random = makeRandom(seed)
  const entries = planEntries(random, scenario, hours)
  await using it = startFeeds()
  const { site } = it
  site.now = START
  const isIn = () =>
    (site.now - START) % HOUR > 40 * MINUTE && (site.now - START) % HOUR < 50 * MINUTE
  const answer = (path: string, headers: Headers): Response => {
    if (scenario.gone === true && site.now > START + 2 * HOUR)
      return new Response('', { status: 410 })
    if (random() < (scenario.errors ?? 0))
      return new Response('', { status: [500, 502, 503, 429][Math.floor(random() * 4)] ?? 500 })
    if (scenario.redirects === true && path === '/feed')
      return Response.redirect(`${it.url}/${random() < 0.5 ? 'here' : 'there'}`, 302)
    const strange = isIn() ? scenario.spans : undefined
    if (strange === 'page') return new Response('<!doctype html><title>Checking</title>')
    const copiedMs = scenario.cacheMs === undefined ? 0 : site.now % scenario.cacheMs
    const age = { age: String(Math.ceil(copiedMs / S)) }
    const list = strange === 'empty' ? [] : listAt(entries, scenario, site.now - copiedMs)
    const hash = Bun.hash(list.map((row) => textAt(row, site.now - copiedMs)).join()).toString(36)
    // A server that lies says that nothing has changed.
    if (strange === 'unchanged' && headers.has('if-none-match'))
      return new Response(null, { status: 304 })
    if (headers.get('if-none-match') === `"${hash}"`)
      return new Response(null, { status: 304, headers: age })
    const sorted =
      strange === 'resorted'
        ? list.toSorted((a, b) => ((a.n * 7919) % 13) - ((b.n * 7919) % 13))
        : list
    const rows = sorted.map((row) => ({
      n: row.n,
      at: row.at,
      text: textAt(row, site.now - copiedMs),
    }))
    const isMoved = scenario.reissued === true && site.now > START + HOUR
    const body = documentOf(scenario.oldestFirst === true ? rows.toReversed() : rows)
    return new Response(
      strange === 'cut'
        ? body.slice(0, body.length / 2)
        : isMoved
          ? body.replaceAll(/(<guid[^>]*>)/g, '$1new-')
          : body,
      {
        headers: {
          'content-type': 'application/rss+xml',
          etag: `"${hash}"`,
          ...age,
        },
      },
    )
  }
  site.override = answer
  const polls: Poll[] = []
  while (site.now < START + hours * HOUR) {
    const outcome = await it.poll()
    // Redirects are paced: the list of the last answer counts.
    const atMs = site.now
    const step = outcome?.ok === true ? outcome.value : null
    polls.push({
      atMs,
      isRead: step !== null,
      given: (step?.items ?? []).map((item) =>
        item.kind === 'post'
          ? { n: Number(item.title.replace('title ', '')), text: item.text }
          : { n: 0, text: '' },
      ),
      claimMs: step === null || step.partial !== null ? null : step.verified_until,
      gap:
        step?.overran === undefined
          ? null
          : [step.overran.from_at ?? 0, step.overran.until_at ?? Infinity],
    })
    site.now = Math.max(site.now + MINUTE, step?.next_at ?? 0)
  }
  return judge(entries, scenario, polls)
}

const judge = (entries: readonly Entry[], scenario: Scenario, polls: readonly Poll[]) => {
  const [first] = polls
  const startMs = first?.atMs ?? 0
  const missed: string[] = []
  const early: string[] = []
  const doubled: string[] = []
  const wrong: string[] = []
  const given = new Map<string, number>()
  for (const { atMs, given: rows } of polls)
    for (const { n, text } of rows) {
      const entry = entries[n - 1]
      const key = `${n} ${text}`
      if (given.has(key)) doubled.push(`${key} at ${minutes(atMs)}`)
      given.set(key, Math.min(given.get(key) ?? Infinity, atMs))
      if (entry === undefined || !entry.texts.some((it) => it.text === text)) wrong.push(key)
      else if (entry.fromMs < startMs && entry.texts[0]?.text === text) wrong.push(`${key}: old`)
    }
  const spans = polls.flatMap(({ gap }) => (gap === null ? [] : [gap]))
  for (const entry of entries) {
    for (const [index, { fromMs, text }] of entry.texts.entries()) {
      if (fromMs <= startMs) continue
      const next = polls.find(({ atMs, isRead }) => isRead && atMs >= fromMs)
      // Nobody could see it: it was deleted, or had no place in the list, when it was polled next.
      if (
        next === undefined ||
        entry.untilMs <= next.atMs ||
        (entry.texts[index + 1]?.fromMs ?? Infinity) <= next.atMs
      )
        continue
      if (!listAt(entries, scenario, fromMs).includes(entry)) continue
      const isLate = index > 0 || fromMs - entry.at >= S
      const claim = polls.find(({ claimMs }) => claimMs !== null && claimMs > fromMs + S)
      // An item that is approved late, or edited, may leave the list before it is polled.
      if (isLate && !listAt(entries, scenario, claim?.atMs ?? 0).includes(entry)) continue
      if (claim === undefined || (given.get(`${entry.n} ${text}`) ?? Infinity) <= claim.atMs)
        continue
      if (spans.some(([from, until]) => from <= fromMs && entry.at <= until + S)) continue
      const givenMs = given.get(`${entry.n} ${text}`)
      const told = `${entry.n} ${text} of ${minutes(fromMs)}, claimed at ${minutes(claim.atMs)}`
      if (givenMs === undefined) missed.push(told)
      else early.push(`${told}, given at ${minutes(givenMs)}`)
    }
  }
  const judged = polls.filter(({ atMs }) => atMs > startMs + 10 * MINUTE)
  const proven = judged.filter(
    ({ atMs, claimMs }) => claimMs !== null && atMs - claimMs < 12 * MINUTE,
  )
  return {
    missed,
    early,
    doubled,
    wrong,
    gaps: spans.length,
    complete: judged.length === 0 ? 0 : proven.length / judged.length,
    given: given.size,
  }
}

const minutes = (atMs: number): string => ((atMs - START) / MINUTE).toFixed(1)

describe.each(Object.entries(SCENARIOS))('a feed, %s', (name, scenario) => {
  test.each(Array.from({ length: cases({ short: 2, long: 30 }) }, (_, n) => n + 1))(
    'is never missed in silence, given twice or falsely (seed %d)',
    async (seed) => {
      const verdict = await runFeed(scenario, seed, 4)
      expect(verdict).toMatchObject({ missed: [], doubled: [], wrong: [] })
      // A 304 that is not true is seen by the next list only.
      if (scenario.spans !== 'unchanged') expect(verdict.early).toEqual([])
      expect(verdict.given).toBeGreaterThan(5)
      if (scenario.isProvable === true) {
        expect(verdict.complete).toBeGreaterThanOrEqual(0.97)
        expect(verdict.gaps).toBe(0)
      }
      if (name === 'rolled over') expect(verdict.gaps).toBeGreaterThan(0)
    },
    60_000,
  )
})

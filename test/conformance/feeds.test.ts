// Goal: every recorded document of a feed is read as its index says, and no change of one makes the reader throw or work without
// bound.
// Method: reads the files of index.jsonl of $FORUMD_FEEDS in place; then parts of each are cut, doubled, exchanged and overwritten.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { type FeedDocument, readFeed } from '../../src/platforms/feed/document.ts'
import { listedOf } from '../../src/platforms/feed/identity.ts'
import { judge, type Judged, NEW_FEED } from '../../src/platforms/feed/walker.ts'
import { isLongForm } from '../support/long-form.ts'

const folder = process.env['FORUMD_FEEDS']
if (folder === undefined) console.log('FORUMD_FEEDS is not set: recorded feeds are skipped')

const Entry = z.object({
  file: z.string(),
  format: z.enum(['rss', 'rdf', 'atom', 'json']),
  site: z.string(),
  entries: z.number(),
  faults: z.array(z.string()),
})
const index =
  folder === undefined
    ? []
    : readFileSync(join(folder, 'index.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => Entry.parse(JSON.parse(line)))

const NOW = Date.UTC(2026, 10, 28, 20)
const MUTATIONS = isLongForm ? 1000 : 30

const bytesOf = (file: string): Uint8Array => new Uint8Array(readFileSync(join(folder ?? '', file)))
const read = (bytes: Uint8Array, site: string) =>
  readFeed(bytes, { content_type: null, url: `https://${site}/feed`, now: NOW })

async function documentOf({ file, site }: z.infer<typeof Entry>): Promise<FeedDocument> {
  const outcome = await read(bytesOf(file), site)
  if (!outcome.ok) throw new Error(`${file}: ${JSON.stringify(outcome.fault)}`)
  return outcome.value
}

/** Entries that a fault of the index names, as `no_id:3/10` does. */
function counted(faults: readonly string[], name: string): number {
  const [fault] = faults.filter((it) => it.startsWith(`${name}:`))
  return Number(fault?.slice(name.length + 1).split('/')[0] ?? 0)
}

const has = (faults: readonly string[], name: string): boolean =>
  faults.some((it) => it.split(':')[0] === name)

/** Times of entries in their order. */
const timesOf = ({ entries }: FeedDocument): number[] =>
  entries.flatMap(({ published, updated }) => published ?? updated ?? [])

describe.skipIf(folder === undefined)('a recorded document', () => {
  test.each(index.map((it) => [it.file, it] as const))(
    '%s has the values of the index',
    async (_, it) => {
      const { faults } = it
      const found = await documentOf(it)
      const bytes = Buffer.from(bytesOf(it.file))
      const without = (field: 'id' | 'link' | 'title') =>
        found.entries.filter((at) => at[field] === '')

      expect(found.format).toBe(it.format)
      // An entry that the end of the document cuts may be half of it.
      const is_cut = faults.includes('not_well_formed:unclosed_CDATA_section')
      expect(found.is_cut).toBe(is_cut)
      expect(found.entries).toHaveLength(it.entries - (is_cut ? 1 : 0))
      expect(found.link === '' ? found.title : found.link).not.toBe('')
      // An entry of RDF has its address as id, and the index has no id of a document in GB 2312 that it could not read.
      if (it.format !== 'rdf' && !faults.includes('charset:gb2312'))
        expect(without('id')).toHaveLength(counted(faults, 'no_id'))
      expect(without('link')).toHaveLength(has(faults, 'no_link') ? 1 : 0)
      for (const { title, author, html, link, base } of found.entries) {
        expect(`${title}${html}`.trim() === '').toBe(link === '')
        expect(`${title}${author}${html}`).not.toMatch(/[^\P{Cc}\t\n\r]/u)
        // Some documents have it as it is.
        if (!bytes.includes('\ufffd')) expect(`${title}${author}${html}`).not.toContain('\ufffd')
        expect(author).not.toMatch(/@[\w-]+\.\w|[<>]/)
        expect(link === '' || URL.canParse(link)).toBe(true)
        expect(URL.canParse(base)).toBe(true)
      }
    },
  )

  const dated = index.filter(
    ({ faults, format }) =>
      // The index has no order of JSON.
      format !== 'json' &&
      !has(faults, 'odd_date') &&
      !has(faults, 'ancient_date') &&
      !has(faults, 'future_date'),
  )
  // Dates in Chinese.
  const CHINESE = /speedparser-(?:1171|2047)/
  test.each(dated.map((it) => [it.file, it] as const))(
    '%s has dates in its order',
    async (file, it) => {
      const { faults } = it
      const found = await documentOf(it)
      const times = timesOf(found)
      const undated = CHINESE.test(file) ? it.entries : counted(faults, 'no_date')

      expect(times).toHaveLength(found.entries.length - undated)
      const is_newest_first = times.every((at, n) => n === 0 || at <= (times[n - 1] ?? at))
      if (times.length > 1 && !has(faults, 'not_newest_first') && !has(faults, 'oldest_first'))
        expect([file, is_newest_first || isByAnotherTime(found)]).toEqual([file, true])
    },
  )
})

/** Atom has two times, and the order is by one of them. */
const isByAnotherTime = ({ entries }: FeedDocument): boolean => {
  const times = entries.map(({ published, updated }) => updated ?? published ?? 0)
  return times.every((at, n) => n === 0 || at <= (times[n - 1] ?? at))
}

const PIECES = [
  '< > & " ]]> <![CDATA[ <!-- </item> <item> </entry> <entry> \0 \u001b$B \ufeff &#0; &#x110000; &lt; <?'.split(
    ' ',
  ),
  ['<a b="c" ', '<!DOCTYPE x ['],
  ['<b></i>'.repeat(400), '<p>'.repeat(300), '&amp;'.repeat(500), '<x:y>'.repeat(150)],
].flat()

describe.skipIf(folder === undefined)('a changed document', () => {
  test.each(index.map((it) => [it.file, it] as const))(
    '%s is read within bounds',
    async (file, { site }) => {
      const random = createSeededRandom(file.length * 7919 + 1)
      const original = bytesOf(file).slice(0, 40_000)
      const at = () => Math.floor(random.fraction() * original.length)
      for (let n = 0; n < MUTATIONS; n++) {
        let bytes = original
        for (let changes = 0; changes < 3; changes++) {
          const [from, to] = [at(), at()].toSorted((a, b) => a - b)
          const piece = new TextEncoder().encode(
            PIECES[Math.floor(random.fraction() * PIECES.length)],
          )
          const kind = Math.floor(random.fraction() * 5)
          const [head, tail] = [bytes.slice(0, from), bytes.slice(to)]
          const middle = bytes.slice(from, Math.min(to ?? 0, (from ?? 0) + 5000))
          const byte = Uint8Array.of(Math.floor(random.fraction() * 256))
          bytes = Buffer.concat(
            kind === 0
              ? [head]
              : kind === 1
                ? [head, tail]
                : kind === 2
                  ? [head, middle, middle, tail]
                  : [bytes.slice(0, from), kind === 3 ? piece : byte, bytes.slice(from)],
          )
        }
        const outcome = await read(bytes, site)
        if (!outcome.ok) {
          expect(outcome.fault.kind).toBe('unreadable')
          continue
        }
        const { entries, steps } = outcome.value
        expect(steps).toBeLessThanOrEqual(bytes.length + 1)
        expect(entries.length).toBeLessThanOrEqual(2000)
        for (const { title, html, link, author, published } of entries) {
          expect(title.length).toBeLessThanOrEqual(1000)
          expect(html.length).toBeLessThanOrEqual(400_000)
          expect(author.length).toBeLessThanOrEqual(200)
          expect(link === '' || /^https?:/i.test(link)).toBe(true)
          expect(published === null || Number.isSafeInteger(published)).toBe(true)
        }
      }
    },
    60_000,
  )
})

const Answer = z.object({
  name: z.string(),
  path: z.string(),
  status: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

/** What the polls of one address of a forum have found, which replied, renamed, edited and deleted in between. */
async function pollsOf(path: string): Promise<Judged[]> {
  const answers = readFileSync(join(folder ?? '', 'nodebb.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => Answer.parse(JSON.parse(line)))
    .filter((it) => it.path === path && /^(?:before|after)/.test(it.name))
  let state = NEW_FEED
  const polls: Judged[] = []
  for (const { headers, body } of answers) {
    const as_of = Date.parse(headers['date'] ?? '')
    const found = await read(new TextEncoder().encode(body), 'forum.example')
    if (!found.ok) throw new Error(JSON.stringify(found.fault))
    const listed = listedOf(found.value.entries, 'forum.example')
    const judged = judge(state, { listed, as_of, is_cut: found.value.is_cut })
    if (judged === null) throw new Error('the list is empty')
    ;({ state } = judged)
    polls.push(judged)
  }
  return polls
}

describe.skipIf(folder === undefined)('a recorded NodeBB', () => {
  test.each([
    ['/topics.rss', 0],
    ['/category/5.rss', 0],
    ['/topic/152.rss', 0],
    ['/recentposts.rss', 1],
    // Its list is by last reply: an old topic that comes up is no new one.
    ['/recent.rss', 0],
  ])('has no new entry at %s but the posts that were made: %i', async (path, expected) => {
    const polls = await pollsOf(path)
    expect(polls.length).toBeGreaterThan(1)
    expect(polls.flatMap(({ fresh }) => fresh)).toHaveLength(expected)
    expect(polls.map(({ is_complete, gap }) => [is_complete, gap])).toEqual(
      polls.map(() => [true, null]),
    )
  })

  test('has a renamed topic as an edit', async () => {
    const edited = (await pollsOf('/category/5.rss')).flatMap((it) => it.edited)
    expect(edited.map(({ entry }) => entry.title)).toEqual(['Renamed Größe 日本'])
  })
})

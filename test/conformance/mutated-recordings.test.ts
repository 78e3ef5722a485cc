// Goal: no reader of any source throws, and no wrong value gets through, whatever part of an answer is wrong.
// Method: recorded answers of each platform, with random parts replaced, and then every kind of mutation of `bar:fuzz`, are served
// to every read of its adapter.
import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { KINDS, mutate, type SiteKind, startSite } from '../support/hostile-site.ts'
import { cases } from '../support/long-form.ts'
import { type Answer, mutated, recordedAnswers, toResponse } from '../support/mutations.ts'

const sources = process.env['FORUMD_SOURCES']
const recordings = process.env['FORUMD_RECORDINGS']
const isSet = sources !== undefined && recordings !== undefined
if (!isSet)
  console.log('FORUMD_SOURCES or FORUMD_RECORDINGS is not set: no recorded answer is mutated')

/** Whole seconds in which a body comes in parts, or not yet, are no part of what is tried here. */
const isTried = ({ raw, cut_at, drip_ms, delay_ms }: Answer): boolean =>
  raw === undefined && cut_at === undefined && drip_ms === undefined && delay_ms === undefined

const PLACE = {
  discourse: 'help',
  hackernews: 'story',
  lemmy: 'coffee',
  piefed: 'coffee',
  reddit: 'coffee',
}

/** Outcomes of all reads of a source. */
async function readAll(it: ReturnType<typeof startSite>, kind: SiteKind) {
  const { reads, states, watch } = it.source
  const page = { limit: 25, after: null }
  const place = PLACE[kind]
  const by = { name: 'ann', sort: 'new', t: null, ...page }
  const found = { q: 'word', sort: 'new', t: 'all', nsfw: true, ...page }
  return [
    await reads.posts({ subforums: [], sort: 'new', t: null, ...page }, it.call()),
    await reads.comments({ subforums: [], ...page }, it.call()),
    await reads.search({ ...found, subforum: null }, it.call()),
    await reads.searchCommunities(found, it.call()),
    await reads.searchUsers(found, it.call()),
    await reads.userComments(by, it.call()),
    await reads.userItems({ ...by, tab: 'submitted' }, it.call()),
    await reads.tree({ post_id: '5', sort: 'new', depth: null, limit: null }, it.call()),
    await reads.postsById(['5'], it.call()),
    await reads.nodesById(['5'], it.call()),
    await reads.liveness(['5'], it.call()),
    await reads.user('ann', it.call()),
    await reads.community(place, it.call()),
    await reads.communities({ which: 'popular', ...page }, it.call()),
    await reads.moderators(place, it.call()),
    await reads.visibility('5', it.call()),
    ...(states ? [await states(['t3_5', 't1_5'], it.call())] : []),
    ...(watch ? [(await it.step(null)).outcome] : []),
  ]
}

const replaced = fc.tuple(
  fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  fc.oneof(
    fc.constantFrom<unknown>(
      null,
      -1,
      0.5,
      2 ** 53,
      1e300,
      '',
      'x'.repeat(10_000),
      [],
      {},
      [[]],
      true,
    ),
    fc.constantFrom<unknown>(
      '9999-12-31T00:00:00Z',
      '+275760-09-13T00:00:01Z',
      '&#xD83D;',
      'a\0b',
      '\ud800',
      '<b></i>',
    ),
    fc.jsonValue(),
  ),
)

for (const kind of KINDS)
  test.skipIf(!isSet)(
    `mutated answers of ${kind} are read without an exception`,
    async () => {
      const texts = recordedAnswers(kind)
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.array(replaced, { maxLength: 4 }), async (n, changes) => {
          await using it = startSite(kind)
          const text = texts[n % texts.length] ?? '{}'
          const mutating = {
            random: createSeededRandom(n),
            recorded: texts,
            path: '/',
            own_url: '/',
          }
          it.site.override = (path) => {
            if (path === '/robots.txt') return new Response('', { status: 404 })
            let value: unknown = JSON.parse(text)
            for (const [pick, part] of changes) value = mutate(value, pick, part)
            const whole: Answer = {
              status: 200,
              headers: [['content-type', 'application/json']],
              body: Buffer.from(JSON.stringify(value) ?? 'null'),
            }
            const changed = mutated('mixed', whole, mutating)?.answer ?? whole
            return (isTried(changed) && toResponse(changed)) || toResponse(whole)
          }
          const outcomes = await readAll(it, kind)
          const failed = it.site.events.filter((event) => /^source.reader_failed/.test(event))
          expect(failed).toEqual([])
          const given = JSON.stringify(outcomes.map((read) => (read.ok ? read.value : null)))
          expect(given).not.toMatch(/\\u0000|\\ud[89a-f]/i)
        }),
        { numRuns: cases({ short: 4, long: 500 }) },
      )
    },
    300_000,
  )

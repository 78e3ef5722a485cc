// Goal: a source of the kind feed never says that it has read what it has not, however its site misbehaves.
// Method: random settings and posts of the simulated site, and a ledger of what it has listed.
import { describe, expect, test } from 'bun:test'

import { FEED } from '../../sandbox/feed/kind.ts'
import { startSource } from '../../sandbox/sources/start.ts'
import { createSeededRandom } from '../../sandbox/world/random.ts'
import { parseConfig } from '../../src/config/load.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { createSource } from '../../src/wiring/sources.ts'
import { cases } from '../support/long-form.ts'
import { createLoopbackEgress } from '../support/loopback-egress.ts'

const START = Date.UTC(2026, 10, 28)
const MINUTE = 60_000
const { requests } = parseConfig('source = [{ name = "hn", kind = "hackernews" }]')

async function startWorld(seed: number) {
  let now = START
  const site = await startSource(FEED, { port: 0, seed, speed: 0, world: 'seeded', now: () => now })
  const source = createSource(
    {
      name: 's',
      kind: 'feed',
      base_url: '',
      user_agent: '',
      requests_per_minute: 6000,
      feeds: [{ name: 'bikes', url: `${site.url}/feed`, interval_s: 60, user: '', password: '' }],
      ends_at: '',
    },
    { requests },
    {
      clock: {
        ...realClock,
        now: () => now,
        mono: () => now,
        sleep: async (ms: number) => void (now += ms),
      },
      log: () => {},
      random: {
        fraction: () => 0,
        bytes: (count: number) => new Uint8Array(count),
        uuid: () => '',
      },
      egress: createLoopbackEgress(),
    },
  )
  let state: string | null = null
  const given = new Set<string>()
  const gaps: { from: number; until: number }[] = []
  return {
    site,
    given,
    gaps,
    now: () => now,
    wait: (minutes: number) => void (now += minutes * MINUTE),
    /** One step; null: the source has a fault. */
    async step() {
      now += 2 * MINUTE
      const step = await source.watch?.advance(state, {
        feed: 'bikes',
        requests: 5,
        interval_s: 60,
        deadline_at: now + MINUTE,
      })
      if (step?.ok !== true) return null
      ;({ state } = step.value)
      for (const item of step.value.items) if (item.kind === 'post') given.add(item.title)
      const { overran } = step.value
      if (overran !== undefined)
        gaps.push({ from: overran.from_at ?? 0, until: overran.until_at ?? now })
      return step.value
    },
    [Symbol.asyncDispose]: () => site.stop(),
  }
}

const ANSWERS = [
  'list',
  'list',
  'list',
  'empty',
  'page',
  'moved',
  'found',
  'login',
  'cut',
  'notice',
]

describe('a world of one feed', () => {
  test.each(Array.from({ length: cases({ short: 6, long: 200 }) }, (_, n) => [n + 1]))(
    'has no silent miss (seed %i)',
    async (seed) => {
      await using world = await startWorld(seed)
      const random = createSeededRandom(seed)
      await world.step()
      const posted: { title: string; at: number }[] = []
      for (let turn = 0; turn < 40; turn++) {
        const count = random.odds(0.1) ? random.whole(16, 30) : random.whole(0, 3)
        for (let n = 0; n < count; n++) {
          world.wait(0.1)
          const title = `post ${seed} ${posted.length}`
          world.site.call('post', { title })
          posted.push({ title, at: world.now() })
        }
        if (random.odds(0.2))
          world.site.call('edit', { id: random.whole(1, 30), text: `edited ${turn}` })
        if (random.odds(0.1)) world.site.call('remove', { id: random.whole(1, 30) })
        if (random.odds(0.3))
          world.site.call('settings', {
            answer: random.pick(ANSWERS),
            order: random.odds(0.1) ? 'random' : 'newest',
            lies_304: random.odds(0.1),
            validators: random.pick(['both', 'etag', 'modified', 'none']),
            template: random.odds(0.1) ? `<hr>${turn}` : '',
          })
        const step = await world.step()
        if (step === null || step.partial !== null) continue
        const missed = posted.filter(
          ({ title, at }) =>
            at <= step.verified_until - 1000 &&
            !world.given.has(title) &&
            !world.gaps.some(({ from, until }) => from - 1000 <= at && at <= until + 1000),
        )
        // A site that says 304 whatever has changed is found out within a day: what it hid is named then.
        if (!world.site.world.settings.lies_304) expect(missed).toEqual([])
      }
    },
    60_000,
  )

  test('is complete nearly all of the time where overlap is possible', async () => {
    await using world = await startWorld(99)
    await world.step()
    let complete = 0
    for (let turn = 0; turn < 60; turn++) {
      world.site.call('post', { title: `post ${turn}` })
      const step = await world.step()
      if (step?.partial === null && world.now() - step.verified_until <= 3 * MINUTE) complete += 1
    }
    expect([complete / 60 >= 0.97, world.given.size, world.gaps]).toEqual([true, 60, []])
  })
})

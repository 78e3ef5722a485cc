import { expect, test } from 'bun:test'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import type { Db } from '../../../src/store/db/connection.ts'
import { commentOf } from '../../support/items.ts'
import { post, startMonitorFixture } from './fixture.ts'

/**
 * Notes the statements that a database runs, without the steps in which the sender chooses targets and rows, and without the
 * plan of the polls.
 */
function noteStatements(db: Db): string[] {
  const noted: string[] = []
  const query = db.query.bind(db)
  const noting = (sql: string): unknown => {
    const text = sql.replaceAll(/\s+/g, ' ')
    const is_choice =
      text.includes('deliveries_due') ||
      text.includes('next_attempt_at <= $now') ||
      text.includes('requested_interval_s, poll_batch_id')
    return new Proxy(query(sql), {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...bound: unknown[]): unknown => {
          if (!is_choice && ['run', 'get', 'all'].includes(String(name))) noted.push(text)
          return Reflect.apply(value, target, bound)
        }
      },
    })
  }
  Object.assign(db, { query: noting })
  return noted
}

function start(kind: 'post' | 'comment') {
  const fixture = startMonitorFixture({ archive: 'matches', recheck_share: 0 })
  const { db, clock } = fixture
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'], include_any: ['kitten'], kind })
  const sender = createSender({
    db,
    run_id: 'run',
    send: async () => ({
      attempt: { kind: 'answered', status: 204, accepted: true, retry_after_s: null },
      started_at: clock.now(),
      ended_at: clock.now(),
      duration_ms: 1,
      excerpt: null,
    }),
    clock,
    random: { ...createSeededRandom(1), uuid: () => '', bytes: (size) => new Uint8Array(size) },
    log: () => {},
    retry_schedule: { retry_delays_s: [0, 5], jitter: 0 },
    concurrency: 64,
    per_target_concurrency: 64,
    pause_after_ms: Infinity,
    nudge: () => {},
  })
  const noted = noteStatements(db)
  return {
    fixture,
    noted,
    async path(put: () => void) {
      put()
      noted.length = 0
      await fixture.check()
      await sender.turn()
      await sender.idle()
      await sender.turn()
      return [...noted]
    },
    db,
  }
}

/** Statements of `texts` that are not in `base`, each once for each of its runs. */
function beyond(base: readonly string[], texts: readonly string[]): string[] {
  const left = [...base]
  return texts.filter((text) => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** True for a statement of a projection, whose steps come together after many matches. */
const isProjected = (text: string): boolean => /'projection'|kept_items|inbox_/.test(text)

const MOST = 12
const MOST_EACH_OF_64 = 0.5

test.each(['post', 'comment'] as const)(
  'a %s with one target costs few statements',
  async (kind) => {
    const it = start(kind)
    await using fixture = it.fixture
    let n = 100
    const put = (title: string) => {
      const at = fixture.clock.now()
      n += 1
      fixture.feed.put(
        'cats',
        kind === 'post'
          ? post(n, title, at)
          : commentOf({
              id: n.toString(36),
              name: `t1_${n.toString(36)}`,
              body: title,
              subforum: 'cats',
              created_utc: at / 1000,
            }),
      )
    }
    for (const title of ['a kitten', 'none', 'a kitten', 'none']) await it.path(() => put(title))

    const base = await it.path(() => put('nothing'))
    const one = beyond(base, await it.path(() => put('a kitten')))
    const many = beyond(
      base,
      await it.path(() => {
        for (let times = 0; times < 64; times++) put(`kitten number ${times}`)
      }),
    )

    expect(fixture.deliveries().filter(({ status }) => status === 'delivered')).toHaveLength(67)
    expect(one.filter((text) => !isProjected(text))).toHaveLength(MOST)
    expect(many.length / 64).toBeLessThanOrEqual(MOST_EACH_OF_64)
  },
)

// Goal: a monitor of a further source matches every item that its filter takes and that the source has shown, once, and
// nothing else. Method: random posts, late and hidden ones, edits, faults and kills at a simulated platform, judged by the
// record of what it has shown. FORUMD_SOURCE_RUNS: number of seeds of each kind; FORUMD_SEED: the first one.
import { expect, test } from 'bun:test'

import { DISCOURSE } from '../../sandbox/discourse/kind.ts'
import { HACKERNEWS } from '../../sandbox/hackernews/kind.ts'
import { LEMMY } from '../../sandbox/lemmy/kind.ts'
import type { SimulatedKind, SourceWorld } from '../../sandbox/sources/source.ts'
import { startSource } from '../../sandbox/sources/start.ts'
import { createSeededRandom } from '../../sandbox/world/random.ts'
import { createWatch, type Watch } from '../../src/gateway/watch.ts'
import { createDiscourse } from '../../src/platforms/discourse/adapter.ts'
import { createHackerNews } from '../../src/platforms/hackernews/adapter.ts'
import { createLemmy } from '../../src/platforms/lemmy/adapter.ts'
import type { Source, SourceOptions } from '../../src/platforms/source.ts'
import { listIdGaps } from '../../src/store/monitoring/id-gaps.ts'
import { createLoopbackEgress } from '../support/loopback-egress.ts'
import { startMonitorFixture } from '../unit/monitor/fixture.ts'

const RUNS = Number(process.env['FORUMD_SOURCE_RUNS'] ?? 1)
const FIRST = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e6))
const STEPS = RUNS > 1 ? 150 : 20
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Edits are followed while an item is among the newest. */
const EDITED_AMONG = 10

/** An item that was posted. */
type Posted = {
  key: string
  /** Id in the source's own series, as the control calls take it. */
  id: number
  matches: boolean
  /** Epoch ms: it is answered from then on; Infinity: not before another call. */
  shown_at: number
  /** True if it was shown with a text that matches. */
  was_due: boolean
  /** False for an item whose date is older than the lists reach: its edits are not followed. */
  is_listed: boolean
}

type Call = (name: string, input: object) => any

/** The acts of one kind of platform. */
type Acts = {
  /** False: the source lists what was changed for a minute only, which a fault may outlast. */
  follows_edits: boolean
  post(
    call: Call,
    title: string,
    late_ms: number,
    context: { now: number; begun_at: number },
  ): Posted
  /** Shows an item that was posted hidden. */
  show(call: Call, id: number): void
  edit(call: Call, id: number, title: string): void
  remove(call: Call, id: number): void
  /** Uses ids up that will never have an item. */
  skip(call: Call, count: number): void
}

const posted = (key: string, id: number, title: string, shown_at: number): Posted => ({
  key: `s/${key}`,
  id,
  matches: title.includes('kettle'),
  shown_at,
  was_due: false,
  is_listed: true,
})

const NEWS: Acts = {
  follows_edits: false,
  post(call, title, late_ms, { now }) {
    const { id } = call('post', { title, visible_in_s: late_ms / 1000 })
    return posted(`t3_${id}`, id, title, now + late_ms)
  },
  show: () => {},
  edit: (call, id, title) => call('edit', { id, title }),
  remove: (call, id) => call('remove', { id, by: 'author' }),
  skip: (call, count) => call('skip', { count }),
}

const FORUM: Acts = {
  follows_edits: true,
  post(call, title, late_ms, { now }) {
    const { topic_id, post_id } = call('post', {
      title: 'A topic for replies',
      text: 'A first text.',
    })
    const reply = call('comment', { topic_id, text: title })
    if (late_ms > 0) call('edit', { id: reply.post_id, hidden: true })
    expect(post_id).toBeLessThan(reply.post_id)
    return posted(`t1_${reply.post_id}`, reply.post_id, title, late_ms > 0 ? Infinity : now)
  },
  show: (call, id) => call('edit', { id, hidden: false }),
  edit: (call, id, title) => call('edit', { id, text: title }),
  remove: (call, id) => call('remove', { id, by: 'moderator' }),
  skip(call, count) {
    const { topic_id } = call('post', { title: 'A message for one', to: ['someone'] })
    // More than are read again with every tail.
    for (let n = 0; n < 15 * count; n++) call('comment', { topic_id, text: 'A secret kettle.' })
  },
}

const INSTANCE: Acts = {
  follows_edits: true,
  post(call, title, late_ms, { now, begun_at }) {
    // Posts of other servers arrive under their own date.
    const created_at = Math.max(begun_at, now - late_ms)
    const { id } = call('post', { community: 'main', title, created_at })
    if (late_ms > HOUR) call('remove', { kind: 'post', id, by: 'moderator' })
    const item = posted(`t3_${id}`, id, title, late_ms > HOUR ? Infinity : now)
    return { ...item, is_listed: late_ms <= 5 * MINUTE }
  },
  show: (call, id) => call('restore', { kind: 'post', id }),
  edit: (call, id, title) => call('edit', { kind: 'post', id, title }),
  remove: (call, id) => call('remove', { kind: 'post', id, by: 'author' }),
  skip(call, count) {
    for (let n = 0; n < count; n++) {
      const { id } = call('post', { community: 'main', title: 'A purged kettle' })
      call('purge', { id })
    }
  },
}

/** A source of the daemon, as the composition root connects it, on the clock of the test. */
function connect(
  create: (options: SourceOptions) => Source,
  url: string,
  clock: SourceOptions['clock'],
) {
  const egress = createLoopbackEgress()
  const source = create({
    egress,
    clock,
    log: () => {},
    random: { fraction: () => 0.5 },
    base_url: url,
    user_agent: 'forumd-test/1.0',
    requests_per_minute: 600,
    timeout_ms: 2000,
    credential: null,
  })
  const watch = createWatch({ name: 's', source, per_minute: () => 600, clock })
  if (watch === null || watch.proof === 'time_listing') throw new Error('the source has no watch')
  return watch
}

const FAULTS = ['5xx', 'rate_limit', 'reset', 'truncated', 'html', 'empty_200']

async function run<W extends SourceWorld>(
  kind: SimulatedKind<W>,
  create: (options: SourceOptions) => Source,
  acts: Acts,
  seed: number,
) {
  const random = createSeededRandom(seed)
  const below = (most: number) => random.whole(0, Math.max(0, Math.ceil(most) - 1))
  const watches = new Map<string, Watch>()
  await using fixture = startMonitorFixture({ watches })
  const { clock } = fixture
  // Rows hold whole milliseconds.
  const whole = { ...clock, sleep: (ms: number) => clock.sleep(Math.ceil(ms)) }
  await using site = await startSource(kind, {
    port: 0,
    seed,
    speed: 0,
    world: 'seeded',
    now: () => clock.now(),
  })
  const call: Call = (name, input) => site.call(name, input)
  const reconnect = () => void watches.set('s', connect(create, site.url, whole))
  reconnect()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { source: 's', kind: 'both', include_any: ['kettle'] })
  const begun_at = Math.ceil(clock.now() / 1000) * 1000 + 1000
  await fixture.check()

  const all: Posted[] = []
  const hidden: { item: Posted; until: number }[] = []
  let kills = 0
  const act = (step: number) => {
    const now = clock.now()
    for (const it of hidden.filter(({ until }) => until <= now)) {
      hidden.splice(hidden.indexOf(it), 1)
      if (it.item.shown_at !== Infinity) continue
      acts.show(call, it.item.id)
      it.item.shown_at = now
    }
    // Enough matches for every seed.
    for (let n = Math.max(below(4), all.length < step ? 1 : 0); n > 0; n--) {
      const is_rare = all.filter(({ matches }) => matches).length < step / 2
      const word = is_rare || below(2) === 0 ? 'kettle' : 'teapot'
      const late = below(4)
      const late_ms = late > 1 ? 0 : late === 1 ? below(5 * MINUTE) : below(3 * HOUR)
      const item = acts.post(call, `A ${word} with the number ${all.length}`, late_ms, {
        now,
        begun_at,
      })
      all.push(item)
      if (item.shown_at === Infinity) hidden.push({ item, until: now + late_ms })
    }
    const recent = all.slice(-EDITED_AMONG).filter(({ shown_at }) => shown_at <= now)
    const other = recent[below(Math.max(1, recent.length))]
    if (other !== undefined && below(6) === 0) {
      acts.edit(call, other.id, `Now with a kettle, number ${all.indexOf(other)}`)
      if (other.shown_at <= now) other.was_due = true
      if (acts.follows_edits && other.is_listed) other.matches = true
    } else if (other !== undefined && below(10) === 0) {
      acts.remove(call, other.id)
      other.shown_at = Infinity
    }
    if (below(12) === 0) acts.skip(call, 1 + below(30))
    if (below(5) === 0)
      site.addFault({
        path: '/',
        fault: random.pick(FAULTS),
        times: 1 + below(4),
      })
  }
  const note = () => {
    for (const it of all) if (it.matches && it.shown_at <= clock.now()) it.was_due = true
  }

  for (let step = 0; step < STEPS; step++) {
    act(step)
    note()
    // At least one for every seed.
    if (below(8) === 0 || (kills === 0 && step === STEPS - 5)) {
      kills += 1
      fixture.pass(MINUTE)
      fixture.monitoring.nudge()
      await fixture.monitoring.checkDue()
      for (let n = below(6); n > 0; n--) await Bun.sleep(1)
      const dead = fixture.monitoring
      fixture.reboot()
      reconnect()
      await dead.idle()
    } else await fixture.check()
    note()
  }
  site.clearFaults()
  for (const { item } of hidden.splice(0))
    if (item.shown_at === Infinity) {
      acts.show(call, item.id)
      item.shown_at = clock.now()
    }
  // A forum goes on: an old post of another server is found with the next id that a list shows.
  all.push(acts.post(call, 'A teapot at the end', 0, { now: clock.now(), begun_at }))
  // As long as the longest delay, and the waits until ids are requested again.
  for (const end = clock.now() + 6 * HOUR; clock.now() < end;) {
    fixture.pass(9 * MINUTE)
    await fixture.check()
    note()
  }
  const matched = fixture.db.query<[string], []>('SELECT item_id FROM matches').values().flat()
  const shown = all.filter(({ shown_at }) => shown_at <= clock.now())
  const open = listIdGaps(fixture.db, 1)
  return {
    kills,
    missed: shown.filter((it) => it.matches && !matched.includes(it.key)).map(({ key }) => key),
    false: matched.filter((it) => !all.some((each) => each.key === it && each.was_due)),
    twice: matched.length - new Set(matched).size,
    deliveries: fixture.deliveries().length - matched.length,
    expected: shown.filter(({ matches }) => matches).length,
    behind: fixture.one("SELECT state ->> '$.behind.to_id' AS behind_to FROM feeds"),
    open_and_shown: shown.filter(({ id }) =>
      open.some(
        ({ from_id, to_id, missed_estimate: n }) =>
          n === to_id - from_id + 1 && id >= from_id && id <= to_id,
      ),
    ),
  }
}

const seeds = Array.from({ length: RUNS }, (_, n) => FIRST + n)

test.each(seeds)(
  'Hacker News, seed %d',
  async (seed) => judge(await run(HACKERNEWS, createHackerNews, NEWS, seed)),
  120_000,
)
test.each(seeds)(
  'Discourse, seed %d',
  async (seed) => judge(await run(DISCOURSE, createDiscourse, FORUM, seed)),
  120_000,
)
test.each(seeds)(
  'Lemmy, seed %d',
  async (seed) => judge(await run(LEMMY, createLemmy, INSTANCE, seed)),
  120_000,
)

function judge({ kills, expected, ...found }: Awaited<ReturnType<typeof run>>): void {
  expect(expected).toBeGreaterThan(STEPS / 4)
  expect(kills).toBeGreaterThan(0)
  expect(found).toEqual({
    missed: [],
    false: [],
    twice: 0,
    deliveries: 0,
    behind: { behind_to: null },
    open_and_shown: [],
  })
}

import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import type { SeededRandom } from '../../../sandbox/world/random.ts'
import { startFaultInjection } from '../soak/faults.ts'
import { SCENARIOS, type Site } from '../sources/scenarios.ts'
import type { Expected } from './judge.ts'
import { WANTED } from './model.ts'

/** A monitor to create. Every item with its word, at its place if it has one, has to match. */
export type Planned = {
  source: string
  word: string
  place: string | null
  /** Its matches are judged by the model. */
  is_judged: boolean
  filter_spec: Record<string, unknown>
}

type Source = { name: string; items_per_s: number; words_per_item: number; site: Site }

const PLACES = 40
/** Share of the monitors of each source, of all. */
const SHARES = { main: 0.4, forum: 0.4, hn: 0.2 }
const JUDGED_EVERY = 20
const PATTERN_EVERY = 5
const WANTED_SHARE = 0.5
const FAULTS_SHARE = 0.02
const TICK_MS = 20
/** Longest title of a simulated platform. */
const TITLE_MAX = 100

/**
 * Three platforms with new items: one of the kind of `[platform]` whose answers fail now and then, a Discourse forum and
 * Hacker News. `monitors` is how many to plan for them together.
 */
export async function startWorld(random: SeededRandom, monitors: number) {
  await using stack = new AsyncDisposableStack()
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 100_000_000,
    }),
  )
  const places = Array.from({ length: PLACES }, (_, n) => `hay${n}`)
  for (const subforum of places)
    sandbox.post({ subforum, title: 'from before', created_at: Date.now() - 60_000 })
  const faults = stack.use(startFaultInjection(sandbox, { chance: random, share: FAULTS_SHARE }))
  const forum = stack.use(await siteOf('discourse', random))
  const hn = stack.use(await siteOf('hackernews', random))
  let posted = 0
  const main: Site = {
    url: sandbox.url,
    requests: () => sandbox.requests,
    add(text) {
      const at = Date.now()
      const place = /\bhay\d+\b/.exec(text)?.[0] ?? 'hay0'
      return { name: sandbox.post({ subforum: place, title: text }).name, at }
    },
    [Symbol.asyncDispose]: async () => {},
  }
  const sources: Source[] = [
    { name: 'main', items_per_s: 3, words_per_item: 1, site: main },
    { name: 'forum', items_per_s: 1, words_per_item: 2, site: forum },
    { name: 'hn', items_per_s: 25 / 60, words_per_item: 1, site: hn },
  ]
  const planned = [
    ...plan('main', Math.round(monitors * SHARES.main), places),
    ...plan('forum', Math.round(monitors * SHARES.forum), null),
    ...plan('hn', Math.round(monitors * SHARES.hn), null),
  ]
  const ids = new Map<Planned, string>()
  const expected: Expected[] = []
  const stopping = new AbortController()
  const begun = Promise.withResolvers<void>()

  function post({ name, words_per_item, site }: Source): void {
    const of = planned.filter(({ source }) => source === name)
    const chosen = new Set(Array.from({ length: words_per_item }, () => random.pick(of)))
    const is_wanted = random.odds(WANTED_SHARE)
    // A comment matches by the title of its thread too, so titles have no word of a monitor: the beginning of the text.
    const beginning = `${[...chosen][0]?.place ?? 'here'}, number ${posted++}, `.padEnd(
      TITLE_MAX,
      '.',
    )
    const words = [...chosen].map(({ word }) => word).join(' and ')
    const text = `${beginning} ${words}, ${is_wanted ? WANTED : 'other'} report`
    const { name: item, at } = site.add(text)
    for (const it of chosen)
      expected.push({
        pair: `${ids.get(it)} ${name}/${item}`,
        appeared_at: at,
        is_wanted: is_wanted || !it.is_judged,
      })
  }
  async function run(source: Source): Promise<void> {
    await begun.promise
    let due_at = Date.now()
    while (!stopping.signal.aborted) {
      await Bun.sleep(TICK_MS)
      // Due by the clock, so that a late timer does not lower the rate.
      while (due_at <= Date.now() && !stopping.signal.aborted) {
        due_at += random.wait(1000 / source.items_per_s)
        post(source)
      }
    }
  }
  const running = sources.map(run)
  const owned = stack.move()
  return {
    urls: { main: sandbox.url, forum: forum.url, hn: hn.url },
    places,
    planned,
    ids,
    expected,
    failed_answers: () => faults.struck(),
    begin: () => begun.resolve(),
    /** Ends new items and faults. */
    async end(): Promise<void> {
      stopping.abort()
      begun.resolve()
      await Promise.all(running)
      faults[Symbol.dispose]()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function siteOf(name: string, random: SeededRandom): Promise<Site> {
  const scenario = SCENARIOS[name]
  if (scenario === undefined) throw new Error(`${name} is no scenario`)
  return scenario.start(random)
}

/** Monitors of a source, each with a word of its own; every fifth has it as a pattern. */
function plan(source: string, count: number, places: readonly string[] | null): Planned[] {
  return Array.from({ length: count }, (_, n) => {
    const word = `${source}word${n}`
    const place = places?.[n % places.length] ?? null
    const terms =
      n % PATTERN_EVERY === 0
        ? { include_any: [word], regex: [`\\b${word}\\b.*report`] }
        : { include_any: [word, `never${n}`] }
    return {
      source,
      word,
      place,
      is_judged: n % JUDGED_EVERY === 1,
      filter_spec: {
        source,
        ...terms,
        ...(place === null ? { kind: 'both' } : { subforum: place }),
      },
    }
  })
}

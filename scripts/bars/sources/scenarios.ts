import { DISCOURSE } from '../../../sandbox/discourse/kind.ts'
import { HACKERNEWS } from '../../../sandbox/hackernews/kind.ts'
import { LEMMY } from '../../../sandbox/lemmy/kind.ts'
import type { LoggedRequest } from '../../../sandbox/server/request-log.ts'
import { type SimulationOptions, startSource } from '../../../sandbox/sources/start.ts'
import type { SeededRandom } from '../../../sandbox/world/random.ts'

/** A new item: its fullname, and when the platform shows it (epoch ms). */
export type Appeared = { name: string; at: number }

/** A simulated platform that adds an item on request. */
export type Site = {
  url: string
  requests(): readonly LoggedRequest[]
  /** Adds a post or a comment with this text. */
  add(text: string): Appeared
  /** Votes on an older item, where that counts as a change of it. */
  vote?(): void
  [Symbol.asyncDispose](): Promise<void>
}

export type Scenario = {
  title: string
  kind: 'discourse' | 'hackernews' | 'lemmy'
  sites: number
  monitors_per_site: number
  /** New items, for each site. */
  items_per_s: number
  /** Votes on older items, for each site; 0: none. */
  votes_per_s: number
  /** Requests a minute that all monitors of a site may cost. */
  requests_max: number
  /** Places that filters name, in turn. */
  places: readonly string[]
  start(random: SeededRandom): Promise<Site>
}

const CATEGORIES = ['support', 'feedback', 'releases', 'plugins']
const COMMUNITIES = ['coffee', 'kettles', 'gardens', 'trains']
const HN_PLACES = ['story', 'ask', 'show', 'job']
/** Older items that a comment may answer. */
const RECENT_MAX = 60
/** Items of Hacker News are answered by `null` for up to this long after `maxitem` names them. */
const HN_LATE_S = 2

/** Age of posts that arrive from another instance. */
const FEDERATED_LATE_MAX_MS = 600_000

/** Ids of the last items. */
function createRecent(random: SeededRandom) {
  const ids: number[] = []
  return {
    add(id: number): void {
      ids.push(id)
      if (ids.length > RECENT_MAX) ids.shift()
    },
    pick: () => random.pick(ids),
  }
}

const options = (random: SeededRandom): SimulationOptions => ({
  port: 0,
  seed: random.whole(1, 1_000_000),
  speed: 0,
  world: 'empty',
  now: Date.now,
})

async function startDiscourse(random: SeededRandom): Promise<Site> {
  const site = await startSource(DISCOURSE, options(random))
  const topics = createRecent(random)
  const { users, categories } = { users: 40, categories: CATEGORIES }
  const author = () => `member_${random.whole(1, users)}`
  function topic(text: string): Appeared {
    const at = Date.now()
    const input = { category: random.pick(categories), title: text.slice(0, 60), text }
    const { topic_id } = Object(site.call('post', { ...input, author: author() }))
    topics.add(topic_id)
    return { name: `t3_${topic_id}`, at }
  }
  // So that the first reply has a topic.
  for (let n = 0; n < 5; n++) topic('from before the monitors')
  return {
    url: site.url,
    requests: () => site.requests,
    add(text) {
      if (random.odds(0.1)) return topic(text)
      const at = Date.now()
      const input = { topic_id: topics.pick(), author: author(), text }
      return { name: `t1_${Object(site.call('comment', input)).post_id}`, at }
    },
    [Symbol.asyncDispose]: () => site.stop(),
  }
}

async function startHackerNews(random: SeededRandom): Promise<Site> {
  const site = await startSource(HACKERNEWS, options(random))
  const items = createRecent(random)
  const author = () => `hacker_${random.whole(1, 200)}`
  function add(call: 'post' | 'comment', input: object, visible_in_s: number): Appeared {
    const at = Math.round(Date.now() + visible_in_s * 1000)
    const { id } = Object(site.call(call, { ...input, author: author(), visible_in_s }))
    items.add(id)
    return { name: `${call === 'post' ? 't3' : 't1'}_${id}`, at }
  }
  // A site has a past: comments answer items from before the monitors.
  for (let n = 0; n < 20; n++) add('post', { title: 'from before the monitors' }, 0)
  for (let n = 0; n < RECENT_MAX - 20; n++)
    add('comment', { parent: items.pick(), text: 'from before the monitors' }, 0)
  return {
    url: site.url,
    requests: () => site.requests,
    add(text) {
      const visible_in_s = random.odds(0.2) ? random.fraction() * HN_LATE_S : 0
      return random.odds(0.12)
        ? add('post', { title: text.slice(0, 80), text }, visible_in_s)
        : add('comment', { parent: items.pick(), text }, visible_in_s)
    },
    vote: () => void site.call('edit', { id: items.pick(), score: random.whole(2, 500) }),
    [Symbol.asyncDispose]: () => site.stop(),
  }
}

async function startLemmy(random: SeededRandom): Promise<Site> {
  const site = await startSource(LEMMY, options(random))
  const posts = createRecent(random)
  const author = () => `person_${random.whole(1, 100)}`
  let first_at = Date.now()
  function post(text: string): Appeared {
    const at = Date.now()
    const input = { community: random.pick(COMMUNITIES), title: text.slice(0, 100), text }
    // A third comes from other instances, some time after it was written; not before the monitors, which do not
    // match what is older than they are.
    const late_ms = random.odds(0.3) ? Math.min(at - first_at, FEDERATED_LATE_MAX_MS) : 0
    const created_at = at - random.whole(0, late_ms)
    const { id } = Object(site.call('post', { ...input, author: author(), created_at }))
    posts.add(id)
    return { name: `t3_${id}`, at }
  }
  for (let n = 0; n < 5; n++) post('from before the monitors')
  first_at = Infinity
  return {
    url: site.url,
    requests: () => site.requests,
    add(text) {
      const at = Date.now()
      first_at = Math.min(first_at, at)
      if (random.odds(0.3)) return post(text)
      const { id } = Object(site.call('comment', { post_id: posts.pick(), author: author(), text }))
      return { name: `t1_${id}`, at }
    },
    [Symbol.asyncDispose]: () => site.stop(),
  }
}

/** The scenarios, in the order of the table. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  discourse: {
    title: 'one Discourse forum, 2 posts a second',
    kind: 'discourse',
    sites: 1,
    monitors_per_site: 500,
    items_per_s: 2,
    votes_per_s: 0,
    requests_max: 60,
    places: CATEGORIES,
    start: startDiscourse,
  },
  forums: {
    title: '20 Discourse forums, 0.2 posts a second each',
    kind: 'discourse',
    sites: 20,
    monitors_per_site: 10,
    items_per_s: 0.2,
    votes_per_s: 0,
    requests_max: 60,
    places: CATEGORIES,
    start: startDiscourse,
  },
  hackernews: {
    title: 'Hacker News, 25 items a minute',
    kind: 'hackernews',
    sites: 1,
    monitors_per_site: 100,
    items_per_s: 25 / 60,
    votes_per_s: 0.5,
    requests_max: 60,
    places: HN_PLACES,
    start: startHackerNews,
  },
  lemmy: {
    title: 'one Lemmy instance, 1 item a second',
    kind: 'lemmy',
    sites: 1,
    monitors_per_site: 100,
    items_per_s: 1,
    votes_per_s: 0,
    requests_max: 60,
    places: COMMUNITIES,
    start: startLemmy,
  },
}

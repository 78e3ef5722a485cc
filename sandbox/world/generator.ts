import { publishPost, writeReply } from './content.ts'
import type { SandboxUser, Subforum, Thing, World } from './model.ts'
import type { SeededRandom } from './random.ts'
import { pickParent } from './seed.ts'
import { addComment, invalidate } from './world.ts'

/** Factor by which generation at speed 1 exceeds the rate of the seeded history. */
const LIVELY_FACTOR = 30
const COMMENTS_PER_POST = 3
const VOTES_PER_POST = 5
/** Maximum events of one call; the rest of the time passes without events. */
const MOST_EVENTS = 20_000
/** Maximum items of a world; further ones are not generated. */
const MOST_THINGS = 300_000
const RECENT = 40

/** Adds content over time. */
export type ContentGenerator = {
  /** Epoch ms of the next event; Infinity: none. */
  due_at(): number
  /** Adds all events that are due. */
  catchUp(): void
}

/** Generates posts, comments and votes as independent events at each subforum's rate. */
export function createContentGenerator(
  world: World,
  random: SeededRandom,
  speed: number,
): ContentGenerator {
  const subforums = [...world.subforums.values()].filter(({ rate }) => rate > 0)
  const people = [...world.users.values()].filter(({ standing }) => standing === 'good')
  const per_hour = subforums.reduce((sum, { rate }) => sum + rate, 0) * LIVELY_FACTOR * speed
  const kinds = 1 + COMMENTS_PER_POST + VOTES_PER_POST
  const mean_ms = 3_600_000 / (per_hour * kinds)
  if (speed === 0 || per_hour === 0 || people.length === 0)
    return { due_at: () => Infinity, catchUp() {} }

  const addEvent = (at_ms: number) => {
    const target = pickWeighted(random, subforums)
    const kind = random.whole(1, kinds)
    const created_s = Math.floor(at_ms / 1000)
    if (kind === 1)
      publishPost(world, random, {
        subforum: target,
        author: random.pick(people),
        created_s,
        ups: 1,
        downs: 0,
      })
    else if (kind <= 1 + COMMENTS_PER_POST)
      addReply(world, random, { subforum: target, people, created_s })
    else addVotes(world, random, target)
  }
  return createRandomEvents({
    now: world.now,
    random,
    mean_ms,
    addEvent,
    size: () => world.things.size,
  })
}

type RandomEvents = {
  /** Epoch ms. */
  now(): number
  random: SeededRandom
  /** Mean time between two events; Infinity: no events. */
  mean_ms: number
  addEvent(at_ms: number): void
  /** Items of the world. */
  size(): number
}

/** Adds events at random times, with a constant mean rate. */
export function createRandomEvents({
  now,
  random,
  mean_ms,
  addEvent,
  size,
}: RandomEvents): ContentGenerator {
  if (mean_ms === Infinity) return { due_at: () => Infinity, catchUp() {} }
  let next_at = now() + random.wait(mean_ms)
  return {
    due_at: () => next_at,
    catchUp() {
      for (let events = 0; next_at <= now(); events++) {
        if (events >= MOST_EVENTS || size() >= MOST_THINGS) {
          next_at = now() + random.wait(mean_ms)
          break
        }
        addEvent(next_at)
        next_at += random.wait(mean_ms)
      }
    },
  }
}

function pickWeighted(random: SeededRandom, subforums: readonly Subforum[]): Subforum {
  let left = random.fraction() * subforums.reduce((sum, { rate }) => sum + rate, 0)
  for (const subforum of subforums) {
    left -= subforum.rate
    if (left < 0) return subforum
  }
  return random.pick(subforums)
}

function addReply(
  world: World,
  random: SeededRandom,
  {
    subforum,
    people,
    created_s,
  }: { subforum: Subforum; people: readonly SandboxUser[]; created_s: number },
): void {
  const recent = subforum.posts.slice(-RECENT).filter((it) => it.removed === null && !it.locked)
  if (recent.length === 0) return
  const post = random.pick(recent)
  addComment(world, {
    parent: pickParent(random, post),
    author: random.odds(0.2) ? post.author : random.pick(people),
    text: writeReply(random, subforum.topic),
    created_s: Math.max(created_s, post.created_s),
  })
}

function addVotes(world: World, random: SeededRandom, { posts, comments }: Subforum): void {
  const recent: readonly Thing[] = random.odds(0.6) ? posts : comments
  const thing = recent.at(-random.whole(1, RECENT))
  if (thing === undefined) return
  if (random.odds(0.88)) thing.ups += random.whole(1, 6)
  else thing.downs++
  invalidate(world, thing)
}

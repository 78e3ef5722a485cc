import type { Chance } from './chance.ts'
import type { Subforum, Thing, User, World } from './model.ts'
import { writeReply } from './prose.ts'
import { publish } from './publish.ts'
import { answered } from './seed.ts'
import { addComment, touch } from './world.ts'

/** How much busier than its history a lively sandbox is. */
const LIVELY = 30
const COMMENTS_PER_POST = 3
const VOTES_PER_POST = 5
/** One catching up adds no more than this; what is left of the time passes in silence. */
const MOST_EVENTS = 20_000
/** A world of this size grows no further. */
const MOST_THINGS = 300_000
const RECENT = 40

/** Adds content as time goes by. */
export type Clockwork = {
  /** Epoch ms of the next event; Infinity when nothing will happen. */
  due_at(): number
  /** Lets happen what should have happened by now. */
  catchUp(): void
}

/** New posts, comments and votes, each at its own instant: independent events at each subforum's rate. */
export function createClockwork(world: World, chance: Chance, speed: number): Clockwork {
  const places = [...world.subforums.values()].filter(({ rate }) => rate > 0)
  const people = [...world.users.values()].filter(({ standing }) => standing === 'good')
  const per_hour = places.reduce((sum, { rate }) => sum + rate, 0) * LIVELY * speed
  const kinds = 1 + COMMENTS_PER_POST + VOTES_PER_POST
  const mean_ms = 3_600_000 / (per_hour * kinds)
  if (speed === 0 || per_hour === 0 || people.length === 0)
    return { due_at: () => Infinity, catchUp() {} }

  let next_at = world.now() + chance.wait(mean_ms)
  const happen = () => {
    const place = weighted(chance, places)
    const kind = chance.whole(1, kinds)
    const created_s = Math.floor(next_at / 1000)
    if (kind === 1)
      publish(world, chance, {
        subforum: place,
        author: chance.pick(people),
        created_s,
        ups: 1,
        downs: 0,
      })
    else if (kind <= 1 + COMMENTS_PER_POST) answer(world, chance, { place, people, created_s })
    else vote(world, chance, place)
  }
  return {
    due_at: () => next_at,
    catchUp() {
      for (let events = 0; next_at <= world.now(); events++) {
        if (events >= MOST_EVENTS || world.things.size >= MOST_THINGS) {
          next_at = world.now() + chance.wait(mean_ms)
          break
        }
        happen()
        next_at += chance.wait(mean_ms)
      }
    },
  }
}

function weighted(chance: Chance, places: readonly Subforum[]): Subforum {
  let left = chance.fraction() * places.reduce((sum, { rate }) => sum + rate, 0)
  for (const place of places) {
    left -= place.rate
    if (left < 0) return place
  }
  return chance.pick(places)
}

function answer(
  world: World,
  chance: Chance,
  { place, people, created_s }: { place: Subforum; people: readonly User[]; created_s: number },
): void {
  const recent = place.posts.slice(-RECENT).filter((it) => it.removed === null && !it.locked)
  if (recent.length === 0) return
  const post = chance.pick(recent)
  addComment(world, {
    parent: answered(chance, post),
    author: chance.odds(0.2) ? post.author : chance.pick(people),
    text: writeReply(chance, place.topic),
    created_s: Math.max(created_s, post.created_s),
  })
}

function vote(world: World, chance: Chance, { posts, comments }: Subforum): void {
  const recent: readonly Thing[] = chance.odds(0.6) ? posts : comments
  const thing = recent.at(-chance.whole(1, RECENT))
  if (thing === undefined) return
  if (chance.odds(0.88)) thing.ups += chance.whole(1, 6)
  else thing.downs++
  touch(world, thing)
}

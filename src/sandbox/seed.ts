import { PEOPLE, type Place, PLACES } from './cast.ts'
import type { Chance } from './chance.ts'
import type { Comment, Post, Subforum, Thing, User, World } from './model.ts'
import { writeReply } from './prose.ts'
import { publish } from './publish.ts'
import { curiosities } from './seed-curiosities.ts'
import { authorize, correspond } from './seed-mail.ts'
import { addSession } from './sessions.ts'
import { addComment, addSubforum, addUser, nowSeconds } from './world.ts'

/** Fills a world with people, places and some weeks of talk. The same chance makes the same world. */
export function seed(world: World, chance: Chance): void {
  const people = PEOPLE.map((plan) => addUser(world, aged(world, chance, plan)))
  const places = PLACES.map((plan) => found(world, chance, plan, people))
  for (const user of people) if (user.password !== null) addSession(world, user)
  const posts = write(world, chance, places, people)
  discuss(world, chance, posts, people)
  curiosities(world, chance, people)
  for (const user of people.slice(0, 4)) gather(chance, user, posts)
  correspond(world, chance, people)
  authorize(world, chance, people)
}

function aged<T extends object>(world: World, chance: Chance, plan: T) {
  const days = chance.whole(60, 4_000)
  return {
    created_s: nowSeconds(world) - days * 86_400,
    post_karma: chance.whole(1, 40_000),
    comment_karma: chance.whole(1, 90_000),
    ...plan,
  }
}

const MODERATORS = ['bruno_keeps', 'cedar_owl', 'third_kettle', 'PatchBay']

type Founded = { subforum: Subforum; posts: number }

function found(world: World, chance: Chance, plan: Place, people: readonly User[]): Founded {
  const { posts, ...rest } = plan
  const named = (name: string) => people.filter((user) => user.name === name)
  const subforum = addSubforum(world, {
    ...rest,
    created_s: nowSeconds(world) - chance.whole(900, 4_800) * 86_400,
    moderators: plan.access === 'restricted' ? named('forum_staff') : moderatorsOf(chance, people),
    wiki: pagesOf(plan),
    members: new Set([...named('carla_quiet'), ...named('third_kettle')]),
  })
  // The first two accounts live in most places, the others in few.
  for (const [index, user] of people.slice(0, 4).entries())
    if (subforum.access === 'public' && chance.odds(index < 2 ? 0.8 : 0.3))
      user.subscribed.add(subforum)
  return { subforum, posts }
}

/** Where there are rules there is a wiki that repeats them. */
function pagesOf({ title, rules = [] }: Place): Map<string, string> {
  if (rules.length === 0) return new Map()
  const list = rules.map((rule, index) => `${index + 1}. ${rule}`).join('\n')
  return new Map([
    ['index', `# ${title}\n\nWelcome! Start with the [FAQ](https://notes.example.org/faq).`],
    ['faq', `**Is this the right place?** It is.\n\nThe rules:\n\n${list}`],
    ['config/sidebar', 'Newest threads on top.'],
  ])
}

function moderatorsOf(chance: Chance, people: readonly User[]): User[] {
  const [first, ...others] = people.filter(({ name }) => MODERATORS.includes(name))
  return first === undefined ? [] : [first, chance.pick(others)]
}

/** The shadowed write less than others, or every page would have holes. */
function somebody(chance: Chance, people: readonly User[]): User {
  const user = chance.pick(people)
  return user.standing === 'shadowed' ? chance.pick(people) : user
}

/** Few posts are loved, most are seen by some. */
function votes(chance: Chance, popularity: number): { ups: number; downs: number } {
  const ups = 1 + Math.floor(chance.wait(popularity) * chance.wait(1))
  return { ups, downs: Math.floor(ups * chance.fraction() * 0.3) + (chance.odds(0.05) ? ups : 0) }
}

function write(
  world: World,
  chance: Chance,
  places: readonly Founded[],
  people: readonly User[],
): Post[] {
  const plans = places.flatMap(({ subforum, posts }) => {
    let created_s = nowSeconds(world)
    return Array.from({ length: posts }, () => {
      created_s -= Math.ceil(chance.wait(3_600 / Math.max(0.05, subforum.rate)))
      return { subforum, created_s }
    })
  })
  return plans
    .toSorted((one, other) => one.created_s - other.created_s)
    .map(({ subforum, created_s }) => {
      const author =
        subforum.access === 'restricted'
          ? (subforum.moderators[0] ?? chance.pick(people))
          : somebody(chance, people)
      return publish(world, chance, {
        subforum,
        author,
        created_s,
        ...votes(chance, subforum.subscribers > 1_000_000 ? 400 : 60),
      })
    })
}

const PER_POST: Record<string, number> = { news: 1.2, selfhosting: 7, books: 4 }
const MOST_PER_POST = 60

function discuss(
  world: World,
  chance: Chance,
  posts: readonly Post[],
  people: readonly User[],
): void {
  const now_s = nowSeconds(world)
  const plans = posts.flatMap((post) => {
    const mean = PER_POST[post.subforum.topic] ?? 5
    const count = Math.min(MOST_PER_POST, Math.floor(chance.wait(mean)))
    // Most of the talk is in the first hours.
    return Array.from({ length: count }, () => ({
      post,
      created_s: Math.min(now_s - 30, post.created_s + 40 + Math.ceil(chance.wait(14_000))),
    })).filter(({ created_s }) => created_s > post.created_s)
  })
  for (const { post, created_s } of plans.toSorted((a, b) => a.created_s - b.created_s))
    addComment(world, {
      parent: answered(chance, post),
      author: chance.odds(0.15) ? post.author : somebody(chance, people),
      text: writeReply(chance, post.subforum.topic),
      created_s,
      ...votes(chance, 12),
    })
}

/** Half of the answers go to the post, the others to somebody who answered before. */
export function answered(chance: Chance, post: Post): Thing {
  let parent: Thing = post
  let below: readonly Comment[] = post.comments
  while (below.length > 0 && chance.odds(0.5)) {
    parent = chance.pick(below)
    below = parent.replies
  }
  return parent
}

/** What an account has voted for, kept and put out of sight. */
function gather(chance: Chance, user: User, posts: readonly Post[]): void {
  const recent = posts.slice(-600).filter(({ subforum }) => subforum.access === 'public')
  for (const post of recent) {
    if (chance.odds(0.1)) user.votes.set(post, chance.odds(0.85) ? 1 : -1)
    if (chance.odds(0.05)) user.saved.push(post)
    const [first] = post.comments
    if (first && chance.odds(0.05)) user.saved.push(first)
    if (chance.odds(0.01)) user.hidden.push(post)
  }
}

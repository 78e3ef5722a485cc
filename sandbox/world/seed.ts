import { PEOPLE, SEED_SUBFORUMS, type SeedSubforum } from '../data/people.ts'
import { addSession, issueRefreshToken } from '../server/sessions.ts'
import { publishPost, writeReply } from './content.ts'
import { visibleInbox } from './inbox.ts'
import { sendMail } from './mail.ts'
import type { SandboxComment, SandboxPost, SandboxUser, Subforum, Thing, World } from './model.ts'
import type { SeededRandom } from './random.ts'
import { addComment, addPost, addSubforum, addUser, nowSeconds, remove } from './world.ts'

/** Adds special cases for clients: locked, pinned, deeply nested and removed items. */
function addEdgeCases(world: World, random: SeededRandom, people: readonly SandboxUser[]): void {
  for (const { posts, comments, moderators, access } of world.subforums.values()) {
    for (const post of posts) markPost(random, post)
    for (const comment of comments) {
      if (random.odds(0.04)) comment.edited_s = comment.created_s + random.whole(60, 5_000)
      removeByDraw(world, comment, random.fraction() * 50)
    }
    removeOldPosts(world, random, posts)
    const [moderator] = moderators
    if (moderator !== undefined && access !== 'banned') addStickies(world, posts, moderator)
  }
  const home = world.subforums.get('selfhosting')
  const origin = home?.posts
    .slice(-40)
    .find((it) => it.removed === null && it.url === null && it.author.standing === 'good')
  const lab = world.subforums.get('homelab')
  if (home === undefined || origin === undefined || lab === undefined) return
  addCrosspost(world, random, { from: origin, to: lab.posts.at(-3)?.author ?? origin.author })
  addBigThread(world, random, origin, people)
}

function markPost(random: SeededRandom, post: SandboxPost): void {
  if (random.odds(0.06)) post.edited_s = post.created_s + random.whole(60, 40_000)
  if (random.odds(0.02)) post.locked = true
  if (random.odds(0.01) && post.shape !== 'self') post.over_18 = true
  if (random.odds(0.01)) post.distinguished = 'moderator'
}

/** The newest items are kept, so that a first page is complete. */
function removeOldPosts(world: World, random: SeededRandom, posts: readonly SandboxPost[]): void {
  for (const post of posts.slice(0, -30)) removeByDraw(world, post, random.fraction() * 160)
}

/** Removes a share of the items: some by their author, some by a moderator, few by the platform. */
function removeByDraw(world: World, thing: Thing, draw: number): void {
  if (draw < 1) remove(world, thing, 'author')
  else if (draw < 2) remove(world, thing, 'moderator')
  else if (draw < 2.2) remove(world, thing, 'platform')
}

/** Pins two old posts of a moderator. */
function addStickies(world: World, posts: readonly SandboxPost[], moderator: SandboxUser): void {
  const [first] = posts
  if (first === undefined) return
  const { subforum } = first
  for (const [index, title] of [
    'Read this first: rules and wiki',
    'Weekly thread: ask anything',
  ].entries()) {
    addPost(world, {
      subforum,
      author: moderator,
      title,
      text: 'Small questions go here. Please read the rules in the sidebar before you post.',
      created_s: first.created_s - (2 - index) * 86_400,
      ups: 40 + index,
      stickied: true,
      distinguished: 'moderator',
      locked: index === 0,
    })
  }
}

function addCrosspost(
  world: World,
  random: SeededRandom,
  { from, to: author }: { from: SandboxPost; to: SandboxUser },
): void {
  const subforum = world.subforums.get('homelab') ?? from.subforum
  addPost(world, {
    subforum,
    author,
    title: from.title,
    shape: 'crosspost',
    url: `/r/${from.subforum.name}/comments/${from.id}/`,
    origin: from,
    created_s: Math.min(nowSeconds(world) - 60, from.created_s + random.whole(600, 3_600)),
    ups: 12,
  })
}

const BIG_THREAD_COMMENTS = 640
const CHAIN_DEPTH = 14

/** Adds a thread too large for one page, with one branch deeper than a page shows. */
function addBigThread(
  world: World,
  random: SeededRandom,
  post: SandboxPost,
  people: readonly SandboxUser[],
): void {
  const { topic } = post.subforum
  let created_s = post.created_s
  const addReply = (parent: Thing, ups: number) => {
    created_s += random.whole(1, 20)
    return addComment(world, {
      parent,
      author: random.pick(people),
      text: writeReply(random, topic),
      created_s: Math.min(created_s, nowSeconds(world) - 5),
      ups,
      downs: ups < 800 && random.odds(0.1) ? random.whole(1, ups + 8) : 0,
    })
  }
  let deep: Thing = post
  for (let depth = 0; depth < CHAIN_DEPTH; depth++) deep = addReply(deep, 900 - depth)
  const thread: Thing[] = [post]
  for (let index = 0; index < BIG_THREAD_COMMENTS; index++) {
    // Earlier comments get more answers.
    const parent = thread[Math.floor(thread.length * random.fraction() ** 3)] ?? post
    thread.push(addReply(parent, 1 + Math.floor(random.wait(25))))
  }
  const to_remove = post.comments.filter((it) => it.replies.length > 0).slice(1, 3)
  for (const [index, comment] of to_remove.entries())
    remove(world, comment, index === 0 ? 'author' : 'moderator')
}

const DAY_S = 86_400
const UNREAD_ITEMS = 5

/** Mail conversations: subject, then the messages of both sides in turn. */
const THREADS = [
  ['Your guide', 'It saved me a weekend. Thank you & all the best!', 'Glad to hear it.'],
  ['About the meeting', 'Will you be there on Friday?', 'I hope so.', 'See you < then >.'],
  ['A question', 'Where did you get the small screws?'],
  ['Spare part', 'I still have one. Do you want it?', 'Yes, please!'],
] as const

/** Fills the mail of the accounts with a password; all but the newest few messages are read. */
function addMail(world: World, random: SeededRandom, people: readonly SandboxUser[]): void {
  const accounts = people.filter(({ password }) => password !== null)
  const others = people.filter((it) => it.standing === 'good' && it.password === null)
  const now_s = nowSeconds(world)
  for (const account of accounts)
    for (const [index, [subject, ...texts]] of THREADS.entries()) {
      const peer = random.pick(others)
      let parent = undefined
      let created_s = now_s - (THREADS.length - index) * DAY_S
      for (const [turn, text] of texts.entries()) {
        const [author, to] = turn % 2 === index % 2 ? [peer, account] : [account, peer]
        parent = sendMail(world, {
          author,
          to,
          subject: turn === 0 ? subject : `re: ${subject}`,
          text,
          created_s,
          ...(parent && { parent }),
        })
        created_s += random.whole(60, 20_000)
      }
    }
  const [account] = accounts
  const home = world.subforums.get('selfhosting')
  if (account !== undefined && home !== undefined)
    sendMail(world, {
      author: account,
      to: home,
      subject: 'A rule',
      text: 'May I link my own page?',
    })
  for (const user of world.users.values()) {
    const fresh = new Set(visibleInbox(user).slice(0, UNREAD_ITEMS))
    for (const item of user.inbox) item.unread = fresh.has(item)
  }
}

/** Issues a refresh token for every account; one account blocks a user. */
function addGrants(world: World, random: SeededRandom, people: readonly SandboxUser[]): void {
  for (const user of people) if (user.password !== null) issueRefreshToken(world, user, random)
  const [account, ...others] = people
  const annoying = others.find(({ password, standing }) => password === null && standing === 'good')
  if (account !== undefined && annoying !== undefined) account.blocked.add(annoying)
}

/**
 * Fills a world with users, subforums and some weeks of content. The same random source gives the
 * same world.
 */
export function seedWorld(world: World, random: SeededRandom): void {
  const people = PEOPLE.map((plan) => addUser(world, aged(world, random, plan)))
  const subforums = SEED_SUBFORUMS.map((plan) => createSubforum(world, random, plan, people))
  for (const user of people) if (user.password !== null) addSession(world, user)
  const posts = writePosts(world, random, subforums, people)
  writeComments(world, random, posts, people)
  addEdgeCases(world, random, people)
  for (const user of people.slice(0, 4)) addReactions(random, user, posts)
  addMail(world, random, people)
  addGrants(world, random, people)
}

function aged<T extends object>(world: World, random: SeededRandom, plan: T) {
  const days = random.whole(60, 4_000)
  return {
    created_s: nowSeconds(world) - days * 86_400,
    post_karma: random.whole(1, 40_000),
    comment_karma: random.whole(1, 90_000),
    ...plan,
  }
}

const MODERATORS = ['bruno_keeps', 'cedar_owl', 'third_kettle', 'PatchBay']

type CreatedSubforum = { subforum: Subforum; posts: number }

function createSubforum(
  world: World,
  random: SeededRandom,
  plan: SeedSubforum,
  people: readonly SandboxUser[],
): CreatedSubforum {
  const { posts, ...rest } = plan
  const usersNamed = (name: string) => people.filter((user) => user.name === name)
  const subforum = addSubforum(world, {
    ...rest,
    created_s: nowSeconds(world) - random.whole(900, 4_800) * 86_400,
    moderators:
      plan.access === 'restricted' ? usersNamed('forum_staff') : moderatorsOf(random, people),
    wiki: pagesOf(plan),
    members: new Set([...usersNamed('carla_quiet'), ...usersNamed('third_kettle')]),
  })
  // The first two accounts are subscribed to most subforums, the others to few.
  for (const [index, user] of people.slice(0, 4).entries())
    if (subforum.access === 'public' && random.odds(index < 2 ? 0.8 : 0.3))
      user.subscribed.add(subforum)
  return { subforum, posts }
}

/** Subforums with rules have a wiki that repeats them. */
function pagesOf({ title, rules = [] }: SeedSubforum): Map<string, string> {
  if (rules.length === 0) return new Map()
  const list = rules.map((rule, index) => `${index + 1}. ${rule}`).join('\n')
  return new Map([
    ['index', `# ${title}\n\nWelcome! Start with the [FAQ](https://notes.example.org/faq).`],
    ['faq', `**Is this the right place?** It is.\n\nThe rules:\n\n${list}`],
    ['config/sidebar', 'Newest threads on top.'],
  ])
}

function moderatorsOf(random: SeededRandom, people: readonly SandboxUser[]): SandboxUser[] {
  const [first, ...others] = people.filter(({ name }) => MODERATORS.includes(name))
  return first === undefined ? [] : [first, random.pick(others)]
}

/** Shadowed accounts write less than others; otherwise every page would be short. */
function pickAuthor(random: SeededRandom, people: readonly SandboxUser[]): SandboxUser {
  const user = random.pick(people)
  return user.standing === 'shadowed' ? random.pick(people) : user
}

/** Few posts have high scores, most have low ones. */
function drawVotes(random: SeededRandom, popularity: number): { ups: number; downs: number } {
  const ups = 1 + Math.floor(random.wait(popularity) * random.wait(1))
  return { ups, downs: Math.floor(ups * random.fraction() * 0.3) + (random.odds(0.05) ? ups : 0) }
}

function writePosts(
  world: World,
  random: SeededRandom,
  subforums: readonly CreatedSubforum[],
  people: readonly SandboxUser[],
): SandboxPost[] {
  const plans = subforums.flatMap(({ subforum, posts }) => {
    let created_s = nowSeconds(world)
    return Array.from({ length: posts }, () => {
      created_s -= Math.ceil(random.wait(3_600 / Math.max(0.05, subforum.rate)))
      return { subforum, created_s }
    })
  })
  return plans
    .toSorted((one, other) => one.created_s - other.created_s)
    .map(({ subforum, created_s }) => {
      const author =
        subforum.access === 'restricted'
          ? (subforum.moderators[0] ?? random.pick(people))
          : pickAuthor(random, people)
      return publishPost(world, random, {
        subforum,
        author,
        created_s,
        ...drawVotes(random, subforum.subscribers > 1_000_000 ? 400 : 60),
      })
    })
}

const COMMENTS_PER_POST: Record<string, number> = { news: 1.2, selfhosting: 7, books: 4 }
const MOST_PER_POST = 60

function writeComments(
  world: World,
  random: SeededRandom,
  posts: readonly SandboxPost[],
  people: readonly SandboxUser[],
): void {
  const now_s = nowSeconds(world)
  const plans = posts.flatMap((post) => {
    const mean = COMMENTS_PER_POST[post.subforum.topic] ?? 5
    const count = Math.min(MOST_PER_POST, Math.floor(random.wait(mean)))
    // Most comments are written in the first hours.
    return Array.from({ length: count }, () => ({
      post,
      created_s: Math.min(now_s - 30, post.created_s + 40 + Math.ceil(random.wait(14_000))),
    })).filter(({ created_s }) => created_s > post.created_s)
  })
  for (const { post, created_s } of plans.toSorted((a, b) => a.created_s - b.created_s))
    addComment(world, {
      parent: pickParent(random, post),
      author: random.odds(0.15) ? post.author : pickAuthor(random, people),
      text: writeReply(random, post.subforum.topic),
      created_s,
      ...drawVotes(random, 12),
    })
}

/** Half of the comments answer the post, the others an earlier comment. */
export function pickParent(random: SeededRandom, post: SandboxPost): Thing {
  let parent: Thing = post
  let below: readonly SandboxComment[] = post.comments
  while (below.length > 0 && random.odds(0.5)) {
    parent = random.pick(below)
    below = parent.replies
  }
  return parent
}

/** Votes, saved and hidden items of an account. */
function addReactions(
  random: SeededRandom,
  user: SandboxUser,
  posts: readonly SandboxPost[],
): void {
  const recent = posts.slice(-600).filter(({ subforum }) => subforum.access === 'public')
  for (const post of recent) {
    if (random.odds(0.1)) user.votes.set(post, random.odds(0.85) ? 1 : -1)
    if (random.odds(0.05)) user.saved.push(post)
    const [first] = post.comments
    if (first && random.odds(0.05)) user.saved.push(first)
    if (random.odds(0.01)) user.hidden.push(post)
  }
}

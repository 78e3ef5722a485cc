import type { Chance } from './chance.ts'
import type { Post, Thing, User, World } from './model.ts'
import { writeReply } from './prose.ts'
import { addComment, addPost, nowSeconds, remove } from './world.ts'

/** Whatever a client has to have met: the locked, the stuck on top, the deep, the taken away. */
export function curiosities(world: World, chance: Chance, people: readonly User[]): void {
  for (const { posts, comments, moderators, access } of world.subforums.values()) {
    for (const post of posts) mark(chance, post)
    for (const comment of comments) {
      if (chance.odds(0.04)) comment.edited_s = comment.created_s + chance.whole(60, 5_000)
      meetFate(world, comment, chance.fraction() * 50)
    }
    takeAway(world, chance, posts)
    const [moderator] = moderators
    if (moderator !== undefined && access !== 'banned') pin(world, posts, moderator)
  }
  const home = world.subforums.get('selfhosting')
  const origin = home?.posts
    .slice(-40)
    .find((it) => it.removed === null && it.url === null && it.author.standing === 'good')
  const lab = world.subforums.get('homelab')
  if (home === undefined || origin === undefined || lab === undefined) return
  crosspost(world, chance, { from: origin, to: lab.posts.at(-3)?.author ?? origin.author })
  bigThread(world, chance, origin, people)
}

function mark(chance: Chance, post: Post): void {
  if (chance.odds(0.06)) post.edited_s = post.created_s + chance.whole(60, 40_000)
  if (chance.odds(0.02)) post.locked = true
  if (chance.odds(0.01) && post.shape !== 'self') post.over_18 = true
  if (chance.odds(0.01)) post.distinguished = 'moderator'
}

/** The newest are left alone, so that a first page is whole. */
function takeAway(world: World, chance: Chance, posts: readonly Post[]): void {
  for (const post of posts.slice(0, -30)) meetFate(world, post, chance.fraction() * 160)
}

/** Of a draw's first units some go by their author's hand, some by a moderator's, few by the platform's. */
function meetFate(world: World, thing: Thing, draw: number): void {
  if (draw < 1) remove(world, thing, 'author')
  else if (draw < 2) remove(world, thing, 'moderator')
  else if (draw < 2.2) remove(world, thing, 'platform')
}

/** Two old posts of a moderator stand on top of hot. */
function pin(world: World, posts: readonly Post[], moderator: User): void {
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

function crosspost(
  world: World,
  chance: Chance,
  { from, to: author }: { from: Post; to: User },
): void {
  const subforum = world.subforums.get('homelab') ?? from.subforum
  addPost(world, {
    subforum,
    author,
    title: from.title,
    shape: 'crosspost',
    url: `/r/${from.subforum.name}/comments/${from.id}/`,
    origin: from,
    created_s: Math.min(nowSeconds(world) - 60, from.created_s + chance.whole(600, 3_600)),
    ups: 12,
  })
}

const BIG = 640
const CHAIN = 14

/** A thread too big to be shown at once, with one exchange that goes deeper than a page shows. */
function bigThread(world: World, chance: Chance, post: Post, people: readonly User[]): void {
  const { topic } = post.subforum
  let created_s = post.created_s
  const say = (parent: Thing, ups: number) => {
    created_s += chance.whole(1, 20)
    return addComment(world, {
      parent,
      author: chance.pick(people),
      text: writeReply(chance, topic),
      created_s: Math.min(created_s, nowSeconds(world) - 5),
      ups,
      downs: ups < 800 && chance.odds(0.1) ? chance.whole(1, ups + 8) : 0,
    })
  }
  let deep: Thing = post
  for (let depth = 0; depth < CHAIN; depth++) deep = say(deep, 900 - depth)
  const said: Thing[] = [post]
  for (let index = 0; index < BIG; index++) {
    // Earlier voices gather more answers.
    const parent = said[Math.floor(said.length * chance.fraction() ** 3)] ?? post
    said.push(say(parent, 1 + Math.floor(chance.wait(25))))
  }
  const gone = post.comments.filter((it) => it.replies.length > 0).slice(1, 3)
  for (const [index, comment] of gone.entries())
    remove(world, comment, index === 0 ? 'author' : 'moderator')
}

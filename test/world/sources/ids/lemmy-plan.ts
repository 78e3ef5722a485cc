/** The posts and comments of a simulated instance of Lemmy, and all that happens to them. */
import { between, gapMs, pick, randomOf } from './server.ts'
import type { Random } from './server.ts'

/**
 * - `shown`: as usual. `removed`, `deleted`: a mark; a post leaves the lists, a comment its text.
 * - `absent`: no reader can tell that it exists: not committed yet, private, scheduled, pending.
 * - `purged`: gone for good, and cursors to it fail.
 */
type LemmyMark = 'shown' | 'removed' | 'deleted' | 'absent' | 'purged'

export type LemmyState = {
  readonly fromMs: number
  readonly mark: LemmyMark
  readonly text: string
  readonly edited: boolean
}

export type Community = {
  readonly id: number
  readonly name: string
  /** The other instance that it belongs to; null for a local one. */
  readonly host: string | null
  readonly sort: 'public' | 'private' | 'unlisted' | 'nsfw'
}

export type LemmyItem = {
  readonly kind: 'post' | 'comment'
  readonly id: number
  readonly community: Community
  readonly author: string
  /** Null: an author of this instance. */
  readonly host: string | null
  readonly title: string
  readonly publishedMs: number
  readonly states: readonly LemmyState[]
  /** The post of a comment. */
  readonly post: LemmyItem | null
  /** `0.A.B` with this comment at the end; "" for a post. */
  readonly path: string
  readonly note: string
}

export type LemmyPlan = {
  readonly seed: number
  readonly contentMs: number
  readonly postGapMs: number
  readonly commentGapMs: number
  /** Other instances, private communities, removals, restorations, edits, late commits. */
  readonly unruly: boolean
  /** No id is without an item for good, so that health can speak of the present. */
  readonly settled: boolean
}

export const WORD = 'quandrix'
const FIRST_POST = 18_400
const FIRST_COMMENT = 501_200
const HISTORY_MS = 90_000
const HOSTS = ['north.example', 'south.example'] as const
const WORDS = 'moss lantern fjord rhubarb plaster gasket thistle radio velvet ferry'.split(' ')
const AUTHORS = Array.from({ length: 20 }, (_, index) => `wren_${index}`)

export const COMMUNITIES: readonly Community[] = [
  { id: 21, name: 'music', host: null, sort: 'public' },
  { id: 22, name: 'tech', host: null, sort: 'public' },
  { id: 23, name: 'news', host: 'north.example', sort: 'public' },
  { id: 24, name: 'science', host: 'south.example', sort: 'public' },
  { id: 25, name: 'hush', host: null, sort: 'private' },
  { id: 26, name: 'attic', host: null, sort: 'unlisted' },
  { id: 27, name: 'cellar', host: null, sort: 'nsfw' },
]

const LOCAL = COMMUNITIES.slice(0, 2)

const communityOf = (random: Random, { unruly, settled }: LemmyPlan): Community => {
  const drawn = random() * (settled ? 0.82 : 1)
  if (!unruly || drawn < 0.5) return pick(random, LOCAL)
  if (drawn < 0.82) return pick(random, COMMUNITIES.slice(2, 4))
  if (drawn < 0.9) return pick(random, COMMUNITIES.slice(4, 5))
  return pick(random, COMMUNITIES.slice(drawn < 0.94 ? 5 : 6))
}

const sentence = (random: Random): string =>
  Array.from({ length: 7 }, () => pick(random, WORDS)).join(' ')

export const nameOf = (community: Community): string =>
  community.host === null ? community.name : `${community.name}@${community.host}`

type Life = { readonly note: string; readonly states: readonly LemmyState[] }

const lifeOf = (random: Random, arrivedMs: number, text: string, calm: boolean): Life => {
  const live: LemmyState = { fromMs: arrivedMs, mark: 'shown', text, edited: false }
  const laterMs = arrivedMs + between(random, 15_000, 50_000)
  const againMs = laterMs + between(random, 15_000, 40_000)
  const hide = (mark: LemmyMark, fromMs: number): LemmyState => ({ ...live, mark, fromMs })
  const drawn = calm ? 0 : random()
  const quickMs = arrivedMs + between(random, 100, 1500)
  if (drawn < 0.58) return { note: '', states: [live] }
  if (drawn < 0.64) {
    // The id is taken before the row is committed.
    const states = [hide('absent', arrivedMs), { ...live, fromMs: quickMs + 1500 }]
    return { note: 'late commit', states }
  }
  if (drawn < 0.69) {
    const states = [live, hide('removed', quickMs), { ...live, fromMs: laterMs }]
    return { note: 'removed at once, restored', states }
  }
  if (drawn < 0.74) {
    const states = [live, hide('removed', laterMs), { ...live, fromMs: againMs }]
    return { note: 'removed, restored', states }
  }
  if (drawn < 0.79) {
    const states = [live, hide('deleted', quickMs), { ...live, fromMs: laterMs }]
    return { note: 'deleted at once, restored by its author', states }
  }
  if (drawn < 0.83) return { note: 'deleted', states: [live, hide('deleted', laterMs)] }
  if (drawn < 0.86) return { note: 'removed', states: [live, hide('removed', laterMs)] }
  if (drawn < 0.88) return { note: 'purged', states: [live, hide('purged', laterMs)] }
  if (drawn < 0.92) {
    const states = [hide('absent', arrivedMs), { ...live, fromMs: laterMs }]
    return { note: 'pending or scheduled, then public', states }
  }
  const edited = { ...live, fromMs: laterMs, text: `${text} ${WORD}`, edited: true }
  return { note: 'edited', states: [live, edited] }
}

/** Delay of what another instance sends, and the time that its author wrote it. */
const lateOf = (random: Random): number =>
  random() < 0.5 ? between(random, 200, 3000) : between(random, 20_000, 150_000)

const makeItem = (
  plan: LemmyPlan,
  random: Random,
  arrivedMs: number,
  id: number,
  post: LemmyItem | null,
  above: LemmyItem | null,
): LemmyItem => {
  const community = post?.community ?? communityOf(random, plan)
  const away = plan.unruly && (community.host !== null ? random() < 0.8 : random() < 0.25)
  const host = away ? (community.host ?? pick(random, HOSTS)) : null
  const text = random() < 0.4 ? `${sentence(random)} ${WORD}.` : sentence(random)
  const calm = !plan.unruly || arrivedMs < -20_000 || community.sort === 'private'
  const life = lifeOf(random, arrivedMs, text, calm)
  const hidden = community.sort === 'private'
  const publishedMs = host === null ? arrivedMs : arrivedMs - lateOf(random)
  const notes = [
    post?.states[0]?.mark === 'absent' ? 'before its post' : '',
    arrivedMs - publishedMs > 5000 ? 'federated late' : '',
    community.sort === 'public' ? '' : community.sort,
    life.note,
  ]
  return {
    kind: post === null ? 'post' : 'comment',
    id,
    community,
    author: pick(random, AUTHORS),
    host,
    title: post === null ? sentence(random) : '',
    publishedMs,
    states: hidden ? life.states.map((state) => ({ ...state, mark: 'absent' })) : life.states,
    post,
    path: post === null ? '' : `${above?.path ?? '0'}.${id}`,
    note: notes.filter((one) => one !== '').join(', '),
  }
}

const stepsOf = (random: Random, meanMs: number, untilMs: number): number[] => {
  const times: number[] = []
  for (let atMs = -HISTORY_MS; atMs < untilMs; atMs += gapMs(random, meanMs)) times.push(atMs)
  return times
}

/** All posts and comments, each in the order of their ids. */
export const planLemmy = (plan: LemmyPlan): { posts: LemmyItem[]; comments: LemmyItem[] } => {
  const random = randomOf(plan.seed)
  // An insert that was rolled back has taken its id all the same.
  const after = (id: number) => id + (plan.unruly && !plan.settled && random() < 0.06 ? 2 : 1)
  let postId = FIRST_POST
  const posts = stepsOf(random, plan.postGapMs, plan.contentMs).map((atMs) => {
    postId = after(postId)
    return makeItem(plan, random, atMs, postId, null, null)
  })
  const comments: LemmyItem[] = []
  let commentId = FIRST_COMMENT
  for (const atMs of stepsOf(random, plan.commentGapMs, plan.contentMs)) {
    const there = posts.filter((post) => (post.states[0]?.fromMs ?? Infinity) <= atMs)
    const post =
      there.length === 0 ? posts[0] : pick(random, there.slice(random() < 0.4 ? -2 : -15))
    if (post === undefined) continue
    const same = comments.filter((one) => one.post === post)
    const above = same.length > 0 && random() < 0.4 ? pick(random, same) : null
    commentId = after(commentId)
    comments.push(makeItem(plan, random, atMs, commentId, post, above))
  }
  return { posts, comments }
}

export const markAt = (item: LemmyItem, atMs: number): LemmyState | null =>
  item.states.findLast((state) => state.fromMs <= atMs) ?? null

/** The posts and comments of a simulated instance of Lemmy or PieFed, and all that happens to them. */
import { makeRandom, pick } from '../../plan.ts'
import type { Random } from '../../plan.ts'
import { between, gapMs } from './server.ts'

/**
 * - `shown`: as usual. `removed`, `deleted`: a mark; a post leaves the lists, a comment its text.
 * - `absent`: no reader can tell that it exists: not committed yet, private, scheduled, pending.
 * - `purged`: gone for good, and cursors to it fail.
 * - `waiting`: scheduled, a draft, or waiting for another server: 200 by its id, and in no list.
 * - `half`: shown, before the second commit that writes text, link and flag.
 */
type LemmyMark = 'shown' | 'half' | 'removed' | 'deleted' | 'absent' | 'purged' | 'waiting'

/** Tests whether lists have an item of this mark. */
export const isShown = (mark: LemmyMark | undefined): boolean => mark === 'shown' || mark === 'half'

export type LemmyState = {
  readonly fromMs: number
  readonly mark: LemmyMark
  readonly text: string
  readonly edited: boolean
  /** For `waiting`: the time of its publication; null where it waits for another server. */
  readonly dueMs?: number | null
}

export type Community = {
  readonly id: number
  readonly name: string
  /** The other instance that it belongs to; null for a local one. */
  readonly host: string | null
  readonly sort: 'public' | 'private' | 'unlisted' | 'nsfw' | 'banned'
}

export type LemmyItem = {
  readonly kind: 'post' | 'comment'
  readonly id: number
  readonly community: Community
  readonly author: string
  /** Null: an author of this instance. */
  readonly host: string | null
  readonly title: string
  readonly link: string | null
  readonly nsfw: boolean
  readonly publishedMs: number
  /** Deliveries in this span are of this item: its id was used again after a restored database. */
  readonly era?: readonly [number, number]
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
  readonly knobs?: Knobs
}

/** Behaviours of real servers; all absent is an instance that does not federate. */
export type Knobs = {
  /** Share of the ids that are void, as each federated upsert takes one. */
  readonly voidShare?: number
  /** Share of the posts that wait for their publication and are readable by id. */
  readonly waitingShare?: number
  /** Comments wait for another server too. */
  readonly waitingReplies?: boolean
  /** Share of the items of other instances that are dated minutes to days ahead. */
  readonly aheadShare?: number
  /** Posts are committed twice, seconds apart. */
  readonly twoSteps?: boolean
  /** Authors of forty items each, who are banned with all of these and let in again. */
  readonly bans?: number
  /** The instant at which the database of a minute before is put back. */
  readonly restoreAtMs?: number
  /** Comments under an old post. */
  readonly treeRows?: number
  /** Members of a private community read it; without, nobody does. */
  readonly members?: boolean
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
  { id: 28, name: 'Jazz', host: null, sort: 'public' },
  { id: 29, name: 'ruin', host: null, sort: 'banned' },
]

const LOCAL = COMMUNITIES.filter(({ id }) => [21, 22, 28].includes(id))
const RESTORED_MS = 60_000
const LINKS = [
  'https://news.example/a?b=%20c&utm_source=x#part',
  'http://News.example:80/x/y',
  'https://bücher.example/straße?q=ä',
  'https://news.example/a//b?',
]

const communityOf = (random: Random, { unruly, settled, knobs }: LemmyPlan): Community => {
  const drawn = random() * (settled ? 0.82 : 1)
  if (!unruly || drawn < 0.5) return pick(random, LOCAL)
  const at = (index: number) => pick(random, COMMUNITIES.slice(index, index + 1))
  if (knobs !== undefined) {
    if (drawn < 0.9) return pick(random, COMMUNITIES.slice(2, 4))
    return drawn < 0.93 ? at(4) : drawn < 0.95 ? at(8) : drawn < 0.97 ? at(5) : at(6)
  }
  if (drawn < 0.82) return pick(random, COMMUNITIES.slice(2, 4))
  if (drawn < 0.9) return at(4)
  return drawn < 0.94 ? at(5) : at(6)
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

/** A post that waits, or that is committed twice. */
const stepsOfLife = (
  random: Random,
  { knobs }: LemmyPlan,
  arrivedMs: number,
  isPost: boolean,
  life: Life,
): Life => {
  const [first] = life.states
  if (first === undefined || first.mark !== 'shown' || arrivedMs < -20_000) return life
  if (random() < (knobs?.waitingShare ?? 0) && (isPost || knobs?.waitingReplies === true)) {
    const dueMs = arrivedMs + between(random, 15_000, 70_000)
    const waiting: LemmyState = { ...first, mark: 'waiting', dueMs: isPost ? dueMs : null }
    return { note: 'waiting', states: [waiting, { ...first, fromMs: dueMs }] }
  }
  if (knobs?.twoSteps !== true || !isPost) return life
  const wholeMs = arrivedMs + between(random, 600, 6000)
  const rest = life.states.slice(1).map((state) => ({
    ...state,
    fromMs: Math.max(state.fromMs, wholeMs + 300),
  }))
  return {
    note: life.note,
    states: [{ ...first, mark: 'half', text: '' }, { ...first, fromMs: wholeMs }, ...rest],
  }
}

/** Delay of what another instance sends, and the time that its author wrote it. */
const lateOf = (random: Random, usualShare: number): number =>
  random() < usualShare ? between(random, 200, 3000) : between(random, 20_000, 150_000)

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
  // On a real server one item in ten meets more than readers.
  const isUsual = plan.knobs !== undefined && random() < 0.76
  const calm = !plan.unruly || arrivedMs < -20_000 || community.sort === 'private' || isUsual
  const isPost = post === null
  const whole = lifeOf(random, arrivedMs, text, calm)
  const life = stepsOfLife(random, plan, arrivedMs, isPost, whole)
  const hidden = community.sort === 'private' && plan.knobs?.members !== true
  const isAhead = host !== null && arrivedMs > 0 && random() < (plan.knobs?.aheadShare ?? 0)
  const aheadMs = random() < 0.5 ? 1_200_000 : 3 * 86_400_000
  const publishedMs =
    host === null
      ? arrivedMs
      : isAhead
        ? arrivedMs + aheadMs
        : arrivedMs - lateOf(random, plan.knobs === undefined ? 0.5 : 0.9)
  const isLink = isPost && plan.knobs !== undefined && random() < 0.4
  const notes = [
    arrivedMs - publishedMs > 5000 ? 'federated late' : '',
    publishedMs > arrivedMs ? 'dated ahead' : '',
    community.sort === 'public' ? '' : community.sort,
    life.note,
  ]
  return {
    kind: post === null ? 'post' : 'comment',
    id,
    community,
    author: pick(random, AUTHORS),
    host,
    title: isPost ? sentence(random) : '',
    link: isLink ? pick(random, LINKS) : null,
    nsfw: isPost ? plan.knobs !== undefined && random() < 0.06 : (post?.nsfw ?? false),
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

/** Ids that go up, with voids, and go back once where a database is restored. */
const idsFrom = (plan: LemmyPlan, random: Random, first: number) => {
  const { voidShare = 0, restoreAtMs = Infinity } = plan.knobs ?? {}
  const given: [atMs: number, id: number][] = []
  let id = first
  let isBack = false
  return (atMs: number): number => {
    if (!isBack && atMs >= restoreAtMs) {
      isBack = true
      id = given.findLast(([givenMs]) => givenMs < restoreAtMs - RESTORED_MS)?.[1] ?? first
    }
    // An insert that was rolled back has taken its id all the same.
    const isVoid = plan.unruly && !plan.settled && random() < 0.06
    // A run of voids takes as many ids as one and a half items on the average.
    const run = random() < voidShare / (1.5 * (1 - voidShare)) ? between(random, 1, 3) : 0
    const burst = voidShare > 0 && random() < 0.01 ? 11 : 0
    id += 1 + (isVoid ? 1 : 0) + run + burst
    given.push([atMs, id])
    return id
  }
}

/** Items of an author who is banned with all of them, and let in again. */
const spam = (item: LemmyItem, name: string, bannedMs: number): LemmyItem => {
  const [shown] = item.states
  if (shown === undefined) return item
  const { fromMs } = shown
  const live: LemmyState = { ...shown, mark: 'shown' }
  const states: LemmyState[] = [
    live,
    { ...live, fromMs: Math.max(fromMs, bannedMs), mark: 'removed' },
    { ...live, fromMs: bannedMs + 30_000 },
  ]
  return { ...item, author: name, host: null, publishedMs: fromMs, note: 'banned with it', states }
}

/** What was written in the minute before a restored database is gone, and its ids are given again. */
const rollBack = (items: readonly LemmyItem[], restoreAtMs: number): LemmyItem[] =>
  items.map((item) => {
    const [first] = item.states
    const atMs = first?.fromMs ?? 0
    if (first === undefined || atMs >= restoreAtMs || atMs < restoreAtMs - RESTORED_MS) {
      const isOwn = atMs >= restoreAtMs
      const before = items.find((one) => one !== item && one.id === item.id)
      return isOwn && before !== undefined ? { ...item, era: [atMs, Infinity] } : item
    }
    const after = items.find((one) => one !== item && one.id === item.id)
    const states = item.states.filter(({ fromMs }) => fromMs < restoreAtMs)
    return {
      ...item,
      note: [item.note, 'lost by a restore'].filter((one) => one !== '').join(', '),
      era: [-Infinity, after?.states[0]?.fromMs ?? Infinity],
      states: [...states, { ...first, fromMs: restoreAtMs, mark: 'purged' }],
    }
  })

const isUnseen = (post: LemmyItem, atMs: number): boolean => {
  const mark = markAt(post, atMs)?.mark
  return mark === 'absent' || mark === 'waiting'
}

/** All posts and comments, each in the order of their arrival. */
export const planLemmy = (plan: LemmyPlan): { posts: LemmyItem[]; comments: LemmyItem[] } => {
  const random = makeRandom(plan.seed)
  const { bans = 0, restoreAtMs, treeRows = 0 } = plan.knobs ?? {}
  const banAtMs = Array.from({ length: bans }, (_, index) =>
    Math.floor(plan.contentMs * (0.2 + (0.6 * (index + 0.5)) / Math.max(1, bans))),
  )
  const bursts = banAtMs.flatMap((banMs, index) =>
    Array.from({ length: 20 }, (_, row) => ({ atMs: banMs - 4000 + row * 190, index, banMs })),
  )
  const timesOf = (meanMs: number) =>
    [
      ...stepsOf(random, meanMs, plan.contentMs).map((atMs) => ({ atMs, index: -1, banMs: 0 })),
      ...bursts,
    ].toSorted((a, b) => a.atMs - b.atMs)
  const nextPost = idsFrom(plan, random, FIRST_POST)
  const posts = timesOf(plan.postGapMs).map(({ atMs, index, banMs }) => {
    const item = makeItem(plan, random, atMs, nextPost(atMs), null, null)
    return index < 0
      ? item
      : spam(
          { ...item, community: LOCAL[0] ?? item.community, nsfw: false },
          `spam_${index}`,
          banMs,
        )
  })
  const comments: LemmyItem[] = []
  const nextComment = idsFrom(plan, random, FIRST_COMMENT)
  const isCalm = ({ community, states, nsfw }: LemmyItem): boolean =>
    community.sort === 'public' && !nsfw && states.length === 1 && states[0]?.mark === 'shown'
  const root = posts.find((post) => isCalm(post)) ?? null
  const rows = root === null ? 0 : treeRows
  for (let row = 0; row < rows; row += 1) {
    const above = row < 10 ? null : pick(random, comments)
    const atMs = -HISTORY_MS - (rows - row) * 1000
    comments.push(makeItem(plan, random, atMs, nextComment(atMs), root, above))
  }
  for (const { atMs, index, banMs } of timesOf(plan.commentGapMs)) {
    const there = posts.filter((post) => {
      const [first] = post.states
      // Nobody answers a post that is not committed, or not public yet.
      return first !== undefined && first.fromMs <= atMs && !isUnseen(post, atMs)
    })
    const calm = there.filter((post) => post.author.startsWith('wren') && !post.nsfw)
    const post =
      there.length === 0
        ? posts[0]
        : pick(random, index < 0 ? there.slice(random() < 0.4 ? -2 : -15) : calm.slice(-15))
    if (post === undefined) continue
    const same = comments.filter((one) => one.post === post)
    const above = same.length > 0 && random() < 0.4 ? pick(random, same) : null
    const item = makeItem(plan, random, atMs, nextComment(atMs), post, above)
    comments.push(index < 0 ? item : spam(item, `spam_${index}`, banMs))
  }
  if (restoreAtMs === undefined) return { posts, comments }
  return { posts: rollBack(posts, restoreAtMs), comments: rollBack(comments, restoreAtMs) }
}

/** The bans of a plan: who, and when. */
export const bansOf = (plan: LemmyPlan): { name: string; fromMs: number }[] =>
  Array.from({ length: plan.knobs?.bans ?? 0 }, (_, index) => ({
    name: `spam_${index}`,
    fromMs: Math.floor(
      plan.contentMs * (0.2 + (0.6 * (index + 0.5)) / Math.max(1, plan.knobs?.bans ?? 0)),
    ),
  }))

export const markAt = (item: LemmyItem, atMs: number): LemmyState | null =>
  item.states.findLast((state) => state.fromMs <= atMs) ?? null

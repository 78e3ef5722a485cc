/**
 * Everything that is written on a simulated Discourse forum, planned from a seed: topics, posts, and
 * what later happens to each. Written from the protocol and the recordings.
 */
import { makeRandom, pick } from '../plan.ts'
import type { Random } from '../plan.ts'
import type { ItemState, Match, SourceMonitor, TruthItem } from './source-world.ts'

export const SOURCE = 'forum'

export type Category = {
  readonly id: number
  readonly slug: string
  readonly parent: number | null
  readonly isPrivate: boolean
}

export const CATEGORIES: readonly Category[] = [
  { id: 1, slug: 'general', parent: null, isPrivate: false },
  { id: 4, slug: 'support', parent: null, isPrivate: false },
  { id: 7, slug: 'bugs', parent: 4, isPrivate: false },
  { id: 8, slug: 'dev', parent: null, isPrivate: false },
  { id: 9, slug: 'lounge', parent: null, isPrivate: true },
]
const PUBLIC = [1, 4, 7, 8]
const LOUNGE = 9
export const TAGS: readonly string[] = ['urgent', 'howto', 'release']
const AUTHORS = ['mia', 'noel', 'olga', 'pat', 'quin', 'rosa', 'sven', 'tess']

export type TopicState = {
  readonly fromMs: number
  readonly categoryId: number
  readonly tags: readonly string[]
  readonly listed: boolean
}

export type Topic = {
  readonly id: number
  readonly title: string
  readonly slug: string
  readonly createdMs: number
  readonly states: TopicState[]
  readonly posts: Post[]
}

/** `gone`: in no answer; `hidden`: by flags; `notice`: deleted by its author, shown as a notice. */
type Showing = 'shown' | 'gone' | 'hidden' | 'notice'

export type PostState = {
  readonly fromMs: number
  readonly showing: Showing
  readonly text: string
  readonly version: number
}

export type Post = {
  /** Given in the order of creation once all posts are planned. */
  id: number
  readonly topic: Topic
  number: number
  readonly author: string
  readonly createdMs: number
  /** When its row was written, which gives its id; `createdMs` where that is absent. */
  readonly writtenMs?: number
  /** By how much its site dates it ahead. */
  readonly aheadMs?: number
  /** Deliveries in this span are of this post: a restored database gives its id again. */
  era?: readonly [number, number]
  /** 2: in the colours of the staff, and in no list of posts. */
  readonly postType: 1 | 2 | 3
  readonly replyTo: number | null
  readonly states: PostState[]
  note: string
}

export type Forum = { readonly topics: ReadonlyMap<number, Topic>; readonly posts: readonly Post[] }

/** The misbehaviour of what is written; shares are of new posts or topics. */
export type Content = {
  readonly postsPerS: number
  readonly topicShare: number
  /** The greatest number of ids that something invisible uses before a post, and how often. */
  readonly gapShare?: number
  readonly gapMax?: number
  readonly hideShare?: number
  readonly pendingShare?: number
  readonly lateCommitShare?: number
  readonly editShare?: number
  readonly moveShare?: number
  readonly unlistShare?: number
  readonly silences?: number
  /** Topics that were written weeks ago and are published by a timer, with the time of that, and their old ids. */
  readonly timers?: number
  /** Share of the posts that are dated minutes ahead, as the API of an import allows. */
  readonly aheadShare?: number
  /** Share of the replies in the colours of the staff. */
  readonly staffShare?: number
  /** The instant at which the database of a minute before is put back. */
  readonly restoreAtMs?: number
  /** Instants at which some hundred posts are written within a second. */
  readonly burstAtMs?: readonly number[]
}

const FILLERS = ['water', 'beans', 'morning', 'little', 'question', 'again', 'cup', 'late', 'paper']
const NEAR = ['grinders', 'kettlebell', 'regrinder', 'ticket-12']

const makeText = (random: Random): string => {
  const words = Array.from({ length: 5 }, () => pick(random, FILLERS))
  const draw = random()
  if (draw < 0.16) words.splice(2, 0, 'grinder')
  else if (draw < 0.24) words.splice(3, 0, 'kettle')
  else if (draw < 0.36) words.splice(1, 0, 'roaster')
  else if (draw < 0.44) words.push(`ticket-${1000 + Math.floor(random() * 9000)}`)
  else if (draw < 0.56) words.push(pick(random, NEAR))
  if (random() < 0.1) words.push('sample')
  return words.join(' ')
}

const between = (random: Random, from: number, until: number) => from + random() * (until - from)

/** Plans the later states of a post. */
const fateOf = (random: Random, content: Content, post: Post, untilMs: number): void => {
  const { createdMs, states } = post
  const text = states[0]?.text ?? ''
  const add = (fromMs: number, showing: Showing, said = text, version = 1) => {
    states.push({ fromMs, showing, text: said, version })
  }
  const within = (fromMs: number) => Math.min(fromMs, untilMs)
  if (random() < (content.lateCommitShare ?? 0)) {
    states.length = 0
    add(createdMs, 'gone')
    add(createdMs + between(random, 300, 6000), 'shown')
    post.note = 'late commit'
  } else if (random() < (content.pendingShare ?? 0)) {
    states.length = 0
    add(createdMs, 'gone')
    add(within(createdMs + between(random, 12_000, 60_000)), 'shown')
    post.note = 'approved later, with its old id and time'
  } else if (random() < (content.hideShare ?? 0)) {
    const atOnce = random() < 0.5
    const how = random() < 0.2 ? 'notice' : random() < 0.5 ? 'hidden' : 'gone'
    const hideMs = atOnce ? createdMs : createdMs + between(random, 200, 5000)
    if (atOnce) states.length = 0
    add(hideMs, how)
    add(within(hideMs + between(random, 10_000, 45_000)), 'shown')
    post.note = `${how} ${atOnce ? 'at once' : `after ${Math.round(hideMs - createdMs)} ms`}, shown again`
  } else if (random() < (content.editShare ?? 0)) {
    const isLate = random() < 0.5
    const editMs = within(createdMs + between(random, 3000, 40_000))
    const said = `${text} grinder ticket-4711`
    add(editMs, 'shown', said, isLate ? 2 : 1)
    post.note = `edited ${Math.round(editMs - createdMs)} ms later, ${isLate ? 'new version' : 'in the grace period (version stays 1, updated_at moves)'}`
  }
}

const moveOf = (random: Random, content: Content, topic: Topic, untilMs: number): string => {
  const first = topic.states[0]
  if (first === undefined) return ''
  const atMs = Math.min(untilMs, topic.createdMs + between(random, 4000, 30_000))
  const put = (change: Partial<TopicState>, fromMs = atMs) => {
    topic.states.push({ ...first, ...change, fromMs })
  }
  if (random() < (content.unlistShare ?? 0)) {
    topic.states[0] = { ...first, listed: false }
    put({ listed: true })
    return 'topic unlisted at first, listed later'
  }
  if (random() >= (content.moveShare ?? 0)) return ''
  const draw = random()
  if (draw < 0.25) put({ categoryId: first.categoryId === 4 ? 1 : 4 })
  else if (draw < 0.4) put({ categoryId: first.categoryId === 7 ? 8 : 7 })
  else if (draw < 0.6) put({ tags: [...first.tags.filter((tag) => tag !== 'urgent'), 'urgent'] })
  else if (draw < 0.75) {
    topic.states[0] = { ...first, tags: ['urgent'] }
    put({ tags: [] })
  } else if (draw < 0.9) {
    topic.states[0] = { ...first, categoryId: LOUNGE }
    put({ categoryId: 4 })
  } else put({ categoryId: LOUNGE })
  const last = topic.states.at(-1)
  return `topic moved ${slugOf(topic.states[0]?.categoryId ?? 0)} [${topic.states[0]?.tags.join() ?? ''}] -> ${slugOf(last?.categoryId ?? 0)} [${last?.tags.join() ?? ''}] at ${(atMs / 1000).toFixed(1)} s`
}

const slugOf = (id: number): string => {
  const category = CATEGORIES.find((one) => one.id === id)
  if (category === undefined) return ''
  return category.parent === null ? category.slug : `${slugOf(category.parent)}/${category.slug}`
}

/** The forum of a seed, from a day before its start to `untilMs`. */
export const planForum = (content: Content, seed: number, untilMs: number): Forum => {
  const random = makeRandom(seed)
  const topics: Topic[] = []
  const posts: Post[] = []
  const notes = new Map<Topic, string>()
  const written: Topic[] = []
  const write = (
    topic: Topic,
    author: string,
    createdMs: number,
    note = '',
    writtenMs?: number,
  ): Post => {
    const replyTo = random() < 0.3 ? 1 : null
    const post: Post = {
      id: 0,
      topic,
      number: 0,
      author,
      createdMs,
      ...(writtenMs === undefined ? {} : { writtenMs }),
      ...(createdMs > 0 && random() < (content.aheadShare ?? 0) ? { aheadMs: 900_000 } : {}),
      postType:
        topic.posts.length + written.filter((one) => one === topic).length > 0 &&
        createdMs > 0 &&
        random() < (content.staffShare ?? 0)
          ? 2
          : 1,
      replyTo,
      note,
      states: [{ fromMs: createdMs, showing: 'shown', text: makeText(random), version: 1 }],
    }
    posts.push(post)
    written.push(topic)
    if (note === '')
      fateOf(random, createdMs < 0 ? { postsPerS: 0, topicShare: 0 } : content, post, untilMs)
    return post
  }
  const open = (author: string, createdMs: number, note = '', writtenMs?: number): Topic => {
    const id = 300 + topics.length * 3
    const isPrivate = random() < (content.gapShare ?? 0) / 4
    const categoryId = isPrivate ? LOUNGE : pick(random, PUBLIC)
    const tags = random() < 0.5 ? [pick(random, TAGS)] : []
    const word = random() < 0.1 ? ' kettle' : ''
    const topic: Topic = {
      id,
      createdMs,
      posts: [],
      slug: `topic-number-${id}`,
      title: `Topic ${pick(random, FILLERS)} ${pick(random, FILLERS)}${word}`,
      states: [{ fromMs: createdMs, categoryId, tags, listed: true }],
    }
    topics.push(topic)
    if (createdMs > 0 && writtenMs === undefined)
      notes.set(topic, moveOf(random, content, topic, untilMs))
    write(topic, author, createdMs, note, writtenMs)
    return topic
  }
  const timers = content.timers ?? 0
  for (let index = 0; index < timers; index += 1) {
    const publishedMs = untilMs * (0.1 + (0.85 * index) / timers)
    open(pick(random, AUTHORS), publishedMs, 'published by a timer', -20 * 86_400_000 + index)
  }
  for (let index = 0; index < 40; index += 1)
    open(pick(random, AUTHORS), between(random, -86_400_000, -600_000))
  for (let index = 0; index < 110; index += 1) {
    const topic = pick(random, topics)
    write(topic, pick(random, AUTHORS), between(random, topic.createdMs, -5000))
  }
  const speak = (atMs: number, author = pick(random, AUTHORS), note = '') => {
    if (random() < content.topicShare) open(author, atMs, note)
    else write(pick(random, random() < 0.6 ? topics.slice(-12) : topics), author, atMs, note)
  }
  let atMs = 0
  for (;;) {
    atMs += -Math.log(1 - random()) * (1000 / content.postsPerS)
    if (atMs >= untilMs) break
    speak(atMs)
  }
  for (const burstMs of content.burstAtMs ?? []) {
    const count = 90 + Math.floor(random() * 120)
    for (let row = 0; row < count; row += 1) speak(burstMs + random() * 900, undefined, '')
  }
  for (let index = 0; index < (content.silences ?? 0); index += 1) silence(index)
  return numbered(random, content, topics, posts, notes)

  /** A burst of posts by one user, all of which staff removes some seconds later. */
  function silence(index: number) {
    const beginMs = between(random, untilMs * 0.15, untilMs * 0.9)
    const endMs = beginMs + between(random, 6000, 40_000)
    const author = `spammer${index}`
    const count = 20 + Math.floor(random() * 50)
    for (let row = 0; row < count; row += 1) {
      const before = posts.length
      speak(
        between(random, beginMs, beginMs + 4000),
        author,
        `removed by staff at ${(endMs / 1000).toFixed(1)} s`,
      )
      const post = posts[before]
      const text = post?.states[0]?.text ?? ''
      post?.states.push({ fromMs: endMs, showing: 'gone', text, version: 1 })
    }
  }
}

const RESTORED_MS = 60_000

/** Takes away what was written in the minute before a restored database. */
const loseAt = (post: Post, atMs: number): void => {
  const text = post.states[0]?.text ?? ''
  const kept = post.states.filter(({ fromMs }) => fromMs < atMs)
  post.states.splice(0, post.states.length, ...kept, {
    fromMs: atMs,
    showing: 'gone',
    text,
    version: 1,
  })
  post.note = [post.note, 'lost by a restore'].filter((one) => one !== '').join('; ')
}

const numbered = (
  random: Random,
  content: Content,
  topics: readonly Topic[],
  posts: Post[],
  notes: ReadonlyMap<Topic, string>,
): Forum => {
  // A move leaves a small action in its topic, which takes an id and a number.
  for (const topic of topics) {
    for (const { fromMs } of topic.states.slice(1)) {
      posts.push({
        id: 0,
        topic,
        number: 0,
        author: 'system',
        createdMs: fromMs,
        postType: 3,
        replyTo: null,
        note: '',
        states: [{ fromMs, showing: 'shown', text: '', version: 1 }],
      })
    }
  }
  const writtenOf = (post: Post): number => post.writtenMs ?? post.createdMs
  posts.sort((a, b) => writtenOf(a) - writtenOf(b))
  let id = 20_000
  let isBack = false
  const { restoreAtMs = Infinity } = content
  const kept: Post[] = []
  const lostTopics = new Set<Topic>()
  for (const post of posts) {
    if (post.createdMs < post.topic.createdMs) continue
    // A topic that a restore lost has no replies any more.
    if (isBack && lostTopics.has(post.topic)) continue
    if (!isBack && writtenOf(post) >= restoreAtMs) {
      isBack = true
      const sinceMs = restoreAtMs - RESTORED_MS
      id = kept.findLast((one) => writtenOf(one) < sinceMs)?.id ?? id
      for (const lost of kept.filter((one) => writtenOf(one) >= sinceMs)) {
        loseAt(lost, restoreAtMs)
        if (lost.number === 1) lostTopics.add(lost.topic)
      }
    }
    const inGap = post.createdMs > 0 && random() < (content.gapShare ?? 0)
    id += 1 + (inGap ? Math.ceil(random() * (content.gapMax ?? 3)) : 0)
    post.id = id
    post.topic.posts.push(post)
    post.number = post.topic.posts.length
    const note = notes.get(post.topic) ?? ''
    if (note !== '') post.note = [post.note, note].filter((one) => one !== '').join('; ')
    kept.push(post)
    const before = isBack ? kept.find((one) => one !== post && one.id === post.id) : undefined
    if (before !== undefined) {
      before.era = [-Infinity, post.createdMs]
      post.era = [post.createdMs, Infinity]
    }
  }
  return { topics: new Map(topics.map((topic) => [topic.id, topic])), posts: kept }
}

const last = <T extends { readonly fromMs: number }>(
  states: readonly T[],
  atMs: number,
): T | undefined => states.findLast((state) => state.fromMs <= atMs)

export const topicAt = (topic: Topic, atMs: number): TopicState | undefined =>
  last(topic.states, atMs)
export const postAt = (post: Post, atMs: number): PostState | undefined => last(post.states, atMs)

export const isPublic = (topic: Topic, atMs: number): boolean => {
  const state = topicAt(topic, atMs)
  return state !== undefined && state.categoryId !== LOUNGE
}

/** Tests whether the site-wide listing shows a post, notices of authors' deletions included. */
export const isListed = (post: Post, atMs: number): boolean => {
  const showing = postAt(post, atMs)?.showing
  const topic = topicAt(post.topic, atMs)
  const starter = post.topic.posts[0]
  // Without its first post a topic is deleted, or waits for approval.
  const hasTopic = starter === undefined || postAt(starter, atMs)?.showing !== 'gone'
  if (topic?.listed !== true || !hasTopic || !isPublic(post.topic, atMs)) return false
  return showing === 'shown' || showing === 'notice'
}

const stateOf = (post: Post, fromMs: number): ItemState => {
  const topic = topicAt(post.topic, fromMs)
  const state = postAt(post, fromMs)
  const tags = (topic?.tags ?? []).map((tag) => `tag:${tag}`)
  return {
    fromMs,
    visible: state?.showing === 'shown' && isListed(post, fromMs),
    places: [slugOf(topic?.categoryId ?? 0), ...tags],
    author: post.author,
    title: post.topic.title,
    text: state?.text ?? '',
  }
}

const STAFF_NOTE = 'in the colours of the staff'

/** A post that no list of posts has: it is found by a reading of its topic only. */
const isStaff = (item: TruthItem): boolean => item.note.startsWith(STAFF_NOTE)

export const itemsOf = (forum: Forum): TruthItem[] =>
  forum.posts
    .filter((post) => post.postType !== 3)
    .map((post) => {
      const times = [...post.states, ...post.topic.states, ...(post.topic.posts[0]?.states ?? [])]
        .map(({ fromMs }) => Math.max(fromMs, post.createdMs))
        .toSorted((a, b) => a - b)
      return {
        source: SOURCE,
        name: post.number === 1 ? `t3_${post.topic.id}` : `t1_${post.id}`,
        kind: post.number === 1 ? 'post' : 'comment',
        gapId: post.id,
        createdMs: post.createdMs + (post.aheadMs ?? 0),
        ...(post.era === undefined ? {} : { era: post.era }),
        states: [...new Set(times)].map((fromMs) => stateOf(post, fromMs)),
        note: post.postType === 2 ? `${STAFF_NOTE} ${post.note}` : post.note,
      }
    })

/** A comment matches by its own text, without the title of its topic. */
const ownText = ({ kind }: TruthItem, { title, text }: ItemState): string =>
  kind === 'post' ? `${title} ${text}` : text

const wordsOf = (item: TruthItem, state: ItemState): Set<string> =>
  new Set(
    ownText(item, state)
      .toLowerCase()
      .split(/[^a-z0-9]+/),
  )

const when = (holds: boolean): Match => (holds ? 'yes' : 'no')

/** The monitors of every forum world, by what the documentation says of their filters. */
const PLAIN: readonly SourceMonitor[] = [
  {
    label: 'keywords',
    spec: { source: SOURCE, kind: 'both', include_any: ['grinder', 'kettle'] },
    addAtMs: 0,
    matches: (item, state) =>
      when(['grinder', 'kettle'].some((word) => wordsOf(item, state).has(word))),
  },
  {
    label: 'topics',
    spec: { source: SOURCE },
    addAtMs: 0,
    matches: (item) => when(item.kind === 'post'),
  },
  {
    label: 'category',
    spec: { source: SOURCE, subforum: 'support', kind: 'both' },
    addAtMs: 0,
    matches: (_item, state) => when(state.places.includes('support')),
  },
  {
    label: 'category in another case',
    spec: { source: SOURCE, subforum: 'Support', kind: 'both' },
    addAtMs: 0,
    matches: (_item, state) => when(state.places.includes('support')),
  },
  {
    label: 'sub-category',
    spec: { source: SOURCE, subforum: 'support/bugs', kind: 'both' },
    addAtMs: 0,
    matches: (_item, state) => when(state.places.includes('support/bugs')),
  },
  {
    label: 'tag',
    spec: { source: SOURCE, subforum: 'tag:urgent', kind: 'both' },
    addAtMs: 0,
    matches: (_item, state) => when(state.places.includes('tag:urgent')),
  },
  {
    label: 'author',
    spec: { source: SOURCE, author: 'mia', kind: 'both' },
    addAtMs: 0,
    matches: (_item, state) => when(state.author === 'mia'),
  },
  {
    label: 'regex',
    spec: { source: SOURCE, kind: 'both', regex: ['ticket-\\d{4}'] },
    addAtMs: 0,
    matches: (item, state) => when(/ticket-\d{4}/.test(ownText(item, state))),
  },
  {
    label: 'comments later',
    spec: {
      source: SOURCE,
      subforum: ['dev', 'general'],
      kind: 'comment',
      include_any: ['roaster'],
      exclude_terms: ['sample'],
    },
    addAtMs: 20_000,
    matches: (item, state) => {
      const words = wordsOf(item, state)
      const there = state.places.includes('dev') || state.places.includes('general')
      return when(item.kind === 'comment' && there && words.has('roaster') && !words.has('sample'))
    },
  },
]

export const MONITORS: readonly SourceMonitor[] = PLAIN.map((one) => ({
  ...one,
  matches: (item, state) => {
    const match = one.matches(item, state)
    return match === 'yes' && isStaff(item) ? 'either' : match
  },
}))

import { escapeHtml, json, type SandboxResponse } from '../server/response.ts'
import { wholeOf } from '../sources/source.ts'
import { isoOf, matchesWords } from '../sources/text.ts'
import type { NewsCall } from './firebase.ts'
import { isItemAnswered, liveComments, type NewsItem } from './model.ts'

const answer = (value: unknown, status = 200) => json(JSON.stringify(value), status)

/** The index follows the site by some seconds. */
const LAG_MS = 20_000
const MOST_HITS = 1_000
const HITS_PER_PAGE = 20

/** Items that the index holds: neither dead nor deleted, and old enough to have been fetched. */
const indexed = ({ world, now, as_of }: NewsCall): NewsItem[] =>
  [...world.items.values()].filter(
    (item) =>
      !item.dead &&
      !item.deleted &&
      item.delayed_until <= now &&
      isItemAnswered(item, now - LAG_MS, as_of),
  )

function tagsOf(item: NewsItem): string[] {
  const kinds: string[] = [
    ...(item.title?.startsWith('Ask HN:') ? ['ask_hn'] : []),
    ...(item.title?.startsWith('Show HN:') ? ['show_hn'] : []),
    ...(item.type === 'story' && item.score > 20 ? ['front_page'] : []),
  ]
  return [item.type, `author_${item.by.id}`, `story_${(item.root ?? item).id}`, ...kinds]
}

/** `a,(b,c)` as a condition: a and (b or c). */
function tagCondition(text: string): (tags: readonly string[]) => boolean {
  const groups = [...text.matchAll(/\(([^)]*)\)|([^,()]+)/g)].map(([, any, one]) =>
    (any ?? one ?? '').split(',').map((tag) => tag.trim()),
  )
  return (tags) => groups.every((group) => group.some((tag) => tag === '' || tags.includes(tag)))
}

const FIELDS: Record<string, (item: NewsItem, now: number) => number> = {
  created_at_i: ({ time }) => Math.floor(time / 1000),
  points: ({ score }) => score,
  num_comments: liveComments,
}

const COMPARE: Record<string, (one: number, other: number) => boolean> = {
  '<': (one, other) => one < other,
  '<=': (one, other) => one <= other,
  '=': (one, other) => one === other,
  '>=': (one, other) => one >= other,
  '>': (one, other) => one > other,
}

type Condition = (item: NewsItem) => boolean

/** Conditions on numbers; null: one of them is malformed. */
function numericConditions({ query, now }: NewsCall): Condition[] | null {
  const texts = (query.get('numericFilters') ?? '').split(',').filter((text) => text !== '')
  const conditions = texts.map((text): Condition | null => {
    const [, name = '', sign = '', value = ''] =
      /^\s*(\w+)\s*(<=|>=|<|>|=)\s*(\d+)\s*$/.exec(text) ?? []
    const [field, compare] = [FIELDS[name], COMPARE[sign]]
    if (field === undefined || compare === undefined) return null
    return (item) => compare(field(item, now), Number(value))
  })
  const valid = conditions.filter((each) => each !== null)
  return valid.length === conditions.length ? valid : null
}

const plain = (html: string) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&#x27;', "'")
    .replaceAll('&quot;', '"')

/** Searched text of an item; `restrictSearchableAttributes=url` limits it. */
const searched = ({ query }: NewsCall, item: NewsItem) =>
  query.get('restrictSearchableAttributes') === 'url'
    ? (item.url ?? '')
    : `${item.title ?? ''} ${item.url ?? ''} ${item.by.id} ${plain(item.text ?? '')}`

/** Conditions of the words: `"phrase"`, `-word`, word. */
function wordCondition(call: NewsCall, words: string): Condition {
  const tokens = [...words.matchAll(/(-?)"([^"]+)"|(-?)(\S+)/g)].map(
    ([, phrase_minus, phrase, word_minus, word]) => ({
      excluded: (phrase_minus ?? word_minus) === '-',
      phrase: phrase?.toLowerCase(),
      word: word ?? '',
    }),
  )
  return (item) => {
    const text = searched(call, item)
    return tokens.every(({ excluded, phrase, word }) => {
      const found =
        phrase === undefined ? matchesWords(text, [word]) : text.toLowerCase().includes(phrase)
      return found !== excluded
    })
  }
}

const highlight = (value: string, words: string) => {
  const matched = words
    .split(/\s+/)
    .filter((word) => word !== '' && matchesWords(plain(value), [word]))
  return {
    value: escapeHtml(plain(value)),
    matchLevel: matched.length === 0 ? 'none' : 'full',
    matchedWords: matched.map((word) => word.toLowerCase()),
    ...(matched.length > 0 && { fullyHighlighted: false }),
  }
}

function hitFields(item: NewsItem, words: string, now: number) {
  const is_comment = item.type === 'comment'
  const story = item.root ?? item
  const highlights = {
    author: item.by.id,
    title: item.title,
    url: item.url,
    ...(is_comment
      ? { comment_text: item.text, story_title: story.title, story_url: story.url }
      : { story_text: item.text }),
  }
  return {
    _highlightResult: Object.fromEntries(
      Object.entries(highlights).flatMap(([name, value]) =>
        value === null ? [] : [[name, highlight(value, words)]],
      ),
    ),
    _tags: tagsOf(item),
    author: item.by.id,
    ...(item.kids.length > 0 && { children: item.kids.map(({ id }) => id) }),
    created_at: isoOf(item.time).replace(/\.\d+Z$/, '.000Z'),
    created_at_i: Math.floor(item.time / 1000),
    objectID: String(item.id),
    story_id: story.id,
    updated_at: isoOf(item.changed_at).replace(/\.\d+Z$/, '.000Z'),
    ...(is_comment
      ? {
          comment_text: item.text ?? '',
          parent_id: item.parent?.id ?? null,
          story_title: story.title,
          ...(story.url !== null && { story_url: story.url }),
        }
      : {
          num_comments: liveComments(item, now),
          points: item.score,
          title: item.title,
          ...(item.url !== null && { url: item.url }),
          ...(item.text !== null && { story_text: item.text }),
        }),
  }
}

/** `GET /api/v1/search` and `/search_by_date` */
export const searchItems =
  (by_date: boolean) =>
  (call: NewsCall): SandboxResponse => {
    const { query, now } = call
    const words = query.get('query') ?? ''
    const numeric = numericConditions(call)
    if (numeric === null) return answer({ message: 'invalid numericFilters', status: 400 }, 400)
    const page = Math.max(0, wholeOf(call, 'page') ?? 0)
    const per_page = Math.min(MOST_HITS, Math.max(0, wholeOf(call, 'hitsPerPage') ?? HITS_PER_PAGE))
    const hasTags = tagCondition(query.get('tags') ?? '')
    const hasWords = wordCondition(call, words)
    const found = indexed(call)
      .filter(
        (item) => hasTags(tagsOf(item)) && numeric.every((fits) => fits(item)) && hasWords(item),
      )
      .toSorted((one, other) =>
        by_date
          ? other.time - one.time || other.id - one.id
          : other.score - one.score || other.id - one.id,
      )
    const common = {
      page,
      hitsPerPage: per_page,
      processingTimeMS: 3,
      query: words,
      params: query.toString(),
    }
    // Refused in the body: an empty page that is not the end.
    if ((page + 1) * per_page > MOST_HITS || call.fault?.fault === 'search_limit')
      return answer({
        hits: [],
        nbHits: 0,
        nbPages: 0,
        exhaustiveNbHits: true,
        ...common,
        message: `you can only fetch the ${MOST_HITS} hits for this query, contact us to increase the limit`,
      })
    const rows = found.slice(page * per_page, (page + 1) * per_page)
    return answer({
      hits: rows.map((item) => hitFields(item, words, now)),
      nbHits: found.length,
      nbPages: per_page === 0 ? 0 : Math.ceil(Math.min(found.length, MOST_HITS) / per_page),
      exhaustiveNbHits: true,
      ...common,
    })
  }

const treeOf = (call: NewsCall, item: NewsItem): object => ({
  id: item.id,
  created_at: isoOf(item.time).replace(/\.\d+Z$/, '.000Z'),
  created_at_i: Math.floor(item.time / 1000),
  type: item.type,
  author: item.by.id,
  title: item.title,
  url: item.url,
  text: item.dead ? null : item.text,
  points: item.type === 'comment' ? null : item.score,
  parent_id: item.parent?.id ?? null,
  story_id: (item.root ?? item).id,
  // Deleted comments without answers are left out.
  children: item.kids
    .filter(
      (kid) =>
        isItemAnswered(kid, call.now - LAG_MS, call.as_of) && (!kid.deleted || kid.kids.length > 0),
    )
    .toReversed()
    .map((kid) => treeOf(call, kid)),
  options: item.parts.map(({ id, text, score }) => ({ id, text, points: score })),
})

const notFound = () => answer({ status: 404, error: 'Not Found' }, 404)

/** `GET /api/v1/items/{id}`: the whole tree. */
export function itemTree(call: NewsCall, id: string): SandboxResponse {
  const item = call.world.items.get(Number(id))
  return item !== undefined && !item.deleted && indexed(call).includes(item)
    ? answer(treeOf(call, item))
    : notFound()
}

/** `GET /api/v1/users/{name}` */
export function indexedUser(call: NewsCall, name: string): SandboxResponse {
  const user = call.world.users.get(name)
  if (user === undefined) return notFound()
  return answer({
    id: [...call.world.users.keys()].indexOf(name) + 1,
    username: user.id,
    about: user.about,
    karma: user.karma,
    created_at: isoOf(user.created).replace(/\.\d+Z$/, '.000Z'),
    created_at_i: Math.floor(user.created / 1000),
    avg: user.karma / Math.max(1, user.submitted.length),
    submission_count: user.submitted.filter(({ parent }) => parent === null).length,
    comment_count: user.submitted.filter(({ type }) => type === 'comment').length,
    objectID: user.id,
  })
}

/** Refusal of an address over its limit. */
export const searchRateLimit = (): SandboxResponse =>
  answer({ message: 'Too Many Requests', status: 429 }, 429)

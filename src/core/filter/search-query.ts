import { inForm, normalise } from '../base/form.ts'
import { visibleText } from '../enrichment/markdown.ts'
import type { Post } from '../forum/items.ts'
import { isViewerName } from '../forum/permalink.ts'
import { occursIn, toWord } from './text.ts'

/** Evaluates a search expression on a text. Every pattern takes time linear in the text, which is untrusted. */

type Test = (text: string) => boolean
const LETTER = /[\p{L}\p{N}]/u

/** A word without surrounding punctuation: "which grinder?" searches for "grinder". */
const bare = (word: string): string => word.replace(/^["'¿¡]+|["',.;:!?]+$/g, '')

/**
 * Parses a search as the platform would, for searching comments. Adjacent words must all occur; `OR`, `NOT`, `-`,
 * quotes and parentheses work as usual. `field:value` applies to posts and is left out. The test takes a markdown
 * source and reads its visible text. Null when no word remains. Never throws: stray operators are ignored.
 */
export function parseSearch(q: string): Test | null {
  const tokens = q.match(/-?"[^"]*"|[()]|-(?=\()|[^\s()"]+/g) ?? []
  let at = 0
  let words = 0

  function either(): Test | null {
    const sides = [both()]
    while (tokens[at] === 'OR') {
      at++
      sides.push(both())
    }
    const tests = sides.filter((side) => side !== null)
    return tests.length === 0 ? null : (text) => tests.some((test) => test(text))
  }

  function both(): Test | null {
    const tests: Test[] = []
    while (at < tokens.length && tokens[at] !== 'OR' && tokens[at] !== ')') {
      const test = one()
      if (test !== null) tests.push(test)
    }
    return tests.length === 0 ? null : (text) => tests.every((test) => test(text))
  }

  function one(): Test | null {
    const token = tokens[at++] ?? ''
    if (token === 'AND') return null
    if (token === 'NOT' || token === '-') return opposite(() => (at < tokens.length ? one() : null))
    if (token === '(') {
      const inner = either()
      if (tokens[at] === ')') at++
      return inner
    }
    if (token.startsWith('-')) return opposite(() => term(token.slice(1)))
    return term(token)
  }

  // Words under NOT are not searched for: a search of nothing else would find everything.
  function opposite(read: () => Test | null): Test | null {
    const before = words
    const test = read()
    words = before
    return test === null ? null : (text) => !test(text)
  }

  function term(token: string): Test | null {
    const quoted = token.startsWith('"')
    const text = quoted ? normalise(token.slice(1, -1)) : bare(normalise(token))
    if (!LETTER.test(text) || (!quoted && /^[a-z_]+:[^/]/.test(text))) return null
    words++
    // A trailing `*` makes a prefix.
    const prefix = !quoted && text.endsWith('*')
    const word = toWord(prefix ? text.slice(0, -1) : text, 0, { prefix, substring: false })
    return (plain) => occursIn(plain, word)
  }

  const tests: Test[] = []
  while (at < tokens.length) {
    const test = either()
    if (test !== null) tests.push(test)
    // A closing parenthesis without an opening one stopped the parser.
    at++
  }
  if (words === 0) return null
  return (text) => {
    const plain = normalise(visibleText(text))
    return tests.every((test) => test(plain))
  }
}

// The word for a community differs by platform; it begins with `sub` in all of them.
const NAMED = /(?<![\p{L}\p{N}])(?:author|user(?:name)?|sub[a-z]*|site|self)\s*:\s*/iuy

/**
 * The first name in a search expression that means the requesting account, as in `author:me` or `subforum:(cats OR
 * friends)`; null when there is none. A quoted phrase without a field is plain text.
 */
export function viewerTermIn(q: string): string | null {
  const text = inForm(q, 'NFKC').replace(/[“”„‟]/g, '"')
  // Parsers disagree on escaped and unclosed quotes: such text is read as if it had no phrases.
  const phrases = !text.includes('\\') && text.split('"').length % 2 === 1
  for (let at = 0; at < text.length;) {
    NAMED.lastIndex = at
    const field = NAMED.exec(text)
    if (field === null) {
      at = text[at] === '"' && phrases ? endOfPhrase(text, at) : at + 1
      continue
    }
    at += field[0].length
    const end = endOfValue(text, at)
    const named = text
      .slice(at, end)
      .split(/[\s"'(),|+]+/)
      .find((it) => isViewerName(it.replace(/^[-+!]+|[*~^].*$|[.,;:!?]+$/g, '')))
    if (named !== undefined) return named
    at = end
  }
  return null
}

function endOfPhrase(text: string, at: number): number {
  const end = text.indexOf('"', at + 1)
  return end === -1 ? text.length : end + 1
}

/** Where the value of a field ends: a phrase, a group in parentheses, or one word. */
function endOfValue(text: string, from: number): number {
  if (text[from] === '"') return endOfPhrase(text, from)
  if (text[from] !== '(') return from + (/^[^\s()]*/.exec(text.slice(from))?.[0].length ?? 0)
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at + 1
  }
  return text.length
}

export const SORT_TYPES = ['score', 'num_comments', 'created'] as const
type SortType = (typeof SORT_TYPES)[number]

/** Filter and order of a page of posts. Absent fields do not filter. */
export type PageFilter = {
  min_score?: number | undefined
  max_score?: number | undefined
  min_comments?: number | undefined
  max_comments?: number | undefined
  is_video?: boolean | undefined
  is_self?: boolean | undefined
  over_18?: boolean | undefined
  locked?: boolean | undefined
  stickied?: boolean | undefined
  spoiler?: boolean | undefined
  contest_mode?: boolean | undefined
  sort_type?: SortType | undefined
}

const FLAGS = [
  'is_video',
  'is_self',
  'over_18',
  'locked',
  'stickied',
  'spoiler',
  'contest_mode',
] as const

const RANK: Record<SortType, (post: Post) => number> = {
  score: (post) => post.upvotes,
  num_comments: (post) => post.comments,
  created: (post) => post.created_utc,
}

export const isFiltering = (filter: PageFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined)

/** The posts of a page that pass the filter: highest first when it names a sort key, else in page order. */
export function filterPage(filter: PageFilter, posts: readonly Post[]): Post[] {
  const selected = posts.filter(
    (post) =>
      within(post.upvotes, filter.min_score, filter.max_score) &&
      within(post.comments, filter.min_comments, filter.max_comments) &&
      FLAGS.every((flag) => filter[flag] === undefined || filter[flag] === (post[flag] ?? false)),
  )
  const rank = filter.sort_type === undefined ? null : RANK[filter.sort_type]
  return rank === null ? selected : selected.toSorted((a, b) => rank(b) - rank(a))
}

const within = (value: number, min: number | undefined, max: number | undefined): boolean =>
  value >= (min ?? -Infinity) && value <= (max ?? Infinity)

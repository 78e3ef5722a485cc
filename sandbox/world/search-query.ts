import type { SandboxPost } from './model.ts'

/** Relevance of a post for a search; 0: no match. */
export type Measure = (post: SandboxPost) => number

const TOKEN = /\(|\)|(?:[a-z_]+:)?"[^"]*"|[^\s()"]+/gi
const DEEPEST = 20

const text = ({ title, text: body }: SandboxPost) => `${title}\n${body}`.toLowerCase()

function count(haystack: string, word: string): number {
  if (word === '') return 0
  let found = 0
  for (let at = haystack.indexOf(word); at >= 0; at = haystack.indexOf(word, at + word.length)) {
    // Matches begin at a word boundary: `art` finds `artist`, not `start`.
    const before = haystack[at - 1]
    if (before === undefined || !/[\p{L}\p{N}_]/u.test(before)) found++
  }
  return found
}

const wordMeasure =
  (phrase: string): Measure =>
  (post) =>
    3 * count(post.title.toLowerCase(), phrase) + count(text(post), phrase)

const predicateMeasure =
  (predicate: (post: SandboxPost) => boolean): Measure =>
  (post) =>
    predicate(post) ? 1 : 0

const equal = (one: string | null, other: string) => one?.toLowerCase() === other
const isTrue = (word: string) => ['yes', '1', 'true'].includes(word)

const FIELDS: Record<string, (value: string) => Measure> = {
  subreddit: (value) => predicateMeasure((post) => equal(post.subforum.name, value)),
  author: (value) => predicateMeasure((post) => equal(post.author.name, value)),
  title: (value) => (post) => count(post.title.toLowerCase(), value),
  selftext: (value) => (post) => count(post.text.toLowerCase(), value),
  flair: (value) => predicateMeasure((post) => equal(post.flair, value)),
  url: (value) => predicateMeasure((post) => post.url?.toLowerCase().includes(value) ?? false),
  site: (value) => predicateMeasure((post) => post.url?.toLowerCase().includes(value) ?? false),
  self: (value) => predicateMeasure((post) => (post.url === null) === isTrue(value)),
  nsfw: (value) => predicateMeasure((post) => post.over_18 === isTrue(value)),
}

function term(token: string): Measure {
  const colon = token.indexOf(':')
  const field = FIELDS[token.slice(0, Math.max(0, colon)).toLowerCase()]
  const value = (field ? token.slice(colon + 1) : token).replaceAll('"', '').toLowerCase().trim()
  return field ? field(value) : wordMeasure(value)
}

/**
 * Parses words, "phrases", `field:value`, AND, OR, NOT, parentheses. Malformed parts count as
 * words.
 */
export function parseSearchExpression(q: string): Measure {
  const tokens = q.match(TOKEN) ?? []
  let at = 0

  const either = (depth: number): Measure => {
    const parts = [both(depth)]
    while (tokens[at] === 'OR') {
      at++
      parts.push(both(depth))
    }
    return (post) => parts.reduce((sum, part) => sum + part(post), 0)
  }
  const both = (depth: number): Measure => {
    const parts: Measure[] = []
    for (let token = tokens[at]; token !== undefined; token = tokens[at]) {
      if (token === 'OR' || (token === ')' && depth > 0)) break
      at++
      if (token !== 'AND' && token !== ')') parts.push(one(token, depth))
    }
    return (post) => {
      let sum = parts.length === 0 ? 0 : 1
      for (const part of parts) {
        const found = part(post)
        if (found === 0) return 0
        sum += found
      }
      return sum
    }
  }
  const one = (token: string, depth: number): Measure => {
    if (token === 'NOT') {
      const next = tokens[at++]
      const inner = next === undefined ? wordMeasure('') : one(next, depth)
      return (post) => (inner(post) === 0 ? 1 : 0)
    }
    if (token.length > 1 && token.startsWith('-')) {
      const inner = term(token.slice(1))
      return (post) => (inner(post) === 0 ? 1 : 0)
    }
    if (token !== '(') return term(token)
    if (depth >= DEEPEST) return wordMeasure('')
    const inner = either(depth + 1)
    if (tokens[at] === ')') at++
    return inner
  }
  return either(0)
}

import type { Post } from './model.ts'

/** Whether a post satisfies a search, and how well: 0 is not at all. */
export type Measure = (post: Post) => number

const TOKEN = /\(|\)|(?:[a-z_]+:)?"[^"]*"|[^\s()"]+/gi
const DEEPEST = 20

const text = ({ title, text: body }: Post) => `${title}\n${body}`.toLowerCase()

function count(haystack: string, word: string): number {
  if (word === '') return 0
  let found = 0
  for (let at = haystack.indexOf(word); at >= 0; at = haystack.indexOf(word, at + word.length)) {
    // Words begin at a boundary: `art` finds `artist`, not `start`.
    const before = haystack[at - 1]
    if (before === undefined || !/[\p{L}\p{N}_]/u.test(before)) found++
  }
  return found
}

const words =
  (phrase: string): Measure =>
  (post) =>
    3 * count(post.title.toLowerCase(), phrase) + count(text(post), phrase)

const when =
  (holds: (post: Post) => boolean): Measure =>
  (post) =>
    holds(post) ? 1 : 0

const equal = (one: string | null, other: string) => one?.toLowerCase() === other
const yes = (word: string) => ['yes', '1', 'true'].includes(word)

const FIELDS: Record<string, (value: string) => Measure> = {
  subreddit: (value) => when((post) => equal(post.subforum.name, value)),
  author: (value) => when((post) => equal(post.author.name, value)),
  title: (value) => (post) => count(post.title.toLowerCase(), value),
  selftext: (value) => (post) => count(post.text.toLowerCase(), value),
  flair: (value) => when((post) => equal(post.flair, value)),
  url: (value) => when((post) => post.url?.toLowerCase().includes(value) ?? false),
  site: (value) => when((post) => post.url?.toLowerCase().includes(value) ?? false),
  self: (value) => when((post) => (post.url === null) === yes(value)),
  nsfw: (value) => when((post) => post.over_18 === yes(value)),
}

function term(token: string): Measure {
  const colon = token.indexOf(':')
  const field = FIELDS[token.slice(0, Math.max(0, colon)).toLowerCase()]
  const value = (field ? token.slice(colon + 1) : token).replaceAll('"', '').toLowerCase().trim()
  return field ? field(value) : words(value)
}

/** Words, "phrases", `field:value`, AND, OR, NOT, parentheses. Whatever does not parse is taken for words. */
export function parseQuery(q: string): Measure {
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
      const inner = next === undefined ? words('') : one(next, depth)
      return (post) => (inner(post) === 0 ? 1 : 0)
    }
    if (token.length > 1 && token.startsWith('-')) {
      const inner = term(token.slice(1))
      return (post) => (inner(post) === 0 ? 1 : 0)
    }
    if (token !== '(') return term(token)
    if (depth >= DEEPEST) return words('')
    const inner = either(depth + 1)
    if (tokens[at] === ')') at++
    return inner
  }
  return either(0)
}

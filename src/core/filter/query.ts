import { invalid } from '../base/errors.ts'
import { normalise, type View } from '../base/form.ts'
import { SEARCH_FIELDS, type SearchField } from './text.ts'

/** A parsed `q`. `field` null: the fields of `search_in`. */
export type Query =
  | { kind: 'term'; written: string; field: SearchField | null; prefix: boolean }
  | { kind: 'and' | 'or'; parts: Query[] }
  | { kind: 'not'; part: Query }

const DEPTH_MAX = 16
// A `q` with one of these is more than one phrase: operator, quote, parenthesis, `*` or `field:`.
const MARK = /["()*]|(^|\s)-[^\s-]|(^|\s)(AND|OR|NOT)(\s|$)/u
const NAMES = SEARCH_FIELDS.join('|')
const FIELD = new RegExp(`^(${NAMES}):`, 'i')
const FIELD_WITHIN = new RegExp(`(^|[\\s(-])(${NAMES}):`, 'i')
const OPERATORS = new Map<string, 'and' | 'or' | 'not'>([
  ['AND', 'and'],
  ['OR', 'or'],
  ['NOT', 'not'],
])
const WHITE = /\s/u

type Token =
  | { kind: 'and' | 'or' | 'not' | 'open' | 'close' | 'end'; at: number }
  | { kind: 'term'; at: number; query: Query }

/**
 * Parses a `q`: one phrase, or a boolean query (adjacent terms AND, then OR; NOT and - bind tightest). In `view`, the
 * form in which terms are compared, each term must be more than nothing.
 * @throws {ApiError} INVALID_REQUEST with the position, counted from 1, and what was expected there
 */
export function parseQuery(q: string, view: View = 0): Query {
  // Mobile keyboards write typographic quotes.
  const text = q.replace(/[“”„‟]/g, '"')
  if (!MARK.test(text) && !FIELD_WITHIN.test(text))
    return { kind: 'term', written: text.trim(), field: null, prefix: false }
  const tokens = tokenise(text, view)
  let next = 0
  let depth = 0
  const peek = (): Token => tokens[next] ?? { kind: 'end', at: text.length }

  function either(): Query {
    const parts = [both()]
    while (peek().kind === 'or') {
      next++
      parts.push(both())
    }
    return joined('or', parts)
  }

  function both(): Query {
    const parts = [single()]
    for (;;) {
      const { kind } = peek()
      if (kind === 'end' || kind === 'close' || kind === 'or') return joined('and', parts)
      if (kind === 'and') next++
      parts.push(single())
    }
  }

  function single(): Query {
    const token = peek()
    next++
    if (token.kind === 'term') return token.query
    if (token.kind !== 'not' && token.kind !== 'open')
      throw queryProblem(
        text,
        token.at,
        `expected a term, a quoted phrase, NOT or ( but found ${named(token)}`,
      )
    if (++depth > DEPTH_MAX)
      throw queryProblem(text, token.at, `is nested deeper than ${DEPTH_MAX} levels`)
    const inner = token.kind === 'not' ? single() : group(token.at)
    depth--
    return token.kind === 'not' ? { kind: 'not', part: inner } : inner
  }

  function group(open: number): Query {
    const inner = either()
    const close = peek()
    if (close.kind !== 'close')
      throw queryProblem(
        text,
        close.at,
        `expected ) for the ( at position ${position(text, open)} but found ${named(close)}`,
      )
    next++
    return inner
  }

  const query = either()
  const rest = peek()
  if (rest.kind !== 'end')
    throw queryProblem(
      text,
      rest.at,
      `expected AND, OR, a term or the end but found ${named(rest)}`,
    )
  return query
}

export type Term = Query & { kind: 'term' }

/** The terms of a query without those under NOT. */
export const positiveTerms = (query: Query): Term[] =>
  query.kind === 'not' ? [] : termsOf(query, positiveTerms)

/** All terms of a query, with those under NOT. */
export const termsIn = (query: Query): Term[] =>
  query.kind === 'not' ? termsIn(query.part) : termsOf(query, termsIn)

const termsOf = (query: Exclude<Query, { kind: 'not' }>, each: (part: Query) => Term[]): Term[] =>
  query.kind === 'term' ? [query] : query.parts.flatMap(each)

function joined(kind: 'and' | 'or', parts: Query[]): Query {
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only : { kind, parts }
}

function tokenise(text: string, view: View): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const char = text[at] ?? ''
    if (WHITE.test(char)) at++
    else if (char === '(') tokens.push({ kind: 'open', at: at++ })
    else if (char === ')') tokens.push({ kind: 'close', at: at++ })
    else if (char === '-' && /^-[^\s-]/u.test(text.slice(at, at + 2)))
      tokens.push({ kind: 'not', at: at++ })
    else {
      const { token, end } = readTerm(text, at, view)
      tokens.push(token)
      at = end
    }
  }
  return tokens
}

function readTerm(text: string, at: number, view: View): { token: Token; end: number } {
  const name = FIELD.exec(text.slice(at))?.[1]
  const field = SEARCH_FIELDS.find((it) => it === name?.toLowerCase()) ?? null
  const start = field === null ? at : at + field.length + 1
  const { written, prefix, end } =
    text[start] === '"' ? readPhrase(text, start) : readWord(text, start)
  const operator = start === at && text[at] !== '"' && !prefix ? OPERATORS.get(written) : undefined
  if (operator !== undefined) return { token: { kind: operator, at }, end }
  if (written === '')
    throw queryProblem(text, start, `expected a term or a quoted phrase right after ${name ?? ''}:`)
  if ((text[start] !== '"' && /^-+$/.test(written)) || normalise(written, view) === '')
    throw queryProblem(text, start, 'expected a term; quote it to look for signs alone')
  return { token: { kind: 'term', at, query: { kind: 'term', written, field, prefix } }, end }
}

function readPhrase(text: string, open: number): { written: string; prefix: boolean; end: number } {
  const close = text.indexOf('"', open + 1)
  if (close === -1) throw queryProblem(text, open, 'opens a quote that is never closed')
  const prefix = text[close + 1] === '*'
  const written = text.slice(open + 1, close).trim()
  if (written === '') throw queryProblem(text, open, 'expected a phrase between the quotes')
  return { written, prefix, end: close + (prefix ? 2 : 1) }
}

function readWord(text: string, start: number): { written: string; prefix: boolean; end: number } {
  let end = start
  while (end < text.length && !/[\s"()]/u.test(text[end] ?? '')) end++
  const word = text.slice(start, end)
  const star = word.indexOf('*')
  if (star === -1) return { written: word, prefix: false, end }
  if (star === 0 || star !== word.length - 1)
    throw queryProblem(
      text,
      start + star,
      'has a * that does not end a term; write term* for a prefix, or quote it',
    )
  return { written: word.slice(0, -1), prefix: true, end }
}

function named(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'the end'
    case 'open':
      return '('
    case 'close':
      return ')'
    case 'term':
      return 'a term'
    case 'and':
    case 'or':
    case 'not':
      return token.kind.toUpperCase()
  }
}

// Positions in messages: characters, counted from 1.
const position = (text: string, at: number): number => Array.from(text.slice(0, at)).length + 1

const queryProblem = (text: string, at: number, sentence: string) =>
  invalid('filter_spec.q', `filter_spec.q, position ${position(text, at)}: ${sentence}`)

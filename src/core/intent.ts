import { CUES } from './lexicon-cues.ts'
import { longest } from './lexicon-phrases.ts'
import type { Entry } from './lexicon.ts'
import type { Heard } from './sentiment.ts'
import type { Tokens } from './tokens.ts'

/** What an author may be after (interface, Enrichment). */
export const INTENTS = [
  'question',
  'recommendation_request',
  'complaint',
  'promotion',
  'praise',
  'discussion',
] as const
export type IntentTag = (typeof INTENTS)[number]

/** What the rules look at. */
export type Said = {
  tokens: Tokens
  entries: readonly (Entry | undefined)[]
  /** How many of the tokens are the title's; none for a comment. */
  title: number
  heard: Heard
  /** The title as it was written; empty for a comment. */
  headline: string
  /** Addresses that the item leads to. */
  links: string
}

// What people bring before others to be used, bought or joined.
const OFFERED =
  /\/\/(?:www\.)?(?:discord\.(?:gg|com\/invite)|patreon\.com|onlyfans\.com|(?:[\w-]+\.)?gumroad\.com|ko-fi\.com|buymeacoffee\.com|gofundme\.com|kickstarter\.com|indiegogo\.com|etsy\.com|play\.google\.com\/store|apps\.apple\.com|steamcommunity\.com\/tradeoffer)/
const CODE =
  /\/\/(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|pypi\.(?:org|python\.org)|npmjs\.com|crates\.io|rubygems\.org)\/[\w.-]+\/[\w.-]+/
const OFFER =
  /^\[(?:ad|promo|for hire|hiring|fs|wts|selling|giveaway)\]|^(?:show hn|lf):|\[h\].{1,80}\[w\]|\bv?\d{1,3}\.\d{1,3}(?:\.\d{1,4})?\b.{0,40}\b(?:out|released|available|supports)\b/i
// "Name - a library for reading": who writes so shows what they made, or have found.
const SHOWN =
  /^[\w./-]{2,40}(?: [\w./-]{1,20}){0,2} ?(?: -{1,2}|:| [–—]) (?:an? |the |my |turn |listen |[\w ]{0,40}(?:tools?|library|interface|client|wrapper)\b)/i
const ASKED = /^\[?(?:question|help|request|q)\b[\]:]?/i

// In words and marks: what one reads at a glance, and what has room for one thought.
const SHORT = 40
const BRIEF = 12
const ENOUGH = 2
// When two say the same amount, the narrower wins.
const ORDER = ['promotion', 'recommendation_request', 'complaint', 'question', 'praise'] as const
type Points = Record<(typeof ORDER)[number], number>

/** What an item is for, by rules: the tag with the most points, discussion when none has enough. */
export function intentOf(said: Said): IntentTag {
  const points: Points = {
    promotion: 0,
    recommendation_request: 0,
    complaint: 0,
    question: 0,
    praise: 0,
  }
  addCues(points, said)
  addQuestions(points, said)
  addOffers(points, said)
  addStance(points, said)
  // A recommendation is asked for in a question: what shows the one speaks for the other.
  if (points.recommendation_request >= ENOUGH) points.recommendation_request += points.question
  const best = ORDER.reduce((a, b) => (points[b] > points[a] ? b : a))
  return points[best] >= ENOUGH ? best : 'discussion'
}

function addCues(points: Points, { tokens, entries, title }: Said): void {
  let counted = 0
  let opens = true
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry?.cue) {
      const found = longest(entry.cue, tokens.words, at)
      const cue = found === null ? undefined : CUES[found.value]
      if (found !== null && cue !== undefined && (counted & (1 << found.value)) === 0) {
        const here = cue.where === 'all' || (cue.where === 'title' ? at < title : opens)
        if (here) {
          counted |= 1 << found.value
          points[cue.tag] += cue.points
        }
      }
    }
    opens = entry !== undefined && isEnd(entry.word)
  }
}

const isEnd = (word: string): boolean =>
  word === '.' || word === '?' || word === '!' || word === '\n'

// A mark in the title asks for an answer; one in a comment is as often an argument.
function addQuestions(points: Points, { tokens: { words }, title, headline }: Said): void {
  if (ASKED.test(headline)) points.question += 2
  const last = words.lastIndexOf('?')
  if (last === -1) return
  const first = words.indexOf('?')
  // A title that ends with it asks for certain.
  if (title > 0) points.question += first < title ? (words[title - 1] === '?' ? 4 : 3) : 2
  else points.question += asksInEarnest(words) ? 2 : 0
}

const ASKING_FIRST = new Set(
  `what what's whats who who's where when why how which did do does is are am was were can could would should will
  has have anyone really`.split(/\s+/),
)

// A short comment whose last sentence, or only one, begins as questions do.
function asksInEarnest(words: readonly string[]): boolean {
  const last = words.lastIndexOf('?')
  if (words.length > SHORT || last < words.length - 2) return false
  let first = last
  while (first > 0 && !isEnd(words[first - 1] ?? '')) first--
  return ASKING_FIRST.has(words[first] ?? '')
}

function addOffers(points: Points, { headline, links }: Said): void {
  const linked = links.includes('//')
  if (linked && OFFERED.test(links)) points.promotion += 3
  if (headline === '') return
  if (OFFER.test(headline)) points.promotion += 3
  if (SHOWN.test(headline)) points.promotion += 1
  if (linked && CODE.test(links)) points.promotion += 2
}

// A word of praise in a picture's title is a mood; who speaks so of a thing they use praises it.
function addStance(points: Points, { entries, title, heard }: Said): void {
  const { good, bad, sentiment } = heard
  const ware = entries.some((entry) => entry?.ware === true)
  if (sentiment.label === 'positive') {
    const plain = good >= 1.5 || entries.length <= BRIEF
    points.praise += title === 0 ? (plain ? 2 : 1) : good >= 2 ? 1 : 0
    if (ware) points.praise += title === 0 ? 2 : 1
  }
  if (sentiment.label === 'negative') {
    points.complaint += bad >= 2 ? 1 : 0
    if (ware) points.complaint += title === 0 ? 2 : 1
  }
}

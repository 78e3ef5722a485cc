import type { Item } from '../forum/items.ts'
import { cues, type IntentTag } from './lexicon/cues.ts'
import { longest } from './lexicon/phrases.ts'
import { entriesOf, type LexiconEntry } from './lexicon/words.ts'
import { type Sentiment, sentimentOf, type SentimentScore } from './sentiment.ts'
import { tokenise, type TokenisedText } from './tokenizer.ts'

type IntentInput = {
  tokens: TokenisedText
  entries: readonly (LexiconEntry | undefined)[]
  /** Number of leading tokens from the title; 0 for a comment. */
  title: number
  sentiment_score: SentimentScore
  /** Title as written; empty for a comment. */
  headline: string
  links: string
}

// Things that authors offer for use, sale or joining.
const OFFERED =
  /\/\/(?:www\.)?(?:discord\.(?:gg|com\/invite)|patreon\.com|onlyfans\.com|(?:[\w-]+\.)?gumroad\.com|ko-fi\.com|buymeacoffee\.com|gofundme\.com|kickstarter\.com|indiegogo\.com|etsy\.com|play\.google\.com\/store|apps\.apple\.com|steamcommunity\.com\/tradeoffer)/
const CODE =
  /\/\/(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|pypi\.(?:org|python\.org)|npmjs\.com|crates\.io|rubygems\.org)\/[\w.-]+\/[\w.-]+/
const OFFER =
  /^\[(?:ad|promo|for hire|hiring|fs|wts|selling|giveaway)\]|^(?:show hn|lf):|\[h\].{1,80}\[w\]|\bv?\d{1,3}\.\d{1,3}(?:\.\d{1,4})?\b.{0,40}\b(?:out|released|available|supports)\b/i
// "Name - a library for reading": typical of authors who present their own work or a discovery.
const SHOWCASE =
  /^[\w./-]{2,40}(?: [\w./-]{1,20}){0,2} ?(?: -{1,2}|:| [–—]) (?:an? |the |my |turn |listen |[\w ]{0,40}(?:tools?|library|interface|client|wrapper)\b)/i
const QUESTION_TAG = /^\[?(?:question|help|request|q)\b[\]:]?/i

// Limits in tokens: a short text, and one with a single thought.
const SHORT = 40
const BRIEF = 12
const ENOUGH = 2
// On equal points, the narrower tag wins.
const ORDER = ['promotion', 'recommendation_request', 'complaint', 'question', 'praise'] as const
type Points = Record<(typeof ORDER)[number], number>

/** Intent of an item by rules: the tag with the most points; discussion if none has enough. */
function intentOf(input: IntentInput): IntentTag {
  const points: Points = {
    promotion: 0,
    recommendation_request: 0,
    complaint: 0,
    question: 0,
    praise: 0,
  }
  addCues(points, input)
  addQuestions(points, input)
  addOffers(points, input)
  addStance(points, input)
  // A recommendation request is a question, so points for the question support it.
  if (points.recommendation_request >= ENOUGH) points.recommendation_request += points.question
  const best = ORDER.reduce((a, b) => (points[b] > points[a] ? b : a))
  return points[best] >= ENOUGH ? best : 'discussion'
}

function addCues(points: Points, { tokens, entries, title }: IntentInput): void {
  let counted = 0
  let opens = true
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry?.cue) {
      const found = longest(entry.cue, tokens.words, at)
      const cue = found === null ? undefined : cues()[found.value]
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

// A question mark in the title requests an answer; in a comment it is as often rhetorical.
function addQuestions(points: Points, { tokens: { words }, title, headline }: IntentInput): void {
  if (QUESTION_TAG.test(headline)) points.question += 2
  const last = words.lastIndexOf('?')
  if (last === -1) return
  const first = words.indexOf('?')
  // A title that ends with a question mark is a certain question.
  if (title > 0) points.question += first < title ? (words[title - 1] === '?' ? 4 : 3) : 2
  else points.question += isGenuineQuestion(words) ? 2 : 0
}

const QUESTION_WORDS = new Set(
  `what what's whats who who's where when why how which did do does is are am was were can could would should will
  has have anyone really`.split(/\s+/),
)

// True for a short comment whose last or only sentence begins as a question.
function isGenuineQuestion(words: readonly string[]): boolean {
  const last = words.lastIndexOf('?')
  if (words.length > SHORT || last < words.length - 2) return false
  let first = last
  while (first > 0 && !isEnd(words[first - 1] ?? '')) first--
  return QUESTION_WORDS.has(words[first] ?? '')
}

function addOffers(points: Points, { headline, links }: IntentInput): void {
  const linked = links.includes('//')
  if (linked && OFFERED.test(links)) points.promotion += 3
  if (headline === '') return
  if (OFFER.test(headline)) points.promotion += 3
  if (SHOWCASE.test(headline)) points.promotion += 1
  if (linked && CODE.test(links)) points.promotion += 2
}

// Praise in a picture's title is a mood; praise next to a product word is an opinion of it.
function addStance(points: Points, { entries, title, sentiment_score }: IntentInput): void {
  const { good, bad, sentiment } = sentiment_score
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

/** Sentiment and intent of an item, which do not depend on the filter. */
export type Sound = {
  sentiment: Sentiment
  intent: { tag: IntentTag; method: 'rule_based_heuristic' }
}

// Cached per item: all monitors that match it share the result.
const sounds = new WeakMap<Item, Sound>()

export function soundOf(item: Item): Sound {
  const cached = sounds.get(item)
  if (cached !== undefined) return cached
  const headline = item.kind === 'post' ? item.title.replaceAll('\n', ' ') : ''
  const source = (item.kind === 'post' ? item.text : item.body).slice(0, READ_MAX)
  const tokens = tokenise(headline === '' ? ownWords(source) : `${headline}\n${ownWords(source)}`)
  const title = headline === '' ? 0 : tokens.words.indexOf('\n')
  const entries = entriesOf(tokens)
  const sentiment_score = sentimentOf(tokens, entries)
  const links =
    item.link_url === null || item.kind === 'comment'
      ? source
      : `${item.link_url} ${headline} ${source}`
  const tag = intentOf({ tokens, entries, title, sentiment_score, headline, links })
  const sound: Sound = {
    sentiment: sentiment_score.sentiment,
    intent: { tag, method: 'rule_based_heuristic' },
  }
  sounds.set(item, sound)
  return sound
}

const READ_MAX = 8000

// Runs a pattern only if its first character occurs: most texts contain none of them.
function ownWords(text: string): string {
  let own = text
  if (own.includes('>') || own.includes('&gt;')) own = own.replace(/^(?:>|&gt;).*$/gm, '\n')
  if (own.includes('`')) own = own.replace(/```[^`]*```/g, ' ').replace(/`[^`\n]*`/g, ' ')
  if (own.includes('    ') || own.includes('\t')) own = own.replace(/^(?: {4}|\t).*$/gm, '\n')
  if (own.includes('://')) own = own.replace(/https?:\/\/[^\s)\]]+/g, ' ')
  return own
}

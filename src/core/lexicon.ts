import { DISGUST, DISLIKE, TROUBLE } from './lexicon-bad.ts'
import { CUES } from './lexicon-cues.ts'
import { DELIGHT, FAVOUR, LIKING } from './lexicon-good.ts'
import { phrasesByStart, type Starts } from './lexicon-phrases.ts'
import { SAYINGS } from './lexicon-sayings.ts'
import { once } from './once.ts'
import type { Tokens } from './tokens.ts'

const list = (words: string): string[] => words.trim().split(/\s+/)

/** What a word adds: 2 or 1 for praise, 0.5 for a welcome fact, and as much below nothing for their opposites. */
export const WEIGHTS: ReadonlyMap<string, number> = new Map(
  (
    [
      [DELIGHT, 2],
      [LIKING, 1],
      [FAVOUR, 0.5],
      [DISGUST, -2],
      [DISLIKE, -1],
      [TROUBLE, -0.5],
    ] as const
  ).flatMap(([words, weight]) => list(words).map((it): [string, number] => [it, weight])),
)

/** Thanks please those who are thanked, but beside a question they are manners. */
const THANKS = list('thanks thank thx ty cheers appreciate appreciated tysm tyvm')

// What turns the words after it around.
const NEGATORS = list(`
  not no never none nobody nothing neither nor without hardly barely scarcely rarely seldom zero cannot lacks
  lacking can't don't doesn't didn't isn't wasn't aren't weren't won't wouldn't couldn't shouldn't hasn't haven't
  hadn't ain't needn't mustn't cant dont doesnt didnt isnt wasnt arent werent wont wouldnt couldnt shouldnt hasnt
  havent hadnt aint
`)

const STRONGLY = list(`
  very really so extremely absolutely totally completely incredibly insanely super utterly highly hugely
  seriously deeply truly especially particularly remarkably exceptionally freaking fucking damn bloody way
  ridiculously unbelievably massively immensely thoroughly entirely such most
`)
const WEAKLY = list(`
  slightly somewhat fairly kinda sorta little bit mildly partly partially relatively moderately occasionally
  almost less
`)

// Words that carry nothing of their own: a negation looks past them.
const FILLERS = list(`
  a an the this that these those it its it's he she they we you i me my your his her their our be been being am is
  are was were do does did have has had to of in on at for with as any very really so too that's all even think
  thought say said seem seems find found feel feels look looks exactly quite particularly ever get got
`)

// Marks and words that end a clause.
const ENDS = ['\n', ...list('. ! ? ; : , but however although though yet despite because unless')]

const GOOD_SIGNS = [
  ...Array.from('😀😃😄😁😊🙂😍🥰😘🤩🥳😎👍👏🙌💪🎉❤💯🔥✨🏆😂🤣😻💕💖💙💚💜🥹🤗😆😇👌'),
  ':)',
  ':-)',
]
const BAD_SIGNS = [...Array.from('😞😟😠😡🤬😢😤😩😫😖🙁☹👎💔🤮🤢😱🙄💩😒😔🤦'), ':(', ':-(']

/** Things that are bought, used or visited: who speaks well or ill of one praises or complains. */
const WARES = list(`
  product service quality price support update upgrade app software website site game movie film show series
  episode album song book phone battery headset charger case screen camera laptop computer device printer
  restaurant food meal dish menu staff waiter waitress server bartender place hotel room store shop delivery
  order package shipping seller company customer experience value performance design feature version release
  acting actor actress cast plot script story soundtrack director characters music dessert steak sushi pizza
  burger chicken salad sandwich sauce soup breakfast lunch dinner buffet bar drinks coffee reception sound
  headphones speaker keyboard mouse driver tool library framework documentation tutorial course subscription
  account bluetooth item model brand car bike airline flight bank plan carrier network writing art
`)

/** What is known of a token. All but the phrases are looked up for every word of every item, hence one entry. */
export type Entry = {
  word: string
  weight: number
  /** What it multiplies the next word by; 1 for most. */
  degree: number
  negates: boolean
  filler: boolean
  ends: boolean
  thanks: boolean
  ware: boolean
  saying: Starts<number> | null
  cue: Starts<number> | null
}

/** Every word that is known, with the forms it takes. Made when the first item comes: it takes milliseconds. */
const vocabulary = once((): ReadonlyMap<string, Entry> => {
  const entries = new Map<string, Entry>()
  const entry = (word: string): Entry => {
    const known = entries.get(word)
    if (known !== undefined) return known
    const made = { word, weight: 0, degree: 1, negates: false, filler: false, ends: false }
    const whole = { ...made, thanks: false, ware: false, saying: null, cue: null }
    entries.set(word, whole)
    return whole
  }
  for (const [word, weight] of WEIGHTS) entry(word).weight = weight
  for (const [word, weight] of WEIGHTS)
    for (const form of formsOf(word, weight)) if (!WEIGHTS.has(form)) entry(form).weight = weight
  for (const sign of GOOD_SIGNS) entry(sign).weight = 1
  for (const sign of BAD_SIGNS) entry(sign).weight = -1
  for (const word of THANKS) Object.assign(entry(word), { weight: 1, thanks: true })
  // "Exceptionally bad" is no praise: a word of degree only weighs what follows it.
  for (const word of STRONGLY) Object.assign(entry(word), { weight: 0, degree: 1.5 })
  for (const word of WEAKLY) Object.assign(entry(word), { weight: 0, degree: 0.5 })
  for (const word of NEGATORS) Object.assign(entry(word), { weight: 0, negates: true })
  for (const word of FILLERS) entry(word).filler = true
  for (const mark of ENDS) entry(mark).ends = true
  for (const ware of WARES) for (const word of [ware, `${ware}s`]) entry(word).ware = true
  const sayings = SAYINGS.flatMap(([weight, phrases]) => linesOf(phrases, weight))
  for (const [word, starts] of phrasesByStart(sayings)) entry(word).saying = starts
  const cues = CUES.flatMap(({ phrases }, at) => linesOf(phrases, at))
  for (const [word, starts] of phrasesByStart(cues)) entry(word).cue = starts
  return entries
})

/** What is known of every token; undefined for a word that says nothing. */
export function entriesOf({ words }: Tokens): (Entry | undefined)[] {
  const known = vocabulary()
  return words.map(
    (word) => known.get(word) ?? (stretched(word) ? known.get(shrunk(word)) : undefined),
  )
}

const linesOf = <T>(phrases: string, value: T): [string, T][] =>
  phrases.split('\n').map((line): [string, T] => [line.trim(), value])

// "Sooooo" is so.
const stretched = (word: string): boolean => word.length > 3 && /([a-z])\1\1/.test(word)
const shrunk = (word: string): string => word.replace(/([a-z])\1{2,}/g, '$1')

// Plural, past, -ing and -ly, and the owner's 's. A form that no one uses costs nothing.
function formsOf(word: string, weight: number): string[] {
  const last = word.at(-1) ?? ''
  const stem = last === 'e' || last === 'y' ? word.slice(0, -1) : word
  const adverb = last === 'y' ? `${stem}ily` : `${word}ly`
  // "Easily" and "wrongly" say how, and judge nothing.
  const always = [`${word}s`, `${word}'s`, ...(Math.abs(weight) < 1 ? [] : [adverb])]
  if (last === 'y') return [...always, `${stem}ies`, `${stem}ied`, `${word}ed`, `${word}ing`]
  if (last === 'e') return [...always, `${word}d`, `${stem}ing`]
  return [...always, `${word}es`, ...[word, word + last].flatMap((it) => [`${it}ed`, `${it}ing`])]
}

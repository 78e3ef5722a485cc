import { once } from '../../base/lazy.ts'
import text from './cues.txt' with { type: 'text' }
import { itemsOf, listsIn, wordsOf } from './phrases.ts'

export const INTENTS = [
  'question',
  'recommendation_request',
  'complaint',
  'promotion',
  'praise',
  'discussion',
] as const

export type IntentTag = (typeof INTENTS)[number]

/** Phrases that indicate an intent. A cue counts once per text. */
type Cue = {
  tag: Exclude<IntentTag, 'discussion'>
  points: number
  /** Position at which a phrase begins: anywhere, in the title, or at the start of a sentence. */
  where: 'all' | 'title' | 'opening'
  phrases: readonly string[]
}

/** All cues; at most 31, so that the counted ones fit into one bit set. */
export const cues = once((): readonly Cue[] =>
  listsIn(text).map(([name, list]) => {
    const [tag, points, where] = name.split(' ')
    const whole = list.replace(/\{(\w+)\}/g, (_, words: string) => wordsOf(words).join('|'))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the data file is ours
    return { tag, points: Number(points), where, phrases: itemsOf(whole) } as Cue
  }),
)

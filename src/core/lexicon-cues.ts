import type { IntentTag } from './intent.ts'
import { ASKING } from './lexicon-asking.ts'
import { OFFERS } from './lexicon-offers.ts'
import { STANCES } from './lexicon-stances.ts'

/** Phrases that show what a text is for, in the notation of lexicon-phrases.ts. A cue counts once for a text. */
export type Cue = {
  tag: Exclude<IntentTag, 'discussion'>
  points: number
  /** Where a phrase has to begin: anywhere, in the title, or where a sentence does. */
  where: 'all' | 'title' | 'opening'
  phrases: string
}

/** Every cue there is; at most 31, so that those which have counted fit into one number. */
export const CUES: readonly Cue[] = [...OFFERS, ...ASKING, ...STANCES]

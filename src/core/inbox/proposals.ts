import { normalise } from '../filter/text.ts'
import { type Mute, MUTES } from './mute.ts'

// Exclusions that decisions in the inbox propose: authors, places and words that dismissed matches have in common, and
// that others do not have.

/** Decision on a match: dismissed, kept (answered or starred), or none yet. */
export type Decision = 'dismissed' | 'kept' | 'open'

/** Numbers of matches by their decision. */
export type DecisionCounts = Record<Decision, number>

/** A proposed exclusion. `sample`: a dismissed item that has it. */
export type Proposal = DecisionCounts & { mute: Mute; value: string; sample: string }

/** Fewest dismissed matches that have it in common. */
const DISMISSED_MIN = 3
/** It is this many times as frequent in dismissed matches as in the others. */
const TIMES_MIN = 3
const EACH_MAX = 10
/** Words that are counted, of an item and in all: a bound of memory. */
const WORDS_OF_ITEM = 300
const VALUES_MAX = 50_000
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'-]{3,40}/gu

type Counted = DecisionCounts & { value: string; sample: string }

/** Collects decisions on the matches of a monitor. */
export function createProposals() {
  const totals: DecisionCounts = { dismissed: 0, kept: 0, open: 0 }
  const values: Record<Mute, Map<string, Counted>> = {
    author: new Map(),
    place: new Map(),
    phrase: new Map(),
  }

  function count(mute: Mute, value: string, decision: Decision, id: string): void {
    const of = values[mute]
    const key = value.toLowerCase()
    const found = of.get(key)
    if (found === undefined && (value === '' || of.size >= VALUES_MAX)) return
    const counted = found ?? { value, sample: '', dismissed: 0, kept: 0, open: 0 }
    counted[decision] += 1
    if (decision === 'dismissed') counted.sample = id
    if (found === undefined) of.set(key, counted)
  }

  /** True if it is typical of dismissed matches, and of no match that was kept. */
  function isTypical({ dismissed, kept, open }: Counted): boolean {
    if (dismissed < DISMISSED_MIN || kept > 0) return false
    const share = dismissed / totals.dismissed
    // One more than there are: none of few is no evidence.
    return share >= (TIMES_MIN * (kept + open + 1)) / (totals.kept + totals.open + 1)
  }

  return {
    /** Adds a match. `text`: title and text as displayed. */
    add(
      item: { id: string; author: string; place: string; text: string },
      decision: Decision,
    ): void {
      totals[decision] += 1
      count('author', item.author, decision, item.id)
      count('place', item.place, decision, item.id)
      const words = new Set(normalise(item.text).match(WORD)?.slice(0, WORDS_OF_ITEM) ?? [])
      for (const word of words) count('phrase', word, decision, item.id)
    },
    totals: (): DecisionCounts => ({ ...totals }),
    /** The proposals, those with most dismissed matches first; at most ten of a kind. */
    list: (): Proposal[] =>
      MUTES.flatMap((mute) =>
        [...values[mute].values()]
          .filter(isTypical)
          .toSorted(
            (a, b) => b.dismissed - a.dismissed || a.open - b.open || (a.value < b.value ? -1 : 1),
          )
          .slice(0, EACH_MAX)
          .map((it) => ({ mute, ...it })),
      ),
  }
}

/** Words of a proposed addition to a prompt. */
const PROMPT_WORDS = 5

/** A prompt with what proposals say is not relevant; null: nothing is proposed, or it has no room. */
export function withExclusions(
  prompt: string,
  proposals: readonly Proposal[],
  longest: number,
): string | null {
  const words = proposals.filter(({ mute }) => mute === 'phrase').slice(0, PROMPT_WORDS)
  if (words.length === 0) return null
  const added = `Not relevant: matches about ${words.map(({ value }) => value).join(', ')}.`
  const whole = `${prompt.trimEnd()} ${added}`
  return prompt.includes(added) || whole.length > longest ? null : whole
}

/** Labels of one item: by its annotator, and by the rules. */
export type Pair = { due: string; got: string }

export type ClassScore = {
  label: string
  items: number
  precision: number
  recall: number
  f1: number
}

/** Classes with fewer items than this are shown but not averaged, because one item would decide. */
export const FEWEST = 5

/** Precision, recall and F1 of every class that occurs, by name; a class without predictions has precision 0. */
export function scoresOf(pairs: readonly Pair[]): ClassScore[] {
  return [...new Set(pairs.map(({ due }) => due))].toSorted().map((label) => {
    const items = pairs.filter(({ due }) => due === label).length
    const put = pairs.filter(({ got }) => got === label).length
    const right = pairs.filter(({ due, got }) => due === label && got === label).length
    return {
      label,
      items,
      precision: put === 0 ? 0 : right / put,
      recall: right / items,
      f1: (2 * right) / (put + items),
    }
  })
}

/** Unweighted mean F1 of the classes with enough items. */
export function macroF1(pairs: readonly Pair[]): number {
  const averaged = scoresOf(pairs).filter(({ items }) => items >= FEWEST)
  return averaged.reduce((sum, { f1 }) => sum + f1, 0) / averaged.length
}

/** The same items, all predicted as the majority class. */
export function majority(pairs: readonly Pair[]): Pair[] {
  const most = scoresOf(pairs).reduce((a, b) => (b.items > a.items ? b : a)).label
  return pairs.map(({ due }) => ({ due, got: most }))
}

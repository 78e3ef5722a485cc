/** The name of `known` that was probably meant by `typed`: at most a third of itself away from it; null when none is. */
export function nearest(typed: string, known: readonly string[]): string | null {
  // Of a text of any length the beginning will do: nothing that long is near anything.
  const text = typed.slice(0, 64).toLowerCase().replaceAll('-', '_')
  const [best] = known
    .map((name) => ({ name, distance: distance(text, name.replaceAll('-', '_')) }))
    .filter((it) => it.distance <= Math.max(1, Math.floor(it.name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return best?.name ?? null
}

/** How many letters must be put in, left out, changed or swapped with the next to make `a` of `b`. */
function distance(a: string, b: string): number {
  let twoBack: number[] = []
  let back = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? (twoBack[j - 2] ?? 0) + 1
          : Infinity
      row.push(
        Math.min((back[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (back[j - 1] ?? 0) + same, swapped),
      )
    }
    twoBack = back
    back = row
  }
  return back[b.length] ?? 0
}

/** Items with the highest ids, ascending; without a copy of all, which every event would make. */
export function newestById<T>(items: ReadonlyMap<number, T>, highest: number, most: number): T[] {
  const found: T[] = []
  for (let id = highest; id > 0 && found.length < most && found.length < items.size; id--) {
    const item = items.get(id)
    if (item !== undefined) found.push(item)
  }
  return found.toReversed()
}

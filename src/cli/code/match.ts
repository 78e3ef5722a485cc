type Named = { id: string; name: string | null }
type Declared = { id?: string | undefined; name?: string | undefined }

type Found<T> =
  | { before: T | null }
  /** `of`: the field that is wrong; null for the whole. */
  | { of: 'id' | 'name' | null; why: string; allowed: string }

/** Finds what a declared one is: by its id, else by its name; null is a new one. Each may be meant once. */
export function createMatch<T extends Named>(
  what: 'webhooks' | 'monitors',
  held: readonly T[],
  isTaken: (what: 'webhooks' | 'monitors', id: string) => boolean,
): (declared: Declared) => Found<T> {
  const meant = new Set<string>()

  function once(key: string, of: 'id' | 'name', before: T | null): Found<T> {
    const keys = [key, ...(before === null ? [] : [before.id])]
    if (keys.some((it) => meant.has(it)))
      return { of, why: `found ${JSON.stringify(key)} twice`, allowed: 'each is declared once' }
    for (const it of keys) meant.add(it)
    return { before }
  }

  return ({ id, name }) => {
    if (id !== undefined) {
      const before = held.find((it) => it.id === id) ?? null
      if (before === null && isTaken(what, id))
        return {
          of: 'id',
          why: `found ${id}, which is somebody else's or was removed`,
          allowed: 'leave the id out for a new one',
        }
      return once(id, 'id', before)
    }
    if (name === undefined)
      return { of: null, why: 'neither id nor name', allowed: 'needed: a name to know it by' }
    const [before, other] = held.filter((it) => it.name === name)
    if (before !== undefined && other !== undefined)
      return {
        of: 'name',
        why: `found ${JSON.stringify(name)}, and ${before.id} and ${other.id} are called so`,
        allowed: 'needed: the id of the one that is meant',
      }
    return once(name, 'name', before ?? null)
  }
}

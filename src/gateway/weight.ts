/** Of an object or a list: itself, and what is made of it to be answered with. */
const OBJECT = 64
/** Of a member: its place in the object and in the one that is made of it, and its name in the JSON. */
const MEMBER = 48
/**
 * Of a letter: two at most where it is held, three in the JSON. Control characters and halves of pairs take six there:
 * they are too rare to be looked for in every text.
 */
const LETTER = 5

/**
 * How many bytes plain data takes, with its JSON beside it: rather more than less. Counts until it is beyond `enough`,
 * so that what is far too large costs no more than what is just so. Never recurses: a stranger decides how deep it is.
 */
export function weigh(value: unknown, enough: number): number {
  let bytes = 0
  const waiting = [value]
  while (waiting.length > 0 && bytes <= enough) {
    const it = waiting.pop()
    if (typeof it === 'string') bytes += LETTER * it.length
    if (!isObject(it)) continue
    bytes += OBJECT
    // By its names, each place of a list would be a text of its own first.
    if (Array.isArray(it)) {
      bytes += MEMBER * it.length
      for (const member of it) waiting.push(member)
      continue
    }
    let members = 0
    let letters = 0
    for (const name in it) {
      members += 1
      const member = it[name]
      // Most members are texts and numbers, which need not wait.
      if (typeof member === 'string') letters += member.length
      else if (isObject(member)) waiting.push(member)
    }
    bytes += MEMBER * members + LETTER * letters
  }
  return bytes
}

const isObject = (it: unknown): it is Readonly<Record<string, unknown>> =>
  typeof it === 'object' && it !== null

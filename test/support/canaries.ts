/** Secrets planted in a story, by what they are: none may come out anywhere but where it was put in. */
export type Canaries = {
  /** Remembers a secret and gives it back. */
  addCanary(name: string, secret: string): string
  count(): number
  /** The names of the secrets that a text or some bytes contain, in any encoding. */
  foundIn(where: string | Uint8Array): string[]
}

/** Shorter than this a secret would be found by chance. */
const SHORTEST = 8

export function createCanaries(): Canaries {
  const spellings = new Map<string, Buffer[]>()
  return {
    addCanary(name, secret) {
      if (secret.length < SHORTEST) throw new Error(`${name} is too short to be looked for`)
      spellings.set(name, spellingsOf(secret))
      return secret
    },
    count: () => spellings.size,
    foundIn(where) {
      const bytes = Buffer.from(where)
      return [...spellings].flatMap(([name, forms]) =>
        forms.some((form) => bytes.includes(form)) ? [name] : [],
      )
    },
  }
}

function spellingsOf(secret: string): Buffer[] {
  const hex = Buffer.from(secret).toString('hex')
  const texts = [
    secret,
    secret.toLowerCase(),
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)),
    JSON.stringify(secret).slice(1, -1),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((shift) => base64Within(secret, shift)),
    Array.from(secret).toReversed().join(''),
  ]
  return [...new Set(texts)].map((text) => Buffer.from(text))
}

/** The base64 form of a secret inside a longer text, at an offset of `shift` bytes. */
function base64Within(secret: string, shift: number): string[] {
  const text = Buffer.from('\0'.repeat(shift) + secret).toString('base64')
  // The first and the last characters share their bits with the neighbours.
  const inner = text.replace(/=+$/, '').slice(shift === 0 ? 0 : shift + 1, -2)
  return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
}

import { queryOf } from './table.ts'

/**
 * Makes one text again of what was taken apart: Elysia reads a value with a comma in it as a list, and one in brackets as
 * JSON. A field that was given more than once stays a list, which its schema refuses.
 */
export function mendQuery(query: Record<string, unknown>, url: string): void {
  const broken = Object.keys(query).filter((name) => typeof query[name] !== 'string')
  if (broken.length === 0) return
  const sent = queryOf(url)
  for (const name of broken) {
    const [text, ...more] = sent.getAll(name)
    if (text !== undefined && more.length === 0) query[name] = text
  }
}

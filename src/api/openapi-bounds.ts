import * as z from 'zod'

/** How many values the body of a call may hold. */
const VALUES_MAX = 20_000
/** How many bytes the address and the headers of a call may have together; more is refused before anything is read. */
export const HEAD_MAX = 16_384

const SAYS_ITS_LENGTH = ['maxLength', 'enum', 'const', 'format', 'pattern']
const node_shape = z.record(z.string(), z.unknown())

/**
 * A schema of what is taken in, each part of which says how large it may be. What has no bound of its own has that of
 * the whole, `bytes`: the document names it, for whoever checks a call before it is sent.
 */
export function bounded<T>(schema: T, bytes: number): T
// What comes out has the shape of what went in, and more fields.
export function bounded(schema: unknown, bytes: number): unknown {
  if (Array.isArray(schema)) return schema.map((it) => bounded(it, bytes))
  const { success, data: node } = node_shape.safeParse(schema)
  if (!success) return schema
  const parts = Object.entries(node).map(([name, part]) => [
    name,
    // What is shown is no schema, whatever its fields are called.
    AS_THEY_ARE.includes(name) ? part : bounded(part, bytes),
  ])
  return { ...boundOf(node, bytes), ...Object.fromEntries(parts) }
}
const AS_THEY_ARE = ['examples', 'example', 'enum', 'const', 'default']

function boundOf({ type, ...node }: Record<string, unknown>, bytes: number) {
  if (type === 'string' && !SAYS_ITS_LENGTH.some((it) => it in node)) return { maxLength: bytes }
  if (type === 'array') return { maxItems: VALUES_MAX }
  if (type === 'integer')
    return {
      ...('exclusiveMinimum' in node ? {} : { minimum: Number.MIN_SAFE_INTEGER }),
      ...('exclusiveMaximum' in node ? {} : { maximum: Number.MAX_SAFE_INTEGER }),
    }
  return {}
}

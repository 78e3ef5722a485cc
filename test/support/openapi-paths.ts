import * as z from 'zod'

/** The operations of each path of a document, by their methods; none for a path that refers to another one. */
export const pathsShape = <O extends z.ZodType>(operation: O) =>
  z.record(
    z.string(),
    z.union([
      z.strictObject({ $ref: z.string() }).transform((): Record<string, z.output<O>> => ({})),
      z.record(z.string(), operation),
    ]),
  )

import * as z from 'zod'

import type { ControlCall } from '../server/control-routes.ts'
import { parseInput } from '../server/control-routes.ts'

/** Instant as epoch ms, or ISO 8601. */
export const instantInput = z.union([
  z.number().min(0),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
])

/** Name of a user in a control call. */
export const userInput = z
  .string()
  .regex(/^[A-Za-z0-9_-]{2,30}$/, 'expected 2 to 30 of A-Z a-z 0-9 _ -')

/** Control call whose input has a schema. The parameters in words are read off it. */
export function sourceControl<W, Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  run: (world: W, input: z.output<z.ZodObject<Shape>>) => unknown,
): ControlCall<W> {
  const parameters = Object.entries(schema.shape).map(([name, field]) =>
    field instanceof z.ZodOptional ? `${name}?` : name,
  )
  return {
    parameters: `{${parameters.join(', ')}}`,
    run: (world, input) => run(world, parseInput(schema, input)) ?? { ok: true },
  }
}

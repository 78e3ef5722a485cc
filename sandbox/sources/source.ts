import type { AnyFaultInput } from '../faults/rules.ts'
import type { ControlCall } from '../server/control-routes.ts'
import type { JsonFields, SandboxResponse } from '../server/response.ts'
import type { SeededRandom } from '../world/random.ts'

/** World of a simulated platform, beside the fields of its kind. */
export type SourceWorld = {
  random: SeededRandom
  /** Epoch ms. */
  now(): number
  /** Number of items; bounds their generation. */
  size(): number
}

/** Parsed request to a simulated platform. */
export type SourceCall<W> = {
  world: W
  /** Epoch ms. */
  now: number
  method: string
  /** Decoded, without `.json`. */
  segments: readonly string[]
  /** True for a path that ends in `.json`. */
  as_json: boolean
  /** Fields of query and form combined. */
  query: URLSearchParams
  /** Fields of a JSON body, or of the form. */
  fields: JsonFields
  headers: Headers
  cookies: ReadonlyMap<string, string>
  /** `http://host:port`, without a final slash. */
  origin: string
  address: string
  /** Fault of this request that its kind renders; null: none. */
  fault: AnyFaultInput | null
  /** Epoch ms: items created later do not exist yet for a stale answer; Infinity: all exist. */
  as_of: number
}

/** One kind of platform, as the server needs it. */
export type SimulatedKind<W extends SourceWorld> = {
  /** Empty world. */
  create(random: SeededRandom, now: () => number): W
  /** Fills a world with people, places and some weeks of content. */
  seed(world: W): void
  /** Mean time between two events at speed 1. */
  mean_ms: number
  /** Adds one event, such as a comment, at an instant in epoch ms. */
  addEvent(world: W, random: SeededRandom, at: number): void
  /** Faults beside those of every kind. */
  faults: readonly string[]
  respond(call: SourceCall<W>): SandboxResponse
  /** Name of the user who asks, for the log; null: anonymous. */
  userOf(call: SourceCall<W>): string | null
  /** Accounts with their credentials, places and counts. */
  overview(world: W): object
  /** Own control calls by name, each a POST. */
  controls: Record<string, ControlCall<W>>
}

/** Text of a field; empty if absent or of another type than text and number. */
export function fieldText(
  { fields, query }: Pick<SourceCall<unknown>, 'fields' | 'query'>,
  name: string,
): string {
  const value = fields[name] ?? query.get(name)
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

/** Whole number of a field; null if absent or malformed. */
export function wholeOf(
  call: Pick<SourceCall<unknown>, 'fields' | 'query'>,
  name: string,
): number | null {
  const text = fieldText(call, name)
  return /^-?\d{1,15}$/.test(text) ? Number(text) : null
}

/** Truth of a field, as a form or JSON writes it. */
export const truthOf = (
  call: Pick<SourceCall<unknown>, 'fields' | 'query'>,
  name: string,
): boolean => call.fields[name] === true || fieldText(call, name) === 'true'

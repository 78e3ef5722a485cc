import type { Config } from '../config/schema.ts'
import { parseInstant } from '../core/instant.ts'
import { type Scope, SCOPES } from '../store/keys.ts'
import { type Option, UsageError } from './command.ts'

/** A customer's name as it may be: 1 to 64 printable characters, no blanks around. Throws UsageError. */
export function parseName(text: string): string {
  if (/^[^\p{C}]{1,64}$/u.test(text) && text.trim() === text) return text
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 80))} is no name: allowed are 1 to 64 printable characters without blanks around them`,
  )
}

/** The name of a plan that the configuration knows. Throws UsageError naming those it does. */
export function parsePlan(name: string, { plans }: Config): string {
  if (Object.hasOwn(plans, name)) return name
  throw new UsageError(
    `there is no plan "${name}": the configuration has ${Object.keys(plans).join(', ')}`,
  )
}

/** `read,monitor` as scopes; left out, all of them. Throws UsageError. */
export function parseScopes(text: string | undefined): Scope[] {
  if (text === undefined) return [...SCOPES]
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !SCOPES.some((scope) => scope === name))
  if (unknown !== undefined)
    throw new UsageError(`"${unknown}" is no scope: allowed are ${SCOPES.join(', ')}`)
  return SCOPES.filter((scope) => names.includes(scope))
}

/** An instant to come, in ms: ISO 8601 with its zone, or a day, which begins in UTC. Null when left out. */
export function parseExpiry(text: string | undefined, now: number): number | null {
  if (text === undefined) return null
  const at = parseInstant(text)
  if (at === null)
    throw new UsageError(
      `"${text}" is no instant: allowed is ISO 8601 with its zone, such as 2027-01-31T12:00:00Z, or a day such as 2027-01-31`,
    )
  if (at <= now) throw new UsageError(`${text} is over already: a key expires in the future`)
  return at
}

/** An API key from elsewhere, without the line's end. Throws UsageError; the message does not repeat it. */
export function parseToken(text: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{16,256}$/.test(token)) return token
  throw new UsageError(
    'standard input holds no key: allowed are 16 to 256 visible ASCII characters on one line',
  )
}

/** One of a few words; null when left out. Throws UsageError naming the option and what it may be. */
export function parseChoice<const V extends string>(
  option: string,
  text: string | undefined,
  allowed: readonly V[],
): V | null {
  if (text === undefined) return null
  const found = allowed.find((it) => it === text)
  if (found !== undefined) return found
  throw new UsageError(`--${option} is "${text}": allowed are ${allowed.join(', ')}`)
}

const ROWS = 50
const ROWS_MAX = 1000

/** How many rows of a list are shown. */
export const LIMIT_OPTION = {
  type: 'string',
  value: 'N',
  help: `at most so many; ${ROWS} unless told`,
} as const satisfies Option

/** The number that {@link LIMIT_OPTION} was given. Throws UsageError. */
export const parseLimit = (text: string | undefined): number =>
  text === undefined ? ROWS : parseWhole('limit', text, 1, ROWS_MAX)

/** A whole number from `least` to `most`. Throws UsageError naming the option. */
export function parseWhole(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new UsageError(
    `--${option} is "${text}": allowed is a whole number from ${least} to ${most}`,
  )
}

import { readFileSync } from 'node:fs'

import type { Config } from '../config/schema.ts'
import { CUSTOMER_NAME_RULE, isCustomerName } from '../core/base/text.ts'
import { parseInstant } from '../core/base/time.ts'
import { formatUsd, parseUsd, toUsd, USD_RULE } from '../core/limits/price.ts'
import { DEFAULT_SCOPES, type Scope, SCOPES } from '../store/customers/keys.ts'
import { type CommandContext, UsageError } from './command.ts'

/**
 * Validates a customer's name: 1 to 64 printable characters, no blanks around.
 * @throws {UsageError} The name is malformed.
 */
export function parseName(text: string): string {
  if (isCustomerName(text)) return text
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 80))} is not a valid name: allowed are ${CUSTOMER_NAME_RULE}`,
  )
}

/** @throws {UsageError} The configuration has no such plan; the message lists its plans. */
export function parsePlan(name: string, { plans }: Config): string {
  if (Object.hasOwn(plans, name)) return name
  throw new UsageError(
    `there is no plan "${name}": the configuration has ${Object.keys(plans).join(', ')}`,
  )
}

/**
 * Parses scopes such as `read,monitor`; undefined: the default ones.
 * @throws {UsageError} A scope is unknown.
 */
export function parseScopes(text: string | undefined): Scope[] {
  if (text === undefined) return [...DEFAULT_SCOPES]
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !SCOPES.some((scope) => scope === name))
  if (unknown !== undefined)
    throw new UsageError(`"${unknown}" is not a scope: allowed are ${SCOPES.join(', ')}`)
  return SCOPES.filter((scope) => names.includes(scope))
}

/**
 * Parses a future instant in epoch ms: ISO 8601 with its zone, or a day, which starts in UTC. Null when absent.
 * @throws {UsageError} It is malformed or not in the future.
 */
export function parseExpiry(text: string | undefined, now: number): number | null {
  if (text === undefined) return null
  const at = parseInstant(text)
  if (at === null)
    throw new UsageError(
      `"${text}" is not a time: allowed is ISO 8601 with its zone, such as 2027-01-31T12:00:00Z, or a day such as 2027-01-31`,
    )
  if (at <= now) throw new UsageError(`${text} is in the past: allowed is a time in the future`)
  return at
}

/** @throws {UsageError} The key is malformed. The message does not repeat it. */
export function parseToken(text: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{16,256}$/.test(token)) return token
  throw new UsageError(
    'standard input holds no key: allowed are 16 to 256 visible ASCII characters on one line',
  )
}

/** @throws {UsageError} It is out of range; the message names the option. */
export function parseWhole(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new UsageError(
    `--${option} is "${text}": allowed is a whole number from ${least} to ${most}`,
  )
}

/**
 * Parses US dollars such as `12.5` exactly, to 12,500,000 micro-dollars.
 * @throws {UsageError} It is not a positive amount in decimals.
 */
export function parseDollars(text: string): number {
  const micros = parseUsd(text)
  if (micros === null) throw new UsageError(`"${text}" is not an amount: allowed are ${USD_RULE}`)
  return micros
}

/** Formats micro-dollars as US dollars with two to six decimals. */
export const formatDollars = (micros: number): string => formatUsd(toUsd(micros))

const KEY = /^[\x21-\x7e]{16,256}$/

/** @throws {UsageError} It cannot be read. */
export function readOption(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new UsageError(`--${option}: ${path} cannot be read`)
  }
}

/** @throws {UsageError} There is none, or it is malformed. */
export function keyFrom(file: string | undefined, { env }: Pick<CommandContext, 'env'>): string {
  const key = (file === undefined ? (env['FORUMD_KEY'] ?? '') : readOption('key-file', file)).trim()
  if (key === '' && file === undefined)
    throw new UsageError(
      'an API key is needed: set FORUMD_KEY, or name its file with --key-file FILE',
    )
  // The message does not repeat it.
  if (!KEY.test(key))
    throw new UsageError(
      `${file ?? 'FORUMD_KEY'} holds no key: allowed are 16 to 256 visible ASCII characters on one line`,
    )
  return key
}

/** @throws {UsageError} It is malformed. */
export function daemonUrl(text: string): string {
  const url = URL.parse(text)
  if (url && ['http:', 'https:'].includes(url.protocol) && url.username === '')
    return url.href.replace(/\/$/, '')
  throw new UsageError('--url must be an address such as http://127.0.0.1:8080')
}

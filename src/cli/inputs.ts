import { readFileSync } from 'node:fs'

import { CUSTOMER_NAME_RULE, isCustomerName } from '../core/base/text.ts'
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

/** @throws {UsageError} It is out of range; the message names the option. */
export function parseWhole(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new UsageError(
    `--${option} is "${text}": allowed is a whole number from ${least} to ${most}`,
  )
}

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

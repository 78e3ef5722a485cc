import { isObject } from '../core/object.ts'
import { secondsAt } from './read.ts'

/** When a token says of itself that it ends, in epoch ms; null when it is no such token. Proof of nothing. */
export function expiryOf(token: string): number | null {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1]
  if (payload === undefined) return null
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const seconds = isObject(claims) ? secondsAt(claims, 'exp') : null
    return seconds === null ? null : seconds * 1000
  } catch {
    return null
  }
}

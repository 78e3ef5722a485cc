import type * as z from 'zod'

import { hintFor } from './keys.ts'
import type { Path, Position } from './positions.ts'
import type { Refused, Resolved } from './references.ts'

/** One thing that is wrong with a configuration, and where. */
export type Problem = Position & {
  /** Dotted, such as `server.port` or `guard.allow_targets[2]`; empty for the file as a whole. */
  key: string
  found: string
  allowed: string
}

const MISSING = 'missing'

// These may hold a password or a token: their values are never repeated.
const SECRETS = new Set(['smtp.url', 'operator.webhook', 'operator.secret', 'metrics.token'])

/** What a failed parse says, one entry a place, in words for an operator. */
export function refusalsOf(issues: readonly z.core.$ZodIssue[], resolved: Resolved): Refused[] {
  const seen = new Set(resolved.refused.map(({ path }) => JSON.stringify(path)))
  const refusals = [...resolved.refused]
  const add = (refused: Refused) => {
    const name = JSON.stringify(refused.path)
    if (seen.has(name)) return
    seen.add(name)
    refusals.push(refused)
  }
  for (const issue of issues) {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys)
        add({ path: [...path, key], found: 'unknown key', allowed: hintFor(path, key) })
    else if (issue.code === 'invalid_key')
      add({
        path,
        found: 'found this name',
        allowed: `allowed: ${issue.issues[0]?.message ?? issue.message}`,
      })
    else {
      const found = foundAt(path, resolved)
      add({ path, found, allowed: `${found === MISSING ? 'needed' : 'allowed'}: ${issue.message}` })
    }
  }
  return refusals
}

function foundAt(path: Path, { value, originOf }: Resolved): string {
  const origin = originOf(path)
  if (origin !== null) return `found the value of ${JSON.stringify(origin)}`
  let node: unknown = value
  for (const part of path)
    node = typeof node === 'object' && node !== null ? Reflect.get(node, part) : undefined
  if (node === undefined) return MISSING
  if (SECRETS.has(path.join('.')) && typeof node === 'string') return 'found this text'
  return `found ${shown(node)}`
}

const LONGEST_SHOWN = 60

function shown(value: unknown): string {
  if (typeof value === 'string') {
    const cut = value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value
    return JSON.stringify(cut.replace(/:\/\/[^/]*@/, '://…@'))
  }
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value instanceof Date) return 'a date'
  return typeof value === 'object' && value !== null ? 'a table' : String(value)
}

/** Where each refusal stands: its own place, or that of the nearest table around it. */
export function placed(refused: Refused, positionOf: (path: Path) => Position | null): Problem {
  let position: Position | null = null
  for (let length = refused.path.length; position === null && length > 0; length--)
    position = positionOf(refused.path.slice(0, length))
  const { line, column } = position ?? { line: 1, column: 1 }
  return { line, column, key: keyOf(refused.path), found: refused.found, allowed: refused.allowed }
}

function keyOf(path: Path): string {
  let key = ''
  for (const part of path) {
    if (typeof part === 'number') key += `[${part}]`
    else key += (key && '.') + (/^[\w-]{1,100}$/.test(part) ? part : shown(part))
  }
  return key
}

import { findPositions, type Path } from '../../config/positions.ts'
import { placed, refusalsOf } from '../../config/problems.ts'
import type { Refused } from '../../config/references.ts'
import { ConfigError, parseToml } from '../../config/toml.ts'
import { type Document, documentSchema } from './document.ts'

/** A file of monitors and webhooks, read; `refuse` turns problems of it into the error that tells their places. */
export type Code = { document: Document; refuse: (problems: readonly Refused[]) => ConfigError }

const ALLOWED = 'the file must be TOML or JSON'

/** Reads TOML, or JSON when it begins as an object does: a bracket begins a table of TOML. Throws {@link ConfigError} with a line for every problem. */
export function readCode(file: string, text: string): Code {
  const is_json = /^\s*\{/.test(text)
  const value = is_json ? fromJson(file, text) : parseToml(text, file, ALLOWED)
  const positionOf = is_json ? () => null : findPositions(text)
  const refuse = (problems: readonly Refused[]) =>
    new ConfigError(
      file,
      problems
        .map((it) => placed(it, positionOf))
        .toSorted((a, b) => a.line - b.line || a.column - b.column),
    )
  const result = documentSchema.safeParse(value, { jitless: true })
  if (result.success) return { document: result.data, refuse }
  const about = { value, refused: [], originOf: () => null }
  throw refuse(refusalsOf(result.error.issues, about).map(withoutHint))
}

// The nearest key of a configuration is no help here.
const withoutHint = (refused: Refused): Refused =>
  refused.found === 'unknown key' ? { ...refused, allowed: allowedAt(refused.path) } : refused

function allowedAt(path: Path): string {
  if (path.includes('monitors'))
    return 'allowed: id, name, filter_spec, cadence_s, webhooks, active'
  if (path.includes('webhooks'))
    return 'allowed: id, name, kind, url, active, ordered, max_per_second'
  return path.length > 1 ? 'allowed: name, webhooks, monitors' : 'allowed: version, customers'
}

function fromJson(file: string, text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text.replace(/^\uFEFF/, '')) }
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    throw new ConfigError(file, [{ line: 1, column: 1, key: '', found, allowed: ALLOWED }])
  }
}

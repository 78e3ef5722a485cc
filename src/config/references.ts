import { errorCode } from '../core/base/errors.ts'
import { removedText } from '../core/base/removed.ts'
import type { ConfigPath } from './positions.ts'

export type ReferenceSources = {
  env: Readonly<Record<string, string | undefined>>
  readFile: (path: string) => string
  /** `$CREDENTIALS_DIRECTORY`, the folder of `file:` names without a slash; null: not set. */
  credentials_dir: string | null
}

export type RefusedValue = { path: ConfigPath; found: string; allowed: string }

export type ResolvedConfig = {
  value: Readonly<Record<string, unknown>>
  refused: RefusedValue[]
  /** The reference `env:NAME` or `file:NAME` that a value came from; null: none. */
  originOf: (path: ConfigPath) => string | null
}

// The values of these keys are paths: `file:ca.pem` resolves to the path, not to the content.
const FILE_NAMES = new Set([
  'storage.dir',
  'storage.key_file',
  'storage.instance_file',
  'requests.ca_file',
  'delivery.ca_file',
  'browser.executable',
])

/** Replaces every `env:NAME` and `file:PATH` by its value. */
export function resolveReferences(
  value: Readonly<Record<string, unknown>>,
  sources: ReferenceSources,
): ResolvedConfig {
  const refused: RefusedValue[] = []
  const origins = new Map<string, string>()

  function resolve(node: unknown, path: ConfigPath): unknown {
    if (typeof node === 'string') return resolveText(node, path)
    if (Array.isArray(node)) return node.map((item, index) => resolve(item, [...path, index]))
    return isTable(node) ? resolveTable(node, path) : node
  }

  // Without a prototype, like the tables of smol-toml: a key may be named __proto__.
  function resolveTable(node: Readonly<Record<string, unknown>>, path: ConfigPath) {
    const table: Record<string, unknown> = Object.create(null)
    for (const [key, item] of Object.entries(node)) table[key] = resolve(item, [...path, key])
    return table
  }

  function resolveText(text: string, path: ConfigPath): unknown {
    // A removed key is refused as such, whatever it refers to.
    if (!/^(env|file):/.test(text) || removedText('config', path.join('.')) !== null) return text
    origins.set(JSON.stringify(path), text)
    const outcome = text.startsWith('env:')
      ? fromEnvironment(text.slice('env:'.length), sources)
      : fromFile(text.slice('file:'.length), sources, FILE_NAMES.has(path.join('.')))
    if (typeof outcome === 'string') return outcome
    refused.push({ path, ...outcome })
    // Omitted, so that validation adds no second problem for the key.
    return undefined
  }

  return {
    value: resolveTable(value, []),
    refused,
    originOf: (path) => origins.get(JSON.stringify(path)) ?? null,
  }
}

type Missing = { found: string; allowed: string }

function fromEnvironment(name: string, { env }: ReferenceSources): string | Missing {
  const text = env[name]
  if (text !== undefined) return text
  return {
    found: `found "env:${name}", but that environment variable is not set`,
    allowed: `set ${name || 'a variable by name'} before forumd starts, or write the value here`,
  }
}

function fromFile(name: string, sources: ReferenceSources, isName: boolean): string | Missing {
  const found = `found "file:${name}"`
  if (name === '') return { found, allowed: 'allowed: "file:/path" or the name of a credential' }
  if (!name.includes('/') && sources.credentials_dir === null)
    return {
      found: `${found}, but $CREDENTIALS_DIRECTORY is not set`,
      allowed:
        'allowed: a path with a slash in it, or LoadCredential in the unit that starts forumd; beside that, CREDENTIALS_DIRECTORY=/run/credentials/forumd.service before the command',
    }
  const path = name.includes('/') ? name : `${sources.credentials_dir}/${name}`
  if (isName) return path
  try {
    return sources.readFile(path).replace(/\r?\n$/, '')
  } catch (error) {
    return {
      found: `${found}, but ${path} cannot be read (${reasonOf(error)})`,
      allowed: 'allowed: a text file that the user who runs forumd may read',
    }
  }
}

/** The system's error code, such as ENOENT, or the error message. */
function reasonOf(error: unknown): string {
  return errorCode(error) || (error instanceof Error ? error.message : String(error))
}

/** Type guard for a TOML table, as opposed to a list, date or scalar. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  )
}

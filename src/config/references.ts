import { errorCode } from '../core/error-code.ts'
import type { Path } from './positions.ts'

/** What stands around a configuration text: the environment and the files it may refer to. */
export type Surroundings = {
  env: Readonly<Record<string, string | undefined>>
  /** The text of a file; throws when it cannot be read. */
  readFile: (path: string) => string
  /** `$CREDENTIALS_DIRECTORY`: where `file:` names without a slash are looked up. */
  credentials_dir: string | null
}

/** A value that cannot be used: where it stands, what was found, what is allowed. */
export type Refused = { path: Path; found: string; allowed: string }

/** A configuration with its references followed, and what could not be. */
export type Resolved = {
  value: Readonly<Record<string, unknown>>
  refused: Refused[]
  /** Reads `env:NAME` or `file:NAME` when the value of this path came from there. */
  originOf: (path: Path) => string | null
}

// These name a file themselves: `file:ca.pem` is where it lies, not what is in it.
const FILE_NAMES = new Set([
  'storage.dir',
  'storage.key_file',
  'platform.ca_file',
  'delivery.ca_file',
  'browser.executable',
])

/** Replaces every `env:NAME` and `file:PATH` in a parsed text by what it stands for. */
export function resolveReferences(
  value: Readonly<Record<string, unknown>>,
  around: Surroundings,
): Resolved {
  const refused: Refused[] = []
  const origins = new Map<string, string>()

  function resolve(node: unknown, path: Path): unknown {
    if (typeof node === 'string') return resolveText(node, path)
    if (Array.isArray(node)) return node.map((item, index) => resolve(item, [...path, index]))
    return isTable(node) ? resolveTable(node, path) : node
  }

  // Without a prototype, as smol-toml makes its tables: a key may be called __proto__.
  function resolveTable(node: Readonly<Record<string, unknown>>, path: Path) {
    const table: Record<string, unknown> = Object.create(null)
    for (const [key, item] of Object.entries(node)) table[key] = resolve(item, [...path, key])
    return table
  }

  function resolveText(text: string, path: Path): unknown {
    if (!/^(env|file):/.test(text)) return text
    origins.set(JSON.stringify(path), text)
    const outcome = text.startsWith('env:')
      ? fromEnvironment(text.slice('env:'.length), around)
      : fromFile(text.slice('file:'.length), around, FILE_NAMES.has(path.join('.')))
    if (typeof outcome === 'string') return outcome
    refused.push({ path, ...outcome })
    // Left out, so that nothing further is said about it.
    return undefined
  }

  return {
    value: resolveTable(value, []),
    refused,
    originOf: (path) => origins.get(JSON.stringify(path)) ?? null,
  }
}

type Missing = { found: string; allowed: string }

function fromEnvironment(name: string, { env }: Surroundings): string | Missing {
  const text = env[name]
  if (text !== undefined) return text
  return {
    found: `found "env:${name}", but that environment variable is not set`,
    allowed: `set ${name || 'a variable by name'} before forumd starts, or write the value here`,
  }
}

function fromFile(name: string, around: Surroundings, isName: boolean): string | Missing {
  const found = `found "file:${name}"`
  if (name === '') return { found, allowed: 'allowed: "file:/path" or the name of a credential' }
  if (!name.includes('/') && around.credentials_dir === null)
    return {
      found: `${found}, but $CREDENTIALS_DIRECTORY is not set`,
      allowed:
        'allowed: a path with a slash in it, or LoadCredential in the unit that starts forumd; beside that, CREDENTIALS_DIRECTORY=/run/credentials/forumd.service before the command',
    }
  const path = name.includes('/') ? name : `${around.credentials_dir}/${name}`
  if (isName) return path
  try {
    return around.readFile(path).replace(/\r?\n$/, '')
  } catch (error) {
    return {
      found: `${found}, but ${path} cannot be read (${reasonOf(error)})`,
      allowed: 'allowed: a text file that the user who runs forumd may read',
    }
  }
}

/** The system's short word for a failure, such as ENOENT, or its sentence. */
function reasonOf(error: unknown): string {
  return errorCode(error) || (error instanceof Error ? error.message : String(error))
}

/** Whether this is a table of TOML, and not a list, a date or a plain value. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  )
}

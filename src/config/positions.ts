import type { AST } from 'toml-eslint-parser'

/** A position in a text. Line and column start at 1; columns count UTF-16 units, like smol-toml. */
export type SourcePosition = { line: number; column: number }

/** The path of a value: names of tables and keys, and list indexes from 0. */
export type ConfigPath = readonly (string | number)[]

/** Loaded with the first refused file: a valid one needs no positions. */
const library = (): typeof import('toml-eslint-parser') => require('toml-eslint-parser')

/** The first position of a key or element, and those below it. A path for each would be quadratic in the depth. */
type Place = { position: SourcePosition | null; inner: Map<string | number, Place> }

const empty = (): Place => ({ position: null, inner: new Map() })

/** The place of `part` below `place`; the first position counts. */
function enter(place: Place, part: string | number, { loc: { start } }: AST.HasLocs): Place {
  const found = place.inner.get(part) ?? empty()
  found.position ??= { line: start.line, column: start.column + 1 }
  place.inner.set(part, found)
  return found
}

const nameOf = (key: AST.TOMLBare | AST.TOMLQuoted): string =>
  key.type === 'TOMLBare' ? key.name : key.value

function addEntry(place: Place, { key, value }: AST.TOMLKeyValue) {
  addValue(
    key.keys.reduce((at, part) => enter(at, nameOf(part), part), place),
    value,
  )
}

function addValue(place: Place, value: AST.TOMLContentNode) {
  if (value.type === 'TOMLInlineTable') for (const entry of value.body) addEntry(place, entry)
  if (value.type === 'TOMLArray')
    for (const [index, item] of value.elements.entries()) addValue(enter(place, index, item), item)
}

function addTable(root: Place, { key, resolvedKey, body }: AST.TOMLTable) {
  const names = key.keys.values()
  const table = resolvedKey.reduce<Place>(
    (at, part) => enter(at, part, typeof part === 'number' ? key : (names.next().value ?? key)),
    root,
  )
  for (const entry of body) addEntry(table, entry)
}

/**
 * Finds the first position of each key, table and list element of a TOML text that smol-toml accepts. None is found in a
 * text that the other library refuses, such as one with a string of a megabyte.
 */
export function findPositions(text: string): (path: ConfigPath) => SourcePosition | null {
  const root = empty()
  try {
    // A blank in place of the byte order mark, which the library refuses, keeps the columns.
    for (const it of library().parseTOML(text.replace(/^\uFEFF/, ' ')).body[0].body)
      if (it.type === 'TOMLTable') addTable(root, it)
      else addEntry(root, it)
  } catch {
    return () => null
  }
  return (path) =>
    path.reduce<Place | undefined>((at, part) => at?.inner.get(part), root)?.position ?? null
}

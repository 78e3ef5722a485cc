import { parse } from 'smol-toml'
import * as z from 'zod'

/** A position in a text. Line and column start at 1; columns count UTF-16 units, like smol-toml. */
export type SourcePosition = { line: number; column: number }

/** The path of a value: names of tables and keys, and list indexes from 0. */
export type ConfigPath = readonly (string | number)[]

const BLANK = new Set([' ', '\t', '\n', '\r'])
const decoded = z.object({ key: z.string() })

/**
 * Finds the first position of each key, table and list element of a TOML text. The text must have passed smol-toml, which
 * reports no positions: this function follows the structure and validates nothing.
 */
export function findPositions(text: string): (path: ConfigPath) => SourcePosition | null {
  const found = new Map<string, number>()
  const elements = new Map<string, number>()
  let at = text.startsWith('\uFEFF') ? 1 : 0

  const note = (path: ConfigPath, offset: number) => {
    const name = JSON.stringify(path)
    if (!found.has(name)) found.set(name, offset)
  }

  function skipBlank() {
    while (at < text.length) {
      if (text[at] === '#') at = lineEnd()
      else if (BLANK.has(text[at] ?? '')) at++
      else return
    }
  }

  function lineEnd() {
    const end = text.indexOf('\n', at)
    return end < 0 ? text.length : end
  }

  function skipString() {
    const quote = text[at] ?? ''
    const fence = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
    at += fence.length
    while (at < text.length && !text.startsWith(fence, at))
      at += quote === '"' && text[at] === '\\' ? 2 : 1
    at += fence.length
    // A multi-line string may end with one or two quotes before the closing three.
    while (fence.length === 3 && text[at] === quote) at++
  }

  function readName(): string {
    const start = at
    if (text[at] !== '"' && text[at] !== "'") {
      while (/[\w-]/.test(text[at] ?? '')) at++
      return text.slice(start, at)
    }
    skipString()
    return decoded.parse(parse(`key = ${text.slice(start, at)}`)).key
  }

  /** Reads `a."b".c` below `base`, records each part and returns the resulting path. */
  function readKey(base: ConfigPath, isHeader: boolean): ConfigPath {
    let path = base
    for (;;) {
      skipBlank()
      const start = at
      path = [...path, readName()]
      note(path, start)
      skipBlank()
      if (text[at] !== '.') return path
      at++
      // A header that passes through an array of tables refers to its last element.
      const last = isHeader ? elements.get(JSON.stringify(path)) : undefined
      if (last !== undefined) path = [...path, last]
    }
  }

  function readHeader(): ConfigPath {
    const isList = text[at + 1] === '['
    at += isList ? 2 : 1
    const start = at
    let path = readKey([], true)
    at += isList ? 2 : 1
    if (!isList) return path
    const name = JSON.stringify(path)
    const index = (elements.get(name) ?? -1) + 1
    elements.set(name, index)
    path = [...path, index]
    note(path, start)
    return path
  }

  function readEntry(base: ConfigPath) {
    const path = readKey(base, false)
    at++
    skipBlank()
    readValue(path)
  }

  function readValue(path: ConfigPath) {
    const first = text[at]
    if (first === '"' || first === "'") skipString()
    else if (first === '[')
      readItems(']', (index) => {
        note([...path, index], at)
        readValue([...path, index])
      })
    else if (first === '{') readItems('}', () => readEntry(path))
    else while (at < text.length && !/[,\]}#\r\n]/.test(text[at] ?? '')) at++
  }

  function readItems(close: string, readItem: (index: number) => void) {
    at++
    for (let index = 0; at < text.length; index++) {
      skipBlank()
      if (text[at] !== close) readItem(index)
      skipBlank()
      if (text[at++] === close) return
    }
  }

  let table: ConfigPath = []
  for (skipBlank(); at < text.length; skipBlank()) {
    const before = at
    if (text[at] === '[') table = readHeader()
    else readEntry(table)
    // No progress means invalid TOML; stops instead of looping forever.
    if (at === before) break
  }

  return (path) => {
    const offset = found.get(JSON.stringify(path))
    return offset === undefined ? null : positionOf(text, offset)
  }
}

function positionOf(text: string, offset: number): SourcePosition {
  const lines = text.slice(0, offset).split('\n')
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}

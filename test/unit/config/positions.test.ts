import { expect, test } from 'bun:test'

import * as fc from 'fast-check'
import { parse } from 'smol-toml'

import { type ConfigPath, findPositions } from '../../../src/config/positions.ts'

const at = (text: string, ...path: (string | number)[]) => {
  const position = findPositions(text)(path)
  return position && `${position.line}:${position.column}`
}

test('the position of a key is the start of its name', () => {
  const text = '# first\n[server]\n  port = 1 # comment = 2\n\thost = "x"\n'

  expect(at(text, 'server')).toBe('2:2')
  expect(at(text, 'server', 'port')).toBe('3:3')
  expect(at(text, 'server', 'host')).toBe('4:2')
  expect(at(text, 'comment')).toBeNull()
})

test('each part of a dotted or quoted key has a position', () => {
  const text = 'a . "b.c" . \'d\' = 1\r\n"\\u0061".e = 2'

  expect(at(text, 'a', 'b.c')).toBe('1:5')
  expect(at(text, 'a', 'b.c', 'd')).toBe('1:13')
  expect(at(text, 'a', 'e')).toBe('2:10')
})

test('ignores text in strings, comments and lists that looks like a key', () => {
  const text = [
    'a = """',
    'port = 1',
    '\\""" # [not]""""',
    "b = '''",
    "[x]''''",
    'c = [ # "]',
    '  "]", [1, { d = 1 }],',
    ']',
    'port = 2',
  ].join('\n')

  expect(parse(text)['port']).toBe(2)
  expect(at(text, 'port')).toBe('9:1')
  expect(at(text, 'c', 1)).toBe('7:8')
  expect(at(text, 'c', 1, 1, 'd')).toBe('7:14')
})

test('each table of an array has its own position', () => {
  const text = '[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 3\n[[a.e]]\n[[a.e]]\nf = 4'

  expect(at(text, 'a', 0, 'b')).toBe('2:1')
  expect(at(text, 'a', 1)).toBe('3:3')
  expect(at(text, 'a', 1, 'b')).toBe('4:1')
  expect(at(text, 'a', 1, 'c', 'd')).toBe('6:1')
  expect(at(text, 'a', 1, 'e', 1, 'f')).toBe('9:1')
})

test('a byte order mark counts as a column', () => {
  expect(at('\uFEFFa = 1\nb = 1', 'a')).toBe('1:2')
  expect(at('\uFEFFa = 1\nb = 1', 'b')).toBe('2:1')
})

test('a key of a hundred thousand parts takes time linear in its length', () => {
  const path = Array.from({ length: 100_000 }, () => 'a')

  expect(at(`${path.join('.')} = 1\n[b]`, ...path)).toBe('1:199999')
}, 10_000)

test('a text that the library refuses has no positions, and is no crash', () => {
  const text = `a = "${'x'.repeat(2 ** 20)}"\nb = 1`

  expect(parse(text)['b']).toBe(1)
  expect(at(text, 'b')).toBeNull()
})

test('the position matches the key that smol-toml reads, for any spelling', () => {
  fc.assert(
    fc.property(anyTable, fc.infiniteStream(fc.nat(99)), (table, styles) => {
      const text = write(table, () => styles.next().value ?? 0)
      const parsed = parse(text)
      const positionOf = findPositions(text)

      for (const path of leavesOf(parsed)) {
        const position = positionOf(path)
        if (position === null) throw new Error(`no place for ${JSON.stringify(path)} in\n${text}`)
        // Replacing the text at the position must change exactly that key or element.
        const offset = offsetOf(text, position)
        const rest = text.slice(offset)
        const name = path.at(-1)
        const changed =
          typeof name === 'number'
            ? `${text.slice(0, offset)}"changed", ${rest}`
            : text.slice(0, offset) + rest.replace(NAME, 'changed')
        const expected = typeof name === 'number' ? 'changed' : valueAt(parsed, path)
        const moved = typeof name === 'number' ? path : [...path.slice(0, -1), 'changed']
        expect(valueAt(parse(changed), moved)).toEqual(expected)
      }
    }),
    { numRuns: 300 },
  )
})

test('terminates on any text, valid TOML or not', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...'[]{}=.,"\'#\\ \n\ra1'.split('')), { maxLength: 40 }),
      (characters) => {
        const text = characters.join('')

        const outcome = () => {
          try {
            return typeof findPositions(text)(['a'])
          } catch {
            return 'refused'
          }
        }

        expect(['object', 'refused']).toContain(outcome())
      },
    ),
    { numRuns: 2000 },
  )
})

const NAME = /^(?:[\w-]+|"(?:\\.|[^"\\])*"|'[^']*')/

type Value = string | number | boolean | Value[] | { [key: string]: Value }

const key = fc.constantFrom('a', 'b', 'c-d', '_1', '7', 'x.y', 'ä', '# no', '', 'q"uote', '\\')
const scalar = fc.oneof(
  fc.integer({ min: -99, max: 99 }),
  fc.boolean(),
  fc.string({ maxLength: 6 }).map((it) => it.replace(/[^\x20-\x7e]/g, '')),
  fc.constantFrom('two\nlines', '"""', "'''", ' ] } # ', 'a = 1', ''),
)
const { anyTable } = fc.letrec<{ anyTable: Record<string, Value>; anyValue: Value }>((tie) => ({
  anyTable: fc.dictionary(key, tie('anyValue'), { maxKeys: 4, noNullPrototype: true }),
  anyValue: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('anyValue'), { maxLength: 3 }),
    tie('anyTable'),
  ),
}))

const isTable = (value: Value | undefined): value is Record<string, Value> =>
  typeof value === 'object' && !Array.isArray(value)

/** Writes a table as TOML with spellings chosen by `style`. */
function write(root: Record<string, Value>, style: () => number): string {
  const gap = () => ['', ' ', '\t'][style() % 3] ?? ''
  const lines = () => ['', ' ', '\n', ' # ] } " \n'][style() % 4] ?? ''
  const eol = () => ['\n', '\r\n', ' # [x] = "\n', '\n\n'][style() % 4] ?? '\n'
  const spell = (name: string) => {
    if (/^[\w-]+$/.test(name) && style() % 3 > 0) return name
    return style() % 2 && !/['\n]/.test(name) ? `'${name}'` : JSON.stringify(name)
  }
  const dotted = (names: string[]) => names.map((it) => gap() + spell(it) + gap()).join('.')

  function inline(value: Value): string {
    if (Array.isArray(value))
      return `[${value.map((it) => lines() + inline(it) + lines()).join(',')}${lines()}]`
    if (isTable(value))
      return `{${Object.entries(value)
        .map(([name, it]) => `${gap()}${spell(name)}${gap()}=${gap()}${inline(it)}${gap()}`)
        .join(',')}}`
    if (typeof value !== 'string') return String(value)
    if (style() % 3 === 0 && !value.includes("'")) return `'''${value}'''`
    return style() % 2 && !value.includes('"') && !value.includes('\\')
      ? `"""${value}"""`
      : JSON.stringify(value)
  }

  /** Entries of one table: inline entries first, then those with their own header. */
  function body(table: Record<string, Value>, path: string[], prefix: string[]): string {
    let text = ''
    let headers = ''
    for (const [name, value] of Object.entries(table)) {
      const here = [...path, name]
      const choice = style() % 3
      if (isTable(value) && Object.keys(value).length > 0 && choice === 0)
        text += body(value, here, [...prefix, name])
      else if (isTable(value) && choice === 1 && prefix.length === 0)
        headers += `[${dotted(here)}]${eol()}${body(value, here, [])}`
      else if (Array.isArray(value) && value.length > 0 && value.every(isTable) && !prefix.length)
        for (const item of value) headers += `[[${dotted(here)}]]${eol()}${body(item, here, [])}`
      else text += `${dotted([...prefix, name])}=${gap()}${inline(value)}${eol()}`
    }
    return text + headers
  }

  return body(root, [], [])
}

function leavesOf(value: unknown, path: ConfigPath = []): ConfigPath[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => {
      const here = [...path, index]
      const inner = leavesOf(item, here)
      return typeof item === 'object' && item !== null ? inner : [here, ...inner]
    })
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => {
    const here = [...path, name]
    const inner = leavesOf(item, here)
    return typeof item === 'object' && item !== null ? inner : [here, ...inner]
  })
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let node = value
  for (const part of path) node = Reflect.get(Object(node), part)
  return node
}

function offsetOf(text: string, { line, column }: { line: number; column: number }): number {
  const before = text.split('\n').slice(0, line - 1)
  return before.reduce((sum, it) => sum + it.length + 1, 0) + column - 1
}

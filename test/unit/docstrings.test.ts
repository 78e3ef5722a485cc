// Goal: whoever calls something reads what it is for where it is declared. Method: every export of the source has a doc comment,
// but for what says the same in another way.
import { expect, test } from 'bun:test'

const src = `${import.meta.dir}/../../src/`

const EXPORT =
  /^export (?:declare )?(?:async )?(?:abstract )?(function|const|class|type|interface)\*? +(\w+)/

/** What needs no words of its own, and why. */
const SELF_EXPLANATORY: readonly [why: string, says: RegExp][] = [
  [
    'what a function or a part of the page takes is told there',
    /^export type \w*(Deps|Options|Props)\b/,
  ],
  [
    'a type is read off a value',
    /= \(?(?:typeof|keyof typeof|z\.(?:infer|input|output)<|ReturnType<)/,
  ],
  ['a command tells its summary to whoever asks for help', / = command\(\{$/],
  [
    'the document of the API describes it',
    /= (?:ResponseBody<'|NonNullable<Preview|\w+\['|Pick<Any|Omit<(?:Any|ResponseBody))/,
  ],
]

/** The exports of a text that nothing is said of, each with its line. */
function untold(text: string): string[] {
  const lines = text.split('\n')
  const missing = new Set<string>()
  return lines.flatMap((line, at) => {
    const [, , name] = EXPORT.exec(line) ?? []
    // A further form of a function is told at its first one.
    if (name === undefined || missing.has(name)) return []
    missing.add(name)
    if (lines[at - 1]?.trimEnd().endsWith('*/')) return []
    return SELF_EXPLANATORY.some(([, pattern]) => pattern.test(line)) ? [] : [`${at + 1} ${name}`]
  })
}

test('every export says what it is for', async () => {
  const found: string[] = []
  let exports = 0
  for await (const file of new Bun.Glob('**/*.{ts,tsx}').scan(src)) {
    const text = await Bun.file(src + file).text()
    exports += text.split('\n').filter((line) => EXPORT.test(line)).length
    found.push(...untold(text).map((it) => `${file}:${it}`))
  }

  expect(found.toSorted()).toEqual([])
  expect(exports).toBeGreaterThan(2000)
})

test.each([
  ['export const LIMIT = 5', ['1 LIMIT']],
  ['/** How many. */\nexport const LIMIT = 5', []],
  ['// How many.\nexport const LIMIT = 5', ['2 LIMIT']],
  ['export async function go() {}', ['1 go']],
  ['export class Lost extends Error {}', ['1 Lost']],
  ['export type SenderDeps = {', []],
  ['export type Kind = (typeof KINDS)[number]', []],
  ['/** Both. */\nexport function f(a: 1): 1\n// Why.\nexport function f(a: 2): 2', []],
  ['const hidden = 5', []],
])('of %j nothing is said of %j', (text, names) => {
  expect(untold(text)).toEqual(names)
})

// Goal: callers find the purpose of an export at its declaration. Method: every export of the source has a doc comment,
// except those that are documented in another way.
import { expect, test } from 'bun:test'

const src = `${import.meta.dir}/../../src/`

const EXPORT =
  /^export (?:declare )?(?:async )?(?:abstract )?(function|const|class|type|interface)\*? +(\w+)/

/** Exports without a doc comment, with the reason. */
const SELF_EXPLANATORY: readonly [why: string, says: RegExp][] = [
  [
    'parameters are documented at the function or component',
    /^export type \w*(Deps|Options|Props)\b/,
  ],
  [
    'the type is inferred from a value',
    /= \(?(?:typeof|keyof typeof|z\.(?:infer|input|output)<|ReturnType<)/,
  ],
  ['the help text contains the summary of a command', / = command\(\{$/],
  [
    'the OpenAPI document describes it',
    /= (?:ResponseBody<'|NonNullable<Preview|\w+\['|Pick<Any|Omit<(?:Any|ResponseBody))/,
  ],
]

/** Undocumented exports of a text, each with its line. */
function undocumented(text: string): string[] {
  const lines = text.split('\n')
  const missing = new Set<string>()
  return lines.flatMap((line, at) => {
    const [, , name] = EXPORT.exec(line) ?? []
    // An overload is documented at its first signature.
    if (name === undefined || missing.has(name)) return []
    missing.add(name)
    if (lines[at - 1]?.trimEnd().endsWith('*/')) return []
    return SELF_EXPLANATORY.some(([, pattern]) => pattern.test(line)) ? [] : [`${at + 1} ${name}`]
  })
}

test('every export has a doc comment', async () => {
  const found: string[] = []
  let exports = 0
  for await (const file of new Bun.Glob('**/*.{ts,tsx}').scan(src)) {
    const text = await Bun.file(src + file).text()
    exports += text.split('\n').filter((line) => EXPORT.test(line)).length
    found.push(...undocumented(text).map((it) => `${file}:${it}`))
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
])('in %j the undocumented exports are %j', (text, names) => {
  expect(undocumented(text)).toEqual(names)
})

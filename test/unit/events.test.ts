import { expect, test } from 'bun:test'

import { FIELDS } from '../../src/log.ts'

const src = `${import.meta.dir}/../../src/`
const doc = `${import.meta.dir}/../../docs/events.md`

/** A call of a log: its level, and the name that it writes. */
const CALL = /\blog\(\s*([^,]+?),\s*(?:'([a-z_]+\.[a-z_]+)'|`([^`]+)`)/g
const LEVEL = /'(debug|info|warn|error)'/g

/** Every event that the source writes, with its levels; a loop's own name stands for all of them. */
async function written(): Promise<Map<string, Set<string>>> {
  const events = new Map<string, Set<string>>()
  for await (const file of new Bun.Glob('**/*.ts').scan(src))
    for (const [, level = '', name, template = ''] of (await Bun.file(src + file).text()).matchAll(
      CALL,
    )) {
      const event = name ?? template.replace('${name}', 'LOOP')
      const levels = events.get(event) ?? new Set()
      for (const [, each = ''] of level.matchAll(LEVEL)) levels.add(each)
      events.set(event, levels)
    }
  return events
}

/** The names in an object that is written out, where `text` begins with it; what is spread into it has no name here. */
function namesOf(text: string): string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const sign of text) {
    if ('{[('.includes(sign)) depth += 1
    if ('}])'.includes(sign)) depth -= 1
    if (depth === 0) break
    if (depth === 1 && sign === ',') parts.push('')
    else if (depth > 1 || sign !== '{') parts.push((parts.pop() ?? '') + sign)
  }
  return parts.flatMap((part) => /^(\w+)(?=\s*(?::|$))/.exec(part.trim())?.[1] ?? [])
}

/** Every event of the document, in its order, with its levels. */
async function documented(): Promise<[string, string[]][]> {
  const rows = (await Bun.file(doc).text()).matchAll(
    /^\| `([^`]+)`\s*\| ([a-z, ]+?)\s*\| (.+?)\s*\|$/gm,
  )
  return [...rows].map(([, event = '', levels = '']) => [event, levels.split(', ')])
}

test('docs/events.md has every event of the source, and no other: whoever adds one adds its line', async () => {
  const of_source = await written()

  expect(of_source.size).toBeGreaterThan(40)
  expect((await documented()).map(([event]) => event)).toEqual([...of_source.keys()].toSorted())
})

test('each is written at the levels that docs/events.md says', async () => {
  const of_source = await written()

  for (const [event, levels] of await documented())
    expect([event, levels.toSorted()]).toEqual([
      event,
      [...(of_source.get(event) ?? [])].toSorted(),
    ])
})

test('what is told by name may stand in the log: whoever adds a field adds it to FIELDS', async () => {
  const told: string[] = []
  const left_out: string[] = []
  for await (const file of new Bun.Glob('**/*.ts').scan(src)) {
    const text = await Bun.file(src + file).text()
    for (const call of text.matchAll(CALL)) {
      const after = text.slice(call.index + call[0].length).replace(/^,\s*/, '')
      const names = after.startsWith('{') ? namesOf(after) : []
      told.push(...names)
      left_out.push(...names.flatMap((name) => (FIELDS.has(name) ? [] : [`${file}: ${name}`])))
    }
  }

  expect(left_out).toEqual([])
  expect(told.length).toBeGreaterThan(80)
})

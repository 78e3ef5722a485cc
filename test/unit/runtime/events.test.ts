import { expect, test } from 'bun:test'

import { LOG_FIELDS } from '../../../src/runtime/log.ts'

const src = `${import.meta.dir}/../../../src/`
const doc = `${import.meta.dir}/../../../docs/events.md`

/** A log call: its level, and the name of the event. */
const CALL = /\blog\(\s*([^,]+?),\s*(?:'([a-z_]+\.[a-z_]+)'|`([^`]+)`)/g
const LEVEL = /'(debug|info|warn|error)'/g

/** Every event in the source, with its levels; a loop's own name is replaced by `LOOP`. */
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

/** Field names of the object literal at the start of `text`; spread fields are not included. */
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

/** Every event in docs/events.md, in order, with its levels. */
async function documented(): Promise<[string, string[]][]> {
  const rows = (await Bun.file(doc).text()).matchAll(
    /^\| `([^`]+)`\s*\| ([a-z, ]+?)\s*\| (.+?)\s*\|$/gm,
  )
  return [...rows].map(([, event = '', levels = '']) => [event, levels.split(', ')])
}

test('docs/events.md lists exactly the events in the source', async () => {
  const of_source = await written()

  expect(of_source.size).toBeGreaterThan(40)
  expect((await documented()).map(([event]) => event)).toEqual([...of_source.keys()].toSorted())
})

test('each event has the levels of docs/events.md', async () => {
  const of_source = await written()

  for (const [event, levels] of await documented())
    expect([event, levels.toSorted()]).toEqual([
      event,
      [...(of_source.get(event) ?? [])].toSorted(),
    ])
})

test('every logged field in the source is in LOG_FIELDS', async () => {
  const emitted: string[] = []
  const left_out: string[] = []
  for await (const file of new Bun.Glob('**/*.ts').scan(src)) {
    const text = await Bun.file(src + file).text()
    for (const call of text.matchAll(CALL)) {
      const after = text.slice(call.index + call[0].length).replace(/^,\s*/, '')
      const names = after.startsWith('{') ? namesOf(after) : []
      emitted.push(...names)
      left_out.push(...names.flatMap((name) => (LOG_FIELDS.has(name) ? [] : [`${file}: ${name}`])))
    }
  }

  expect(left_out).toEqual([])
  expect(emitted.length).toBeGreaterThan(80)
})

import { expect, test } from 'bun:test'

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

import { expect, test } from 'bun:test'

import { OUTCOMES } from '../../../../src/api/monitors/why-shape.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { FILTER_DEFAULTS } from '../../../../src/core/filter/spec.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const page = await Bun.file(`${import.meta.dir}/../../../../docs/filters.md`).text()
const blocks = (info: string): unknown[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${info}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => JSON.parse(text),
  )

test.each(blocks('json').map((it) => [it]))('the example %j is a valid filter', (value) => {
  expect(() => parseFilterSpec(value, words)).not.toThrow()
})

test('the page has eleven examples', () => {
  expect(page).toContain('## Examples')
  expect(blocks('json').length).toBe(11)
})

test('the page lists every field of a filter, and no other', () => {
  const [, fields = ''] = page.split('## Fields')
  const [section = ''] = fields.split('\n## ')
  const documented = [...section.matchAll(/^\| `([a-z_]+)` +\| /gm)].map(([, name = '']) => name)

  expect(documented.toSorted()).toEqual(Object.keys(FILTER_DEFAULTS).toSorted())
})

test('the page lists every outcome, and no other', () => {
  const [, why = ''] = page.split('## Explain a match or a missing match')
  const [section = ''] = why.split('\n## ')
  const documented = [...section.matchAll(/^\| `([a-z_]+)` +\| /gm)].map(([, name = '']) => name)

  expect(documented.toSorted()).toEqual(Object.keys(OUTCOMES).toSorted())
})

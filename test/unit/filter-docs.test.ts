import { expect, test } from 'bun:test'

import { OUTCOMES } from '../../src/api/why-item.ts'
import { parseFilterSpec } from '../../src/core/filter.ts'
import { createWords } from '../../src/core/wire.ts'

const words = createWords({ platform: 'forum', community: 'subforum' })
const page = await Bun.file(`${import.meta.dir}/../../docs/filters.md`).text()
const blocks = (info: string): unknown[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${info}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => JSON.parse(text),
  )

test.each(blocks('json').map((it) => [it]))('the page’s filter %j is one', (value) => {
  expect(() => parseFilterSpec(value, words)).not.toThrow()
})

test('there are as many filters as the page says', () => {
  expect(page).toContain('## Ten filters')
  expect(blocks('json').length).toBe(10)
})

test('the page tells every outcome, and no other', () => {
  const [, why = ''] = page.split('## Why, or why not')
  const [told_of = ''] = why.split('\n## ')
  const told = [...told_of.matchAll(/^\| `([a-z_]+)` +\| /gm)].map(([, name = '']) => name)

  expect(told.toSorted()).toEqual(Object.keys(OUTCOMES).toSorted())
})

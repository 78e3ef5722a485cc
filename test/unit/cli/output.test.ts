import { expect, test } from 'bun:test'

import { table } from '../../../src/cli/output.ts'

test('columns are aligned with double-width characters', () => {
  const rendered = table(
    [
      { name: '日本', plan: 'entry' },
      { name: 'ann', plan: 'pro' },
    ],
    'none',
  )

  expect(rendered).toBe('name  plan\n日本  entry\nann   pro\n')
})

test.each([
  ['a colour', 'a\u001b[31mb', 'a\\u001b[31mb'],
  ['a line', 'a\nb', 'a\\u000ab'],
  ['a turn of the line', 'a\u202eb', 'a\\u202eb'],
  ['a control of eight bits', 'a\u009bb', 'a\\u009bb'],
])('untrusted text adds no %s to a row', (_, written, seen) => {
  expect(table([{ title: written }], 'none').split('\n')[1]).toBe(seen)
})

import { expect, test } from 'bun:test'

import { findProse, proseOfCode, proseOfPage } from '../support/prose.ts'

test('comments, titles and pages keep the rules of prose', async () => {
  const found = await findProse()

  expect(found.map((it) => `${it.file}:${it.line}: ${it.rule}: ${it.text}`)).toEqual([])
})

test('the opening of a shell comment is checked', () => {
  expect(proseOfCode('a.sh', '# What happens inside.').map(({ rule }) => rule)).toEqual(['opening'])
})

test.each([
  ['/** What a feed has shown. */', ['opening']],
  ['/**\n * Whether it is due.\n */', ['opening']],
  ['const a = 1 // Who asks.', ['opening']],
  ["test('what it does', () => {})", ['opening']],
  ['-- Which of them is due.', ['opening']],
  ['// Sent to nobody.', ['word']],
  ["throw new Error('mend the file')", ['word']],
  ['// See contract 7.', ['outside']],
  ['/** Time of the last poll. */', []],
  ['/**\n * Reads a page.\n * What follows belongs to the sentence before.\n */', []],
  ['// What if it fails?', []],
])('code %j breaks %j', (text, rules) => {
  expect(proseOfCode('a.ts', text).map(({ rule }) => rule)).toEqual(rules)
})

test.each([
  ['## What to do when it fails', ['opening']],
  ['| a | Whether it is due |', []],
  ['| Whether it is due |', ['opening']],
  ['It is told to the operator.', ['word']],
  ['```\nWhat a shell prints\n```', []],
  ['## Restore a backup', []],
])('page %j breaks %j', (text, rules) => {
  expect(proseOfPage('a.md', text).map(({ rule }) => rule)).toEqual(rules)
})

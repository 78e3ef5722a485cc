import { expect, test } from 'bun:test'

import { type Block, blocksOf } from '../../../../../src/page/pages/inbox/state/written.ts'

const shown = ({ kind, parts }: Block) =>
  `${kind}: ${parts.map(({ text, url }) => (url === null ? text : `<${text}|${url}>`)).join('')}`

test.each([
  ['', []],
  ['one\ntwo\r\n\r\nthree\n\n\n', ['text: one\ntwo', 'text: three']],
  ['> quoted\n> on\n\n&gt; escaped', ['quote: quoted\non', 'quote: escaped']],
  ['    let a\n    let b', ['code: let a\nlet b']],
  ['a > b', ['text: a > b']],
  ['See [a page](https://a.example/x) now.', ['text: See <a page|https://a.example/x> now.']],
  [
    'Go to https://b.example/y, or not.',
    ['text: Go to <https://b.example/y|https://b.example/y>, or not.'],
  ],
  // Another scheme stays text.
  [
    '[x](javascript:alert(1)) http://c.example',
    ['text: [x](javascript:alert(1)) http://c.example'],
  ],
  [
    '[https://good.example](https://evil.example)',
    ['text: <https://good.example|https://evil.example>'],
  ],
])('blocks of %p', (text, expected) => {
  expect(blocksOf(text).map(shown)).toEqual(expected)
})

test('no text is lost, and a text with many paragraphs has few blocks', () => {
  const text = Array.from({ length: 2000 }, (_, at) => `paragraph ${at}`).join('\n\n')
  const blocks = blocksOf(text)

  expect(blocks.length).toBe(501)
  expect(blocks.flatMap(({ parts }) => parts.map((it) => it.text)).join('\n\n')).toBe(text)
})

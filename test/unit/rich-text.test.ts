import { expect, test } from 'bun:test'

import { toRichText } from '../../src/core/rich-text.ts'

const par = (text: string) => ({ e: 'par', c: text === '' ? [] : [{ e: 'text', t: text }] })

test.each([
  ['Hello', ['Hello']],
  ['One\nTwo', ['One', 'Two']],
  ['One\r\nTwo\rThree', ['One', 'Two', 'Three']],
  ['One\n\nTwo', ['One', '', 'Two']],
  ['  indented', ['  indented']],
  ['**not** _markup_ <b>', ['**not** _markup_ <b>']],
  ['ends here\n\n', ['ends here']],
  ['', ['']],
  ['👩‍👩‍👧 and ümläuts', ['👩‍👩‍👧 and ümläuts']],
])('%j is a document of its lines', (text, lines) => {
  expect(toRichText(text)).toEqual({ document: lines.map(par) } as ReturnType<typeof toRichText>)
})

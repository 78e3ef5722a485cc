import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { linksIn, visibleText } from '../../../../src/core/enrichment/markdown.ts'

describe('the visible text', () => {
  test.each([
    ['**bold** and *leaning* and ***both***', 'bold and leaning and both'],
    ['~~gone~~ `code` ``more``', 'gone code more'],
    ['# Head\n## Next', 'Head\nNext'],
    ['> said\n>> before\n> > that', 'said\nbefore\nthat'],
    ['&gt; quoted &amp; &lt;b&gt; &#39;x&#39; &nbsp;y', "quoted & <b> 'x'  y"],
    ['[the docs](https://x.test/y)', 'the docs'],
    ['[a (b)](https://x.test/(y) "title")', 'a (b)'],
    ['![a picture](https://x.test/p.png)', 'a picture'],
    ['[words](<https://x.test/y>)', 'words'],
    ['[see][1] this\n\n[1]: https://x.test "t"', 'see this\n\n'],
    ['<https://x.test/y>', 'https://x.test/y'],
    ['>!a secret!<', 'a secret'],
    ['E=mc^(2 squared)', 'E=mc 2 squared'],
    ['```ts\nconst a = 1\n```', '\nconst a = 1\n'],
    ['\\*not\\* \\_this\\_', '*not* _this_'],
    ['an _emphasis_ and snake_case and __dunder__', 'an emphasis and snake_case and dunder'],
    ['5 * 3 = 15, a_b, [1] (2), #3', '5 * 3 = 15, a_b, [1] (2), #3'],
    ['&#x200B;', ''],
  ])('of %p is %p', (markdown, expected) => {
    expect(visibleText(markdown)).toBe(expected)
  })

  test('equals the source for plain words', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9 .,!?'"\n-]*$/), (text) => {
        expect(visibleText(text)).toBe(text)
      }),
    )
  })
})

describe('links', () => {
  test.each<[string, string[]]>([
    ['[a](https://x.test/y) and [b](/r/cats)', ['https://x.test/y', '/r/cats']],
    ['see https://x.test/a, or (https://x.test/b).', ['https://x.test/a', 'https://x.test/b']],
    ['[it][1]\n\n[1]: https://x.test/z "t"', ['https://x.test/z']],
    ['<https://x.test/y> **https://x.test/z**', ['https://x.test/y', 'https://x.test/z']],
    ['[https://seen.test](https://real.test)', ['https://real.test', 'https://seen.test']],
    ['https://x.test/?a=1&amp;b=2', ['https://x.test/?a=1&b=2']],
    ['x.test and mailto:a@b', []],
    ['[a](https://x.test) [b](https://x.test)', ['https://x.test']],
  ])('in %p are %j', (markdown, expected) => {
    expect(linksIn(markdown)).toEqual(expected)
  })
})

// A backtracking pattern would take minutes on each; the test would time out.
test.each(
  [
    '[',
    '](',
    '[a](',
    '`',
    '*',
    '*a',
    '_',
    '_a',
    '>',
    '> ',
    '#',
    '# ',
    '~',
    '^(',
    '\\',
    '&',
    '[1]: ',
  ]
    .concat(['[a](b "', '<http://', 'http://', '!', '[a] [', '(((', '```', '\n>', '[]()', '"'])
    .map((it) => [it]),
)('forty thousand repetitions of %p are parsed', (piece) => {
  const text = piece.repeat(Math.ceil(40_000 / piece.length))

  expect(visibleText(text).length).toBeLessThanOrEqual(text.length)
  expect(linksIn(text).length).toBeLessThanOrEqual(text.length)
  expect(visibleText(`${text} end`)).toEndWith('end')
})

test('any text is parsed without an error', () => {
  const signs = fc.constantFrom(...'[]()*_~`>#^!\\&;<"\n a漢'.split(''), 'http://', '&gt;')
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 60 }), (fragments) => {
      const text = fragments.join('')

      expect(visibleText(text).length).toBeLessThanOrEqual(text.length + fragments.length)
      for (const it of linksIn(text)) expect(it).not.toBe('')
    }),
    { numRuns: 500 },
  )
})

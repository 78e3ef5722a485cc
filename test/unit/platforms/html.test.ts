import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { convert, plainText } from '../../../src/platforms/html.ts'
import { cases } from '../../support/long-form.ts'

const SITE = 'https://forum.example'
const markdownOf = (html: string): string => convert(html, SITE).markdown

test.each([
  ['<p>Hello <b>bold</b> and <em>it </em>x</p>', 'Hello **bold** and _it_ x'],
  ['<p>one<br>two</p><p>three</p>', 'one  \ntwo\n\nthree'],
  ['<a href="/t/1">words</a>', '[words](https://forum.example/t/1)'],
  ['<a href="https://a.example/">https://a.example/</a>', '<https://a.example/>'],
  ['<a href="javascript:alert(1)">words</a>', 'words'],
  ['<img src="//cdn.example/a.png" alt="a cat">', '![a cat](https://cdn.example/a.png)'],
  ['<ul><li>one<li>two<ul><li>in</li></ul></li></ul>', '* one\n* two\n  * in'],
  ['<ol><li>a</li><li>b</li></ol>', '1. a\n2. b'],
  ['<blockquote><p>a</p><p>b</p></blockquote>c', '> a\n>\n> b\n\nc'],
  ['<pre><code>a &lt; b\n  c</code></pre>', '```\na < b\n  c\n```'],
  ['<code>a `b`</code>', '`` a `b` ``'],
  ['<h2>Title</h2>text', '## Title\n\ntext'],
  ['<details><summary>Summary</summary>hidden</details>', 'Summary\nhidden'],
  ['<table><tr><th>a</th></tr><tr><td>b</td></tr></table>', '| a |\n| --- |\n| b |'],
  ['text<script>alert(1)</script><style>p{}</style> more', 'text more'],
  ['a_b *c* [d] # e', 'a\\_b \\*c\\* \\[d\\] # e'],
  ['<p># a</p><p>- b</p>', '\\# a\n\n\\- b'],
  ['write &amp;amp; there', 'write \\&amp; there'],
  ['AT&amp;T &eacute; &#x27;', "AT&T é '"],
  ['cut &#xD83D; and &#0; end', 'cut \ufffd and \ufffd end'],
  ['<b>a<p>b</b></i>c', '**a**\n\n**b**\n\nc'],
])('%p is written as %p', (html, markdown) => {
  expect(markdownOf(html)).toBe(markdown)
})

test.each([
  ['a &amp;amp; b', 'a &amp; b'],
  ['cut &#xD83D; end', 'cut \ufffd end'],
  ['x &eacute;', 'x é'],
])('references of the text %p are decoded once', (html, text) => {
  expect(plainText(html)).toBe(text)
})

const NAMES =
  'a b i p li ul ol td tr table dt dd option select div blockquote pre code em svg title textarea script x'
const piece = fc.oneof(
  fc.constantFrom(
    ...NAMES.split(' ').flatMap((it) => [`<${it}>`, `</${it}>`, `<${it}`, `<${it}/>`]),
  ),
  fc.constantFrom(
    '<br>',
    '<',
    '>',
    '&',
    '&amp',
    '&#',
    '<!--',
    '-->',
    '<![CDATA[',
    '<a href=/x>',
    '"',
    "'",
    'word ',
    '`',
    '*',
    '_',
    '\n',
    '\0',
    '\ud800',
  ),
  fc.string({ maxLength: 12 }),
)
const BYTES = 20_000

test('any markup takes steps and gives text in proportion to its length', () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
      fc.pre(pieces.join('') !== '')
      const html = pieces
        .join('')
        .repeat(Math.ceil(BYTES / pieces.join('').length || 1))
        .slice(0, BYTES)
      const { markdown, steps } = convert(html, SITE)
      expect(steps).toBeLessThan(4 * html.length + 1000)
      expect(markdown.length).toBeLessThan(40 * html.length + 1000)
    }),
    { numRuns: cases({ short: 60, long: 3000 }) },
  )
}, 120_000)

test.each(NAMES.split(' '))(
  'thousands of unclosed, mismatched and nested <%s> take linear steps',
  (name) => {
    for (const unit of [
      `<${name}>`,
      `<${name}></i>`,
      `</${name}>`,
      `<${name}>x`,
      `<${name}><b>`,
      `<ul><${name}>`,
    ]) {
      const [short, long] = [1000, 10_000].map((count) => convert(unit.repeat(count), SITE).steps)
      expect(long ?? Infinity).toBeLessThan(12 * (short ?? 0) + 1000)
    }
  },
)

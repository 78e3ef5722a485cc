import { expect, test } from 'bun:test'

import {
  bytes,
  count,
  ellipsize,
  exactDuration,
  formatDuration,
  many,
  percent,
  safeUrl,
  since,
  usd,
} from '../../../../src/page/lib/format.ts'
import { HOSTILE } from '../../../browser/hostile.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')

test.each([
  [0, 'just now'],
  [-9_000, 'just now'],
  [-59_000, '59 seconds ago'],
  [-61_000, '1 minute ago'],
  [-3_600_000 * 23.9, '23 hours ago'],
  [-86_400_000, 'yesterday'],
  [3_600_000 * 2, 'in 2 hours'],
])('%p ms from now is %p', (away, text) => {
  expect(since(NOW + away, NOW)).toBe(text)
})

test.each([
  [count(null), '–'],
  [count(0), '0'],
  [count(12_345), '12,345'],
  [count(2_300_000), '2.3M'],
  [usd(0.002), '$0.002'],
  [usd(99.996), '$99.996'],
  [usd(5), '$5.00'],
  [usd(undefined), '–'],
  [formatDuration(90), '90 s'],
  [formatDuration(300), '5 min'],
  [formatDuration(7200), '2 h'],
  [many(1, 'match', 'matches'), '1 match'],
  [many(0, 'match', 'matches'), '0 matches'],
  [bytes(0), '0 B'],
  [bytes(385_024), '385.0 kB'],
  [bytes(80_900_000_000), '80.9 GB'],
])('%p is written as %p', (written, text) => {
  expect(written).toBe(text)
})

test('an exact duration has hours, minutes and seconds', () => {
  expect([0, 90, 5400, 86_399].map(exactDuration)).toEqual([
    '0 s',
    '1 min 30 s',
    '1 h 30 min',
    '23 h 59 min 59 s',
  ])
})

test('truncates a text between code points', () => {
  expect(ellipsize('🥖🥐🥯', 2)).toBe('🥖…')
  expect(ellipsize('🥖🥐', 2)).toBe('🥖🥐')
})

test.each([
  ['https://forum.example/r/bread', true, 'https://forum.example/r/bread'],
  ['https://elsewhere.example/', false, 'https://elsewhere.example/'],
  // A sandbox has no TLS, and only URLs built by the daemon may link to it.
  ['http://127.0.0.1:4000/r/bread', true, 'http://127.0.0.1:4000/r/bread'],
  ['http://127.0.0.1:4000/r/bread', false, null],
  ['javascript:alert(1)', true, null],
  ['JaVaScRiPt:alert(1)//', true, null],
  ['data:text/html,x', true, null],
  ['blob:https://forum.example/1', true, null],
  ['https://user:secret@forum.example/', true, null],
  ['https://user@forum.example/', true, null],
  ['/r/bread', true, null],
  [null, true, null],
])('%p (our own: %p) leads to %p', (url, own, href) => {
  expect(safeUrl(url, own)).toBe(href)
})

test('a hostile text becomes at most an https link', () => {
  const links = HOSTILE.map((it) => safeUrl(it, true)).filter((it) => it !== null)

  expect(links.filter((it) => !it.startsWith('https://'))).toEqual([])
})

test('a share is a whole percentage', () => {
  expect([0, 0.826, 1].map(percent)).toEqual(['0 %', '83 %', '100 %'])
})

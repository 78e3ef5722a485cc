import { expect, test } from 'bun:test'

import { peerUrl } from '../../../../src/core/base/url.ts'

const HOST = `${'\u0316\u0301'.repeat(10_000)}.example`

test.each([
  `http://${HOST}/`,
  `  hTTps:\\\\${HOST}`,
  `ht\ntp:/\t/${HOST}`,
  `//${HOST}/path`,
  `http:${HOST}`,
  `http://user@${HOST}:1/`,
  `http://${encodeURIComponent(HOST)}/`,
])('an address with a host name that is longer than any is none (%#)', (text) => {
  expect(peerUrl(text, 'http://site.example/')).toBeNull()
})

test.each([
  ['https://bücher.example/a?b#c', 'https://xn--bcher-kva.example/a?b#c'],
  [`/${'s'.repeat(3000)}`, `http://site.example/${'s'.repeat(3000)}`],
  [`?q=${'s'.repeat(3000)}`, `http://site.example/?q=${'s'.repeat(3000)}`],
  [`${'s'.repeat(3000)}/x`, `http://site.example/${'s'.repeat(3000)}/x`],
  ['mailto:a@b.example', 'mailto:a@b.example'],
])('other addresses are as WHATWG has them (%#)', (text, href) => {
  expect(peerUrl(text, 'http://site.example/')?.href).toBe(href)
})

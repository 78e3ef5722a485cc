import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createRing } from '../../../../src/core/base/secrets.ts'
import { parseMailto } from '../../../../src/core/delivery/target.ts'
import { createLinks } from '../../../../src/core/forum/links.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'

test.each([
  ['mailto:ann@example.com', 'ann@example.com'],
  ['MAILTO:Ann.Lee+forum@Sub.Example.COM', 'Ann.Lee+forum@sub.example.com'],
  ["mailto:o'neil_x-y@xn--exmple-cua.com", "o'neil_x-y@xn--exmple-cua.com"],
])('%p is the address %p', (url, address) => {
  expect(parseMailto(url)).toBe(address)
})

test('any accepted input gives one address on one line, which parses as itself', () => {
  const piece = fc.constantFrom(
    'mailto:',
    'a',
    '@',
    'example.com',
    '.',
    '\r\n',
    ',',
    ';',
    '<',
    '>',
    '"',
    '%0a',
    '?',
    '&',
    ' ',
    '\u0000',
    'é',
    '😀',
    '[::1]',
  )
  const url = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece).map((parts) => `mailto:${parts.join('')}`),
    fc.emailAddress().map((address) => `mailto:${address}`),
  )
  fc.assert(
    fc.property(url, (text) => {
      const address = parseMailto(text)
      if (address === null) return
      expect(address).toMatch(/^[!-~]+$/)
      expect(address).not.toMatch(/[<>",;:\\()[\]%]/)
      expect(address.split('@')).toHaveLength(2)
      expect(parseMailto(`mailto:${address}`)).toBe(address)
    }),
  )
})

const words = createNaming({ platform: 'forum', community: 'subforum' })
const KEY = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)
const linksWith = (...keys: Uint8Array[]) =>
  createLinks({
    ring: createRing(Buffer.concat(keys), (count) => new Uint8Array(count)),
    words,
    public_url: () => 'https://forum.example/',
  })
const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1)

test('a link is valid only for its purpose', () => {
  const links = linksWith(KEY)
  const token = tokenOf(links.unsubscribe('wh_1', 'mon_1'))

  expect(links.readUnsubscribe(token)).toEqual({ webhook_id: 'wh_1', monitor_id: 'mon_1' })
  expect(links.readFeed(token)).toBeNull()
  expect(links.readConfirm(token)).toBeNull()
  expect(links.readFeed(tokenOf(links.feed('mon_1', 3)))).toEqual({
    monitor_id: 'mon_1',
    revision: 3,
  })
  expect(links.feed('mon_1', 3)).toStartWith('https://forum.example/forum/monitor/feed/mon_1~3~')
})

test('links stay valid with an added key, and end with the key that made them', () => {
  const token = tokenOf(linksWith(KEY).confirm('wh_1'))

  expect(linksWith(KEY, OTHER).readConfirm(token)).toEqual({ webhook_id: 'wh_1' })
  expect(tokenOf(linksWith(KEY, OTHER).confirm('wh_1'))).not.toBe(token)
  expect(linksWith(OTHER).readConfirm(token)).toBeNull()
})

test('any change of a token makes it invalid', () => {
  const links = linksWith(KEY)
  const token = tokenOf(links.feed('mon_1', 1))
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
    expect(links.readFeed(changed)).toBeNull()
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => links.readFeed(text) === null))
})

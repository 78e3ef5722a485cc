import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { createLinks } from '../../../src/core/links.ts'
import { parseMailto } from '../../../src/core/mail-address.ts'
import { createRing } from '../../../src/core/seal.ts'
import { createWords } from '../../../src/core/wire.ts'

test.each([
  ['mailto:ann@example.com', 'ann@example.com'],
  ['MAILTO:Ann.Lee+forum@Sub.Example.COM', 'Ann.Lee+forum@sub.example.com'],
  ["mailto:o'neil_x-y@xn--exmple-cua.com", "o'neil_x-y@xn--exmple-cua.com"],
])('%p is the address %p', (url, address) => {
  expect(parseMailto(url)).toBe(address)
})

test('whatever is given, what comes out is one address on one line, and is read as itself again', () => {
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

const words = createWords({ platform: 'forum', community: 'subforum' })
const KEY = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)
const linksWith = (...keys: Uint8Array[]) =>
  createLinks({
    ring: createRing(Buffer.concat(keys), (count) => new Uint8Array(count)),
    words,
    public_url: () => 'https://forum.example/',
  })
const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1)

test('a link is read as what it was made for, and as nothing else', () => {
  const links = linksWith(KEY)
  const token = tokenOf(links.unsubscribe('wh_1', 'mon_1'))

  expect(links.readUnsubscribe(token)).toEqual({ webhook_id: 'wh_1', monitor_id: 'mon_1' })
  expect(links.readFeed(token)).toBeNull()
  expect(links.readConfirm(token)).toBeNull()
  expect(links.readFeed(tokenOf(links.feed('mon_1', 3)))).toEqual({ monitor_id: 'mon_1', round: 3 })
  expect(links.feed('mon_1', 3)).toStartWith('https://forum.example/forum/monitor/feed/mon_1~3~')
})

test('links outlive a new key, and die with the key that made them', () => {
  const token = tokenOf(linksWith(KEY).confirm('wh_1'))

  expect(linksWith(KEY, OTHER).readConfirm(token)).toEqual({ webhook_id: 'wh_1' })
  expect(tokenOf(linksWith(KEY, OTHER).confirm('wh_1'))).not.toBe(token)
  expect(linksWith(OTHER).readConfirm(token)).toBeNull()
})

test('no change of a token, however small, is ours', () => {
  const links = linksWith(KEY)
  const token = tokenOf(links.feed('mon_1', 1))
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
    expect(links.readFeed(changed)).toBeNull()
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => links.readFeed(text) === null))
})

import { expect, test } from 'bun:test'

import { createPeerOf } from '../../../src/api/peer.ts'

const request = (headers: Record<string, string> = {}) =>
  new Request('http://localhost/', { headers })
const direct = createPeerOf([])
const behind = createPeerOf(['10.0.0.0/8', '::1', '192.0.2.7'])

test('without trusted proxies nobody speaks for another', () => {
  const forged = request({ 'x-forwarded-for': '203.0.113.1' })
  expect(direct(forged, '198.51.100.4')).toEqual({
    address: '198.51.100.4',
    local: false,
    tls: false,
  })
})

test('a caller on this machine is local until a forwarding header says otherwise', () => {
  expect(direct(request(), '127.0.0.1').local).toBe(true)
  expect(direct(request(), '::1').local).toBe(true)
  expect(direct(request(), '::ffff:127.0.0.1')).toMatchObject({
    address: '127.0.0.1',
    local: true,
  })
  for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'])
    expect(direct(request({ [name]: 'x' }), '127.0.0.1').local).toBe(false)
})

test.each([
  ['203.0.113.1', '10.1.1.1', '203.0.113.1'],
  ['6.6.6.6, 203.0.113.1', '10.1.1.1', '203.0.113.1'],
  ['203.0.113.1, 192.0.2.7', '::1', '203.0.113.1'],
  ['10.9.9.9', '10.1.1.1', '10.9.9.9'],
  ['not an address', '10.1.1.1', '10.1.1.1'],
  ['', '10.1.1.1', '10.1.1.1'],
  ['203.0.113.1', '198.51.100.4', '198.51.100.4'],
])('with X-Forwarded-For %j from %s the caller is %s', (forwarded, socket, address) => {
  expect(behind(request({ 'x-forwarded-for': forwarded }), socket).address).toBe(address)
})

test.each([
  ['https', '10.1.1.1', true],
  ['http', '10.1.1.1', false],
  ['https', '198.51.100.4', false],
  ['https', undefined, false],
])('X-Forwarded-Proto %s from %s is TLS: %p', (proto, socket, tls) => {
  expect(behind(request({ 'x-forwarded-proto': proto }), socket).tls).toBe(tls)
})

test('a socket that is gone leaves an unknown caller', () => {
  expect(direct(request(), undefined)).toEqual({
    address: 'unknown',
    local: false,
    tls: false,
  })
})

import { expect, test } from 'bun:test'

import { createPeerOf } from '../../../../src/api/http/request-origin.ts'

const request = (headers: Record<string, string> = {}) =>
  new Request('http://localhost/', { headers })
const direct = createPeerOf([])
const behind = createPeerOf(['10.0.0.0/8', '::1', '192.0.2.7'])

test('without trusted proxies forwarding headers are ignored', () => {
  const forged = request({ 'x-forwarded-for': '203.0.113.1' })
  expect(direct(forged, '198.51.100.4')).toEqual({
    address: '198.51.100.4',
    network: '198.51.100.4',
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
  ['203.0.113.1:4711', '10.1.1.1', '203.0.113.1'],
  ['[2001:db8:1::5]:443', '10.1.1.1', '2001:db8:1::5'],
  ['[2001:db8:1::5]', '10.1.1.1', '2001:db8:1::5'],
  ['"[2001:db8:1::5]:443"', '10.1.1.1', '2001:db8:1::5'],
  ['2001:db8:1::5', '10.1.1.1', '2001:db8:1::5'],
  ['[::ffff:203.0.113.1]:80', '10.1.1.1', '203.0.113.1'],
  ['203.0.113.1:1, 192.0.2.7:4711, [::1]:80', '10.1.1.1', '203.0.113.1'],
  ['203.0.113.1, unknown', '10.1.1.1', '10.1.1.1'],
  ['203.0.113.1, 192.0.2.7:x', '10.1.1.1', '10.1.1.1'],
  ['203.0.113.1, , ', '10.1.1.1', '203.0.113.1'],
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

test('a closed socket gives an unknown caller', () => {
  expect(direct(request(), undefined)).toEqual({
    address: 'unknown',
    network: 'unknown',
    local: false,
    tls: false,
  })
})

test.each([
  ['203.0.113.1', '203.0.113.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::a:1:2:3:4', '2001:db8:0:a::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['2001:db8:0:1:0:0:192.0.2.1', '2001:db8:0:1::/64'],
  ['::1', '::1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
])('a caller from %s counts as %s', (socket, network) => {
  expect(direct(request(), socket).network).toBe(network)
})

test('the network is that of the caller, not of a trusted proxy', () => {
  const forwarded = request({ 'x-forwarded-for': '2001:db8:5:6:7::8' })
  expect(behind(forwarded, '10.1.1.1').network).toBe('2001:db8:5:6::/64')
  expect(behind(request({ 'x-forwarded-for': '203.0.113.9' }), '::1').network).toBe('203.0.113.9')
})

test('callers behind an untrusted local proxy do not count as this machine', () => {
  const forwarded = request({ 'x-forwarded-for': '203.0.113.1' })
  expect(direct(forwarded, '127.0.0.1').network).toBe('behind 127.0.0.1')
  expect(direct(request(), '127.0.0.1').network).toBe('127.0.0.1')
})

test('several lines of X-Forwarded-For are one list', () => {
  const headers = new Headers()
  headers.append('x-forwarded-for', '203.0.113.1:80')
  headers.append('x-forwarded-for', '192.0.2.7')
  expect(behind(new Request('http://localhost/', { headers }), '::1').address).toBe('203.0.113.1')
})

test('forwarding headers of an address that is not trusted are reported once, of eight addresses at most', () => {
  const faults: string[] = []
  const peerOf = createPeerOf(['10.0.0.0/8'], (fault, address) =>
    faults.push(`${fault} ${address}`),
  )
  const ask = (headers: Record<string, string>, socket: string) => peerOf(request(headers), socket)

  ask({ 'x-forwarded-for': '203.0.113.1' }, '127.0.0.1')
  ask({ 'x-real-ip': '203.0.113.2' }, '127.0.0.1')
  ask({ 'x-forwarded-for': '203.0.113.1' }, '10.1.1.1')
  ask({ via: '1.1 cache' }, '192.0.2.1')
  ask({}, '192.0.2.1')
  expect(faults).toEqual(['untrusted 127.0.0.1'])

  for (let n = 0; n < 20; n++) ask({ forwarded: 'for=192.0.2.9' }, `198.51.100.${n}`)
  expect(faults).toHaveLength(8)
})

test('a hop of a trusted proxy that cannot be read is reported once', () => {
  const faults: string[] = []
  const peerOf = createPeerOf(['10.0.0.0/8'], (fault, address) =>
    faults.push(`${fault} ${address}`),
  )
  for (const hop of ['unknown', '_hidden', '203.0.113.1:99999999'])
    peerOf(request({ 'x-forwarded-for': hop }), '10.1.1.1')
  expect(faults).toEqual(['unreadable_hop 10.1.1.1'])
})

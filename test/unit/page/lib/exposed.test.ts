import { expect, test } from 'bun:test'

import { isExposed } from '../../../../src/page/lib/format.ts'

test.each([
  ['http://localhost:8090/', false],
  ['http://forumd.localhost/', false],
  ['http://127.0.0.1:8090/', false],
  ['http://127.9.8.7/', false],
  ['http://127.1/', false],
  ['http://[::1]:8090/', false],
  ['https://forum.example/', false],
  ['http://forum.example/', true],
  ['http://127.0.0.1.example/', true],
  ['http://localhost.example/', true],
  ['http://notlocalhost/', true],
  ['http://192.168.1.5/', true],
  ['http://[2001:db8::1]/', true],
])('%s is exposed: %p', (url, exposed) => {
  expect(isExposed(new URL(url))).toBe(exposed)
})

import { expect, test } from 'bun:test'

import { createPlatformFaults } from '../../../src/api/platform-faults.ts'

const MINUTE_MS = 60_000

function recorder() {
  const time = { now: 0 }
  const lines: string[] = []
  const clock = { now: () => 0, mono: () => time.now, sleep: () => Promise.resolve() }
  const faults = createPlatformFaults({
    clock,
    log: (level, event, fields) => void lines.push(`${level} ${event} ${JSON.stringify(fields)}`),
  })
  return { time, lines, faults }
}

test('a fault that every call meets is logged once, and its end with the number of calls', () => {
  const { time, lines, faults } = recorder()

  for (let n = 0; n < 500; n++) faults.failed('read', { kind: 'unreadable', path: 'data.children' })
  time.now = 30_000
  faults.succeeded('read')
  faults.succeeded('read')

  expect(lines).toEqual([
    'warn platform.fault {"tier":"read","kind":"unreadable","path":"data.children"}',
    'info platform.fault_ended {"tier":"read","kind":"unreadable","path":"data.children","count":500,"duration_ms":30000}',
  ])
})

test('faults are separate by place, status and tier; those of another tier go on', () => {
  const { lines, faults } = recorder()

  faults.failed('read', { kind: 'unreadable', path: 'a' })
  faults.failed('read', { kind: 'unreadable', path: 'b' })
  faults.failed('vote', { kind: 'rejected', status: 400 })
  faults.succeeded('deep_search')
  expect(lines).toHaveLength(3)
  faults.succeeded('vote')
  expect(lines[3]).toStartWith('info platform.fault_ended {"tier":"vote"')
  expect(lines).toHaveLength(4)
})

test('a fault that comes and goes gets two lines in ten minutes, and then its count', () => {
  const { time, lines, faults } = recorder()

  for (time.now = 0; time.now < 11 * MINUTE_MS; time.now += MINUTE_MS) {
    faults.failed('read', { kind: 'rejected', status: 414 })
    faults.succeeded('read')
  }

  expect(lines).toHaveLength(4)
  expect(lines[2]).toContain('"status":414,"count":9')
})

test('faults that are no surprise are not logged', () => {
  const { lines, faults } = recorder()

  faults.failed('read', { kind: 'timeout' })
  faults.failed('read', { kind: 'not_found', reason: null })
  faults.succeeded('read')

  expect(lines).toEqual([])
})

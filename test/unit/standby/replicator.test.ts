import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { realClock } from '../../../src/runtime/runtime.ts'
import { createReplicator } from '../../../src/standby/replicator.ts'

const dir = mkdtempSync(join(tmpdir(), 'forumd-replicator-'))
const pid_file = join(dir, 'replicate.pid')
afterAll(() => rmSync(dir, { recursive: true }))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
const ownPid = () => Number(readFileSync(pid_file, 'utf8'))
/** Waits are cut short, so that a restart takes no five seconds. */
const clock = { sleep: (ms: number, signal?: AbortSignal) => realClock.sleep(ms / 50, signal) }

function replicatorOf(words: string[]) {
  const codes: unknown[] = []
  const replicator = createReplicator(words, { clock, pid_file })
  replicator.start((_, event, fields) => void codes.push([event, fields?.['code']]))
  return { ...replicator, codes }
}

async function until(holds: () => boolean): Promise<void> {
  for (const began = performance.now(); !holds(); await Bun.sleep(5))
    if (performance.now() - began > 10_000) throw new Error('it does not happen')
}

test('the process runs until the stop, and a second stop waits for the first', async () => {
  const { stop, codes } = replicatorOf(['sleep', '100.1'])
  const pid = ownPid()
  expect(isAlive(pid)).toBe(true)

  await Promise.all([stop(), stop()])

  expect(isAlive(pid)).toBe(false)
  // A signal is no clean end, so what is left is passed on by two further runs.
  expect(codes.length).toBe(2)
})

test('a process that ends is started again, and its end is logged', async () => {
  const { stop, codes } = replicatorOf(['sh', '-c', 'exit 4'])

  await until(() => codes.length >= 3)
  await stop()

  expect(codes.slice(0, 2)).toEqual([
    ['standby.replication_ended', '4'],
    ['standby.replication_ended', '4'],
  ])
})

test('a program that is not there is logged, and does not end the daemon', async () => {
  const { stop, codes } = replicatorOf([join(dir, 'nothing')])

  await until(() => codes.length >= 2)
  await stop()

  expect(codes[0]).toEqual(['standby.replication_ended', 'cannot_start'])
})

test('a process that an earlier daemon left behind is ended, another program with its id is not', async () => {
  const words = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.02; done']
  const left = Bun.spawn(words)
  // Before it runs its program, a new process has the name of this one.
  await until(() => readFileSync(`/proc/${left.pid}/cmdline`, 'utf8').startsWith('sh\0'))
  writeFileSync(pid_file, `${left.pid}\n`)
  const { stop } = replicatorOf(words)
  await left.exited
  expect(left.signalCode).toBe('SIGKILL')
  await stop()

  const other = Bun.spawn(['sleep', '100.2'])
  await until(() => readFileSync(`/proc/${other.pid}/cmdline`, 'utf8').startsWith('sleep\0'))
  writeFileSync(pid_file, `${other.pid}\n`)
  const next = replicatorOf(words)
  await next.stop()
  expect(isAlive(other.pid)).toBe(true)
  other.kill()
  await other.exited
})

test('without words nothing is started', async () => {
  const { stop, codes } = replicatorOf([])
  await stop()

  expect(codes).toEqual([])
})

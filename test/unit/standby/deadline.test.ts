import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { openBootClock, startDeadline } from '../../../src/standby/deadline.ts'

const PROCESS = new URL('deadline-process.ts', import.meta.url).pathname

async function start(mode: 'busy' | 'idle', ms: number) {
  const child = Bun.spawn([process.execPath, PROCESS, mode, String(ms)], { stdout: 'pipe' })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  return { child, replicates: Number(new TextDecoder().decode(value)) }
}

test('a process whose event loop never turns ends with 75, and its Litestream with it', async () => {
  const { child, replicates } = await start('busy', 300)

  expect(await child.exited).toBe(75)
  expect(existsSync(`/proc/${replicates}/exe`)).toBe(false)
})

test('a process that was stopped beyond its term ends with 75 when it goes on', async () => {
  const { child } = await start('idle', 600)
  child.kill('SIGSTOP')
  await Bun.sleep(1000)
  expect(child.exitCode).toBeNull()

  child.kill('SIGCONT')

  expect(await child.exited).toBe(75)
})

test('a deadline that was disposed of ends nothing', async () => {
  const boot = openBootClock()
  const deadline = await startDeadline(boot)
  deadline.set(boot() + 150)
  expect(deadline.remainingMs()).toBeGreaterThan(0)

  deadline[Symbol.dispose]()
  await Bun.sleep(300)

  deadline.check()
})

import { expect, test } from 'bun:test'
import { join } from 'node:path'

const WATCHDOG = join(import.meta.dir, '../../../src/runtime/watchdog.ts')
const RUNTIME = join(import.meta.dir, '../../../src/runtime/runtime.ts')

/** Runs a process with a watchdog of two seconds, and what it does then; its exit code and its last words. */
async function runWith(work: string, after: (pid: number) => Promise<void> = async () => {}) {
  const code = `const { startWatchdog } = await import('${WATCHDOG}')
    const { realClock } = await import('${RUNTIME}')
    const watchdog = await startWatchdog(2, realClock); console.log('started'); ${work}`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'pipe' })
  await child.stdout.getReader().read()
  await after(child.pid)
  return { code: await child.exited, said: await new Response(child.stderr).text() }
}

test('a process whose event loop stands still ends, to be restarted', async () => {
  const { code, said } = await runWith('for (;;);')
  expect(code).toBe(75)
  expect(said).toContain('the event loop stood still for 2 s')
}, 30_000)

test('a process that was stopped as a whole goes on', async () => {
  const { code } = await runWith(
    'await Bun.sleep(1000); watchdog[Symbol.dispose]()',
    async (pid) => {
      process.kill(pid, 'SIGSTOP')
      await Bun.sleep(4000)
      process.kill(pid, 'SIGCONT')
    },
  )
  expect(code).toBe(0)
}, 30_000)

test('a watchdog that is disposed of ends nothing', async () => {
  const work =
    'watchdog[Symbol.dispose](); const end = Date.now() + 4000; while (Date.now() < end);'
  expect(await runWith(work)).toMatchObject({ code: 0 })
}, 30_000)

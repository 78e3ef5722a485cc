/**
 * Asks a daemon for `/health` again and again, from its own process. Prints a line each: status, duration in ms, and how long
 * the daemon's main thread ran meanwhile: the rest is time of a busy machine.
 *
 *     bun scripts/bars/fuzz/probe.ts URL PID
 */
import { readFileSync } from 'node:fs'

const [url = '', pid = ''] = process.argv.slice(2)
const EVERY_MS = 25
const GIVE_UP_MS = 30_000

/** Time that the main thread has run, ms: the first field of schedstat of proc(5). */
function busy(): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return 0
  }
}

for (;;) {
  const busy_before = busy()
  const before = performance.now()
  const status = await fetch(`${url}/health`, { signal: AbortSignal.timeout(GIVE_UP_MS) })
    .then(async (response) => (await response.text(), response.status))
    .catch(() => 0)
  const ms = performance.now() - before
  console.log(`${status} ${ms.toFixed(1)} ${(busy() - busy_before).toFixed(1)}`)
  await Bun.sleep(EVERY_MS)
}

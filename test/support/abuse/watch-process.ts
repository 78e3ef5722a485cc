import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const RSS_EVERY_MS = 20
const PROBER = join(import.meta.dir, '../../../scripts/bars/abuse/health.ts')

/** The most memory that a daemon had during `work`, in MiB, and how long `/health` took meanwhile, p99 in ms. */
export async function watchProcess<T>(
  { pid, url }: { pid: number; url: string },
  work: () => Promise<T>,
): Promise<{ result: T; rss_max_mib: number; health_p99_ms: number; failed: number }> {
  const rss = () =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  // From a process of its own: who attacks is busy.
  const prober = Bun.spawn([process.execPath, PROBER, `${url}/health`], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const printed = new Response(prober.stdout).text()
  let rss_max_mib = rss()
  const timer = setInterval(() => (rss_max_mib = Math.max(rss_max_mib, rss())), RSS_EVERY_MS)
  try {
    const result = await work()
    prober.kill()
    const answers = (await printed)
      .split('\n')
      .filter((line) => /^\d+ [\d.]+$/.test(line))
      .map((line) => line.split(' ').map(Number))
    const durations = answers.map(([, ms = 0]) => ms).toSorted((a, b) => a - b)
    return {
      result,
      rss_max_mib,
      health_p99_ms: durations[Math.floor(durations.length * 0.99)] ?? Infinity,
      failed: answers.filter(([status]) => status !== 200).length,
    }
  } finally {
    clearInterval(timer)
    prober.kill()
  }
}

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

const RSS_EVERY_MS = 100
const REQUEST_EVERY_MS = 10
const REQUESTS_MAX = 1000

/** Measurements of the daemon since the previous reading. Durations in milliseconds. */
type Seen = { stalls_ms: number[]; health_ms: number[]; failed: string[]; rss_max_mib: number }

/** File that the probe inside the daemon writes. */
export const stallsFile = (): string => join(tmpdir(), `forumd-stalls-${process.pid}.json`)

/** Quantile of a list; 0 for an empty list. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

/** Watches a daemon from outside: its memory, its event-loop delay and the response times of `/health`. */
export async function startWatch({ pid, url, file }: { pid: number; url: string; file: string }) {
  const prober = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'health.ts'), `${url}/health`],
    {
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  let health: { status: number; ms: number }[] = []
  const reading = readLines(prober.stdout, (line) => {
    const [status = 0, ms = 0] = line.split(' ').map(Number)
    health.push({ status, ms })
  })
  const rss = () =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  let peak = rss()
  const timer = setInterval(() => (peak = Math.max(peak, rss())), RSS_EVERY_MS)
  while (health.length === 0) await Bun.sleep(REQUEST_EVERY_MS)

  async function stalls(): Promise<number[]> {
    rmSync(file, { force: true })
    process.kill(pid, 'SIGUSR2')
    for (let n = 0; !existsSync(file); n++) {
      if (n === REQUESTS_MAX) throw new Error('the probe does not answer')
      await Bun.sleep(REQUEST_EVERY_MS)
    }
    return z.array(z.number()).parse(JSON.parse(readFileSync(file, 'utf8')))
  }

  return {
    rss,
    async take(): Promise<Seen> {
      const seen = {
        stalls_ms: await stalls(),
        health_ms: health.map(({ ms }) => ms),
        failed: health
          .filter(({ status }) => status !== 200)
          .map(({ status }) => `/health answered ${status}`),
        rss_max_mib: peak,
      }
      health = []
      peak = rss()
      return seen
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      prober.kill()
      await reading
      rmSync(file, { force: true })
    },
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}

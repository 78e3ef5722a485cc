import { writeFileSync } from 'node:fs'

import { tempFolder } from './folder.ts'
import { type DaemonProcess, runForumd, startProcess } from './process.ts'

const WAIT_MAX_MS = 20_000

/** Waits until a condition holds, or for too long: what is expected then says what is missing. */
export async function untilMet(met: () => boolean | Promise<boolean>, every_ms = 20) {
  for (const end = Date.now() + WAIT_MAX_MS; Date.now() < end && !(await met());)
    await Bun.sleep(every_ms)
}

/**
 * The program as a process that polls one further source, `s`, every second, with the key of a customer. `more` comes
 * first in its configuration. The caller ends it.
 */
export async function startSourceProgram(source: { kind: string; url: string; more?: string }) {
  const folder = tempFolder()
  const config = folder.file('forumd.toml')
  writeFileSync(
    config,
    `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
billing = { enabled = false }
limits = { management_per_minute = 0, key_rate = 0 }
${source.more ?? ''}
[plans.entry]
cadence_s = 1
[[source]]
name = "forum"
kind = "reddit"
base_url = "http://127.0.0.1:1"
session_cookie = "s"
[[source]]
name = "s"
kind = "${source.kind}"
base_url = "${source.url}"
requests_per_minute = 6000
`,
  )
  const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let daemon = await startProcess(config)
  const lines: string[][] = [daemon.lines]
  return {
    database: `${folder.file('data')}/forumd.sqlite`,
    /** Every line that its runs have logged. */
    logged: () => lines.flat().join('\n'),
    end: (signal: Parameters<DaemonProcess['end']>[0]) => daemon.end(signal),
    async startAgain() {
      daemon = await startProcess(config)
      lines.push(daemon.lines)
    },
    /** Calls a route of monitoring: a POST with a body, a GET without. */
    async call(path: string, body?: object): Promise<any> {
      const answer = await fetch(`${daemon.url}/forum/monitor/${path}`, {
        headers,
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
      return answer.json()
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

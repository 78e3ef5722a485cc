/**
 * Whether a failing disk ever makes the daemon say yes to what is not there afterwards. Runs it under strace, lets the
 * nth write or sync fail, registers webhooks meanwhile, starts it anew on a good disk, and looks for every one that was
 * acknowledged. After an I/O error the process must have ended by itself, to be started again.
 *
 *     bun scripts/bars/disk.ts [--from 1] [--to 300] [--step 1]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { type DaemonProcess, runForumd, startProcess } from '../../test/support/process.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '300' },
    step: { type: 'string', default: '1' },
  },
})
const created = z.object({ id: z.string() })
const list = z.object({ webhooks: z.array(created) })
const CALLS = ['pwrite64', 'fsync']
const ERRORS = ['EIO', 'ENOSPC']
const WRITES = 40
const ANSWER_MAX_MS = 3000
const END_MAX_MS = 1500

const dir = await mkdtemp(join(tmpdir(), 'forumd-disk-'))
const config = join(dir, 'forumd.toml')
await Bun.write(
  config,
  `[server]\nport = 0\n[storage]\ndir = "${join(dir, 'data')}"\n[platform]\nbase_url = "http://127.0.0.1:1"\n` +
    'session_cookie = "s"\n[guard]\nallow_targets = ["127.0.0.1"]\n[limits]\nkey_rate = 0\nmanagement_per_minute = 0\n[log]\njson = true\n',
)
const minted = await runForumd(`key create --config ${config} --customer ann --json`.split(' '))
const headers = {
  authorization: `Bearer ${JSON.parse(minted).key}`,
  'content-type': 'application/json',
}

/** Registers targets until the daemon is gone or enough are there; the ids it said yes to. */
async function register({ url }: DaemonProcess): Promise<{ ids: string[]; refused: number }> {
  const ids: string[] = []
  let refused = 0
  for (let n = 0; n < WRITES; n++) {
    const response = await fetch(`${url}/forum/monitor/webhook/create`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ url: 'https://127.0.0.1/hook' }),
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    }).catch(() => null)
    if (response === null) break
    const body = await response.text().catch(() => '')
    if (response.status === 200) ids.push(created.parse(JSON.parse(body)).id)
    else refused++
  }
  return { ids, refused }
}

/** The ids of all targets, after which they are removed. */
async function listed({ url }: DaemonProcess): Promise<Set<string>> {
  const answer = await fetch(`${url}/forum/monitor/webhook/list`, { headers })
  const ids = list.parse(await answer.json()).webhooks.map(({ id }) => id)
  for (const id of ids)
    await fetch(`${url}/forum/monitor/webhook/delete`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ id }),
    })
  return new Set(ids)
}

const figures = {
  cases: 0,
  at_start: 0,
  ended_75: 0,
  refused: 0,
  acknowledged: 0,
  lost: 0,
  hung: 0,
}
for (const call of CALLS)
  for (const error of ERRORS)
    for (let n = Number(values.from); n <= Number(values.to); n += Number(values.step)) {
      figures.cases++
      // What earlier cases have noted would keep this one from starting.
      await rm(join(dir, 'data/storage-errors.json'), { force: true })
      const trace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`]
      const inject = ['-e', `inject=${call}:error=${error}:when=${n}`]
      const daemon = await startProcess(config, [...trace, ...inject]).catch(() => null)
      let ids: string[] = []
      if (daemon === null) figures.at_start++
      else {
        const told = await register(daemon)
        ids = told.ids
        figures.refused += told.refused
        const failed = daemon.lines.some((line) => /SQLITE_IOERR|storage\.lost/.test(line))
        const ended = await Promise.race([
          daemon.ended.then(() => true),
          Bun.sleep(failed ? END_MAX_MS : 0).then(() => false),
        ])
        if (failed && !ended) {
          figures.hung++
          console.log(`still there after ${error} at ${call} ${n}`)
        }
        if ((await daemon.end('SIGKILL')) === 75) figures.ended_75++
      }
      figures.acknowledged += ids.length
      await rm(join(dir, 'data/storage-errors.json'), { force: true })
      const again = await startProcess(config)
      const there = await listed(again)
      const lost = ids.filter((id) => !there.has(id))
      figures.lost += lost.length
      if (lost.length > 0) console.log(`lost ${lost.length} after ${error} at ${call} ${n}`)
      await again.end('SIGTERM')
    }
await rm(dir, { recursive: true, force: true })
console.table(figures)
process.exit(figures.lost === 0 && figures.hung === 0 && figures.acknowledged > 0 ? 0 : 1)

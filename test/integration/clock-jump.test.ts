// Goal: the released process keeps its schedule while the machine's clock is set. Method: the
// daemon runs under libfaketime, which reads the pretended time from a file; the file is changed
// while a retry waits, a day ahead and back. The receiver and the platform use true time.

import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { type DaemonProcess, runForumd, startProcess } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'

const [library] = [...new Bun.Glob('/usr/lib/*/faketime/libfaketimeMT.so.1').scanSync('/')]
if (library === undefined && !process.env['CI']) console.log('skipped: libfaketime is missing')
const steppable = describe.skipIf(library === undefined && !process.env['CI'])

const DAY_S = 86_400
const TOLERANCE_S = 300
const WAIT_MAX_MS = 60_000

const dir = await mkdtemp(join(tmpdir(), 'forumd-stepped-'))
afterAll(() => rm(dir, { recursive: true, force: true }))

async function until(what: string, is: () => boolean | Promise<boolean>): Promise<void> {
  for (const give_up_at = performance.now() + WAIT_MAX_MS; !(await is());) {
    if (performance.now() > give_up_at) throw new Error(`in vain: ${what}`)
    await Bun.sleep(20)
  }
}

const trueTime = () => Date.now() / 1000

const configText = (platform: string) => `
server = { port = 0 }
storage = { dir = "${join(dir, 'data')}" }
source = [{ name = "forum", kind = "reddit", base_url = "${platform}", session_cookie = "session", accounts = { session_requests_per_minute = 60000 } }]
plans = { entry = { cadence_s = 1 } }
guard = { allow_targets = ["127.0.0.1"] }
delivery = { retry_delays_s = [0, 2, 2], ca_file = "${join(dir, 'ca.pem')}" }
limits = { management_per_minute = 0 }
log = { json = true }
`

steppable('a running daemon whose clock is set', () => {
  test('sends pending deliveries on time, and signs with true time', async () => {
    await using receiver = await startReceiver()
    await using sandbox = await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 1_000_000,
    })
    const [config, pretended] = [join(dir, 'forumd.toml'), join(dir, 'time')]
    await Bun.write(join(dir, 'ca.pem'), receiver.ca)
    await Bun.write(config, configText(sandbox.url))
    const setClock = (ahead_s: number) => Bun.write(pretended, `+${ahead_s}`)
    await setClock(0)
    const post = (title: string) => sandbox.post({ subforum: 'cats', title })
    // A minute earlier: within the second of its creation a monitor would match the post.
    const created_at = Date.now() - 60_000
    sandbox.post({ subforum: 'cats', title: 'one from before', created_at })

    const daemon = await startProcess(config, [
      'env',
      `LD_PRELOAD=${library}`,
      `FAKETIME_TIMESTAMP_FILE=${pretended}`,
      'FAKETIME_NO_CACHE=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
    ])
    try {
      await runScenario(daemon, { config, setClock, post, receiver })
    } finally {
      await daemon.end('SIGTERM')
    }
  }, 180_000)
})

type ScenarioContext = {
  config: string
  setClock: (ahead_s: number) => Promise<unknown>
  post: (title: string) => unknown
  receiver: Awaited<ReturnType<typeof startReceiver>>
}

async function runScenario(
  daemon: DaemonProcess,
  { config, setClock, post, receiver }: ScenarioContext,
) {
  const minted = await runForumd(`key create --config ${config} --customer ann --json`.split(' '))
  const headers = {
    authorization: `Bearer ${JSON.parse(minted).key}`,
    'content-type': 'application/json',
  }
  const call = async (path: string, body?: object) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${daemon.url}/forum/monitor/${path}`, { headers, ...init })
    expect(response.status).toBe(200)
    return JSON.parse(await response.text())
  }
  const url = `https://127.0.0.1:${receiver.port}/hook`
  const webhook = await call('webhook/create', { kind: 'webhook', url })
  const monitor = await call('add', { filter_spec: { subforum: 'cats' }, cadence_s: 1 })

  const cameWith = (title: string) =>
    receiver.received.filter(({ text }) => text.includes(`"${title}"`))
  const skew = async () => (await call(`health?id=${monitor.id}`)).clock_skew_s
  const signedAt = (title: string) =>
    Number(cameWith(title).at(-1)?.headers.get('x-service-timestamp'))
  const jumps = () =>
    daemon.lines
      .filter((line) => line.includes('"delivery.clock_jumped"'))
      .map((it) => JSON.parse(it))

  for (const { title, ahead_s } of [
    { title: 'set ahead', ahead_s: DAY_S },
    { title: 'set right again', ahead_s: 0 },
  ]) {
    receiver.answers.push(500)
    post(title)
    await until(`${title} is attempted`, () => cameWith(title).length === 1)
    await setClock(ahead_s)
    await until(`${title} is attempted again`, () => cameWith(title).length === 2)
    await until('the platform has reported the time', async () => {
      const stated_s = await skew()
      return Math.abs(stated_s + ahead_s) <= 2
    })

    const after = `after it was ${title}`
    post(after)
    await until(`${after} comes`, () => cameWith(after).length === 1)
    expect(Math.abs(signedAt(after) - trueTime())).toBeLessThan(TOLERANCE_S)
  }

  const rows = async () => (await call('deliveries')).deliveries
  await until('all are delivered', async () =>
    (await rows()).every(({ status }: { status: string }) => status === 'delivered'),
  )
  const deliveries = await rows()
  expect(deliveries).toHaveLength(4)
  for (const { created_at, delivered_at } of deliveries)
    for (const at of [created_at, delivered_at])
      expect(Math.abs(Date.parse(at) / 1000 - trueTime())).toBeLessThan(TOLERANCE_S)
  const { webhooks } = await call('webhook/list')
  expect(webhooks).toMatchObject([{ id: webhook.id, paused_at: null }])
  // The daemon observed the clock change and logged it.
  expect(jumps().map(({ jump_ms }) => Math.round(jump_ms / 1000))).toEqual([DAY_S, -DAY_S])
}

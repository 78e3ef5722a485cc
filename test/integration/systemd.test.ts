// Goal: a service manager with systemd's protocol gets the true state: ready, reloading, stopping,
// and a watchdog timeout for a stalled loop. Method: the program in its own process, and an
// independent manager in Python that listens on a datagram socket.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { runForumd, startProcess } from '../support/process.ts'

// Processes are started, and the machine may be busy.
setDefaultTimeout(60_000)

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0, seed: 1, speed: 0, world: 'seeded', now: Date.now })
})
afterAll(() => sandbox.stop())

/** The manager: every datagram that it received, as lines. */
async function listen(path: string, patience_s = '') {
  const child = Bun.spawn(
    ['/usr/bin/python3', join(import.meta.dir, 'systemd-manager.py'), path, patience_s].filter(
      (it) => it !== '',
    ),
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const notifications: string[][] = []
  let waiting: (() => void)[] = []
  void (async () => {
    let rest = ''
    for await (const chunk of child.stdout) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = lines.pop() ?? ''
      notifications.push(...lines.map((line): string[] => JSON.parse(line)))
      for (const wake of waiting.splice(0)) wake()
    }
  })()
  const manager = {
    notifications,
    /** Resolves with the first datagram from `from` on that has this line. */
    async until(line: string | RegExp, from = 0): Promise<string[]> {
      const fits = (it: string) => (typeof line === 'string' ? it === line : line.test(it))
      for (;;) {
        const found = notifications.slice(from).find((lines) => lines.some(fits))
        if (found) return found
        await new Promise<void>((resolve) => (waiting = [...waiting, resolve]))
      }
    },
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await child.exited
    },
  }
  await manager.until('LISTENING')
  return manager
}

function configured(folder: Folder, extra = ''): string {
  const path = folder.file('forumd.toml')
  writeFileSync(
    path,
    `[server]\nport = 0\n[storage]\ndir = "${folder.file('data')}"
[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${sandbox.url}"\nsession_cookie = "${sandbox.session_cookie}"\n${extra}`,
  )
  return path
}

const SOCKETS = [
  ['a file', (folder: Folder) => folder.file('notify')],
  ['a name without a file', () => `@forumd-test-${process.pid}-${Date.now()}`],
] as const

test.concurrent.each(SOCKETS)(
  'a manager at %s is notified of readiness, liveness, state and stop',
  async (_, pathOf) => {
    using folder = tempFolder()
    const path = pathOf(folder)
    await using manager = await listen(path)
    const daemon = await startProcess(configured(folder), [
      'env',
      `NOTIFY_SOCKET=${path}`,
      'WATCHDOG_USEC=300000',
    ])

    const ready = await manager.until('READY=1')
    await manager.until('WATCHDOG=1')
    await manager.until(
      `STATUS=listening on ${daemon.url}; 0 monitors on 0 feeds, 0 deliveries waiting`,
    )
    const code = await daemon.end('SIGTERM')
    const stopping = await manager.until('STOPPING=1')

    expect(code).toBe(0)
    expect(ready).toEqual(['READY=1', `pid=${daemon.pid}`])
    expect(stopping).toContain('STATUS=finishing work in progress')
    const names = manager.notifications.map(([first]) => first?.split('=')[0])
    expect(names.slice(0, 3)).toEqual(['LISTENING', 'STATUS', 'READY'])
    expect(names.lastIndexOf('WATCHDOG')).toBeLessThan(names.indexOf('STOPPING'))
  },
)

test.concurrent(
  'no watchdog message is sent without a watchdog, or for that of another process',
  async () => {
    using folder = tempFolder()
    const path = folder.file('notify')
    await using manager = await listen(path)
    const daemon = await startProcess(configured(folder), [
      'env',
      `NOTIFY_SOCKET=${path}`,
      'WATCHDOG_USEC=1000',
      'WATCHDOG_PID=1',
    ])

    await manager.until(/^STATUS=listening/)
    await daemon.end('SIGTERM')
    await manager.until('STOPPING=1')

    expect(manager.notifications.flat()).not.toContain('WATCHDOG=1')
  },
)

test.concurrent('an unreachable manager is logged, and the daemon serves anyway', async () => {
  using folder = tempFolder()
  const daemon = await startProcess(configured(folder), ['env', 'NOTIFY_SOCKET=vsock:2:1234'])

  expect(await daemon.end('SIGTERM')).toBe(0)
  expect(daemon.lines.join('\n')).toContain('"event":"systemd.unreachable"')
})

/** CLOCK_MONOTONIC of this machine in microseconds, from an independent source. */
function monotonicMicros(): bigint {
  const { stdout } = Bun.spawnSync([
    '/usr/bin/python3',
    '-c',
    'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)',
  ])
  return BigInt(stdout.toString().trim())
}

test.concurrent(
  'SIGHUP applies limits, plans, prices and the log level, and names keys that need a restart',
  async () => {
    using folder = tempFolder()
    const path = folder.file('notify')
    await using manager = await listen(path)
    const config = configured(folder, '[limits]\naccount_per_minute = 2\n')
    const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
    const daemon = await startProcess(config, ['env', `NOTIFY_SOCKET=${path}`])
    const me = () =>
      fetch(`${daemon.url}/account/me`, { headers: { authorization: `Bearer ${key}` } })
    await manager.until('READY=1')
    const before = [await me(), await me(), await me()].map(({ status }) => status)
    const from = manager.notifications.length
    const began = monotonicMicros()

    configured(
      folder,
      '[limits]\naccount_per_minute = 0\nread_cache_s = 9\n[plans.entry]\nslots = 3\n[billing.prices]\nread = 0.125\n[delivery]\ntimeout_s = 7\n[log]\nlevel = "warn"\n',
    )
    process.kill(daemon.pid, 'SIGHUP')
    const reloading = await manager.until('RELOADING=1', from)
    await manager.until('READY=1', from)

    const since = BigInt(/MONOTONIC_USEC=(\d+)/.exec(reloading.join('\n'))?.[1] ?? '0')
    expect(since).toBeGreaterThanOrEqual(began)
    expect(since).toBeLessThanOrEqual(monotonicMicros())
    expect(before).toEqual([200, 200, 429])
    const after = await me()
    expect(after.status).toBe(200)
    expect(await after.json()).toMatchObject({ monitors: { total: 3 } })
    const place = sandbox.overview().subforums[0] ?? ''
    const read = await fetch(`${daemon.url}/api/forum/posts?subforum=${place}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect([read.status, read.headers.get('x-credits-remaining')]).toEqual([200, '0.375'])
    await daemon.end('SIGTERM')
    const lines = daemon.lines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event.startsWith('config.'))
      .map(({ level, event, key: name }) => `${level} ${event} ${name ?? ''}`.trim())
    // The log level is among the applied keys: applied changes are logged at info, which is now
    // disabled.
    expect(lines).toEqual([
      'warn config.needs_restart delivery.timeout_s',
      'warn config.needs_restart limits.read_cache_s',
    ])
    const db = new Database(folder.file('data/forumd.sqlite'), { readonly: true })
    const noted = db
      .query<{ detail: string }, []>(
        "SELECT detail FROM audit WHERE kind = 'config.changed' ORDER BY seq",
      )
      .all()
    db.close()
    // Keys that need a restart are not in the active configuration.
    expect(JSON.parse(noted.at(-1)?.detail ?? '{}').changed.toSorted()).toEqual([
      'billing.price_micros.read',
      'limits.account_per_minute',
      'log.level',
      'plans.entry.slots',
    ])
  },
)

test.concurrent(
  'an invalid configuration is rejected as a whole, and the old one stays active',
  async () => {
    using folder = tempFolder()
    const path = folder.file('notify')
    await using manager = await listen(path)
    const config = configured(folder, '[limits]\naccount_per_minute = 1\n')
    const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
    const daemon = await startProcess(config, ['env', `NOTIFY_SOCKET=${path}`])
    const me = () =>
      fetch(`${daemon.url}/account/me`, { headers: { authorization: `Bearer ${key}` } })
    await manager.until('READY=1')
    const from = manager.notifications.length

    configured(folder, '[limits]\naccount_per_minute = 0\nkey_rat = 3\n')
    process.kill(daemon.pid, 'SIGHUP')
    await manager.until('READY=1', from)

    const statuses = [await me(), await me()].map(({ status }) => status)
    await daemon.end('SIGTERM')
    expect(statuses).toEqual([200, 429])
    const refused = daemon.lines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'config.refused')
    expect(refused).toHaveLength(1)
    expect(refused[0].why).toContain(':12:1: limits.key_rat: unknown key')
  },
)

test.concurrent(
  'a long database lock of another process delays neither the reload nor its report',
  async () => {
    using folder = tempFolder()
    const path = folder.file('notify')
    await using manager = await listen(path)
    const daemon = await startProcess(configured(folder), ['env', `NOTIFY_SOCKET=${path}`])
    await manager.until('READY=1')
    const from = manager.notifications.length

    configured(folder, '[limits]\nkey_rate = 3\n')
    const db = new Database(folder.file('data/forumd.sqlite'))
    db.run('PRAGMA busy_timeout = 5000')
    db.run('BEGIN IMMEDIATE')
    process.kill(daemon.pid, 'SIGHUP')
    await manager.until('READY=1', from)
    db.run('ROLLBACK')
    db.close()

    expect(await daemon.end('SIGTERM')).toBe(0)
    expect(daemon.lines.join('\n')).toContain('"event":"config.changed","key":"limits.key_rate"')
  },
)

/** `forumd serve` with a loop that can be stalled, and a client. */
async function startStalled(folder: Folder, socket: string, at: string, ms: number) {
  const config = configured(
    folder,
    `retries = 0\n[requests]\ntimeout_s = 0.777\nread_deadline_s = 1.5
[guard]\nallow_targets = ["127.0.0.1"]\nallow_http = true\n[delivery]\ntimeout_s = 0.333\n[plans.entry]\ncadence_s = 1\n`,
  )
  const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
  const child = Bun.spawn(
    [
      process.execPath,
      new URL('systemd-stalled.ts', import.meta.url).pathname,
      'serve',
      '--config',
      config,
    ],
    {
      stdout: Bun.file(folder.file('log')),
      // Bun's own output about the signal, which is long.
      stderr: 'ignore',
      env: {
        ...process.env,
        NOTIFY_SOCKET: socket,
        WATCHDOG_USEC: '500000',
        STALL_FILE: folder.file('stalled'),
        STALL_AT: at,
        STALL_MS: String(ms),
      },
    },
  )
  return {
    ended: child.exited,
    signal: () => child.signalCode,
    log: () => Bun.file(folder.file('log')).text(),
    stall: () => writeFileSync(folder.file('stalled'), ''),
    async send(path: string, body: object) {
      const url = (await Bun.file(folder.file('data/forumd.address')).text()).trim()
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      if (answer.status !== 200) throw new Error(await answer.text())
    },
  }
}

// Both wait for timeouts.
test.concurrent.each(['monitor', 'sender'] as const)(
  'a stalled %s loop is killed by the watchdog, and the log names it',
  async (loop) => {
    using folder = tempFolder()
    const path = folder.file('notify')
    await using manager = await listen(path, '4')
    using receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const hook = `http://127.0.0.1:${receiver.port}/`
    const daemon = await (loop === 'monitor'
      ? startStalled(folder, path, sandbox.url, 777)
      : startStalled(folder, path, hook, 333))
    await manager.until('READY=1')
    const place = sandbox.overview().subforums[0] ?? ''
    await daemon.send('/forum/monitor/webhook/create', { kind: 'webhook', url: hook })
    await daemon.send('/forum/monitor/add', { filter_spec: { subforum: place } })
    await manager.until(/1 monitors on 1 feeds/)

    daemon.stall()
    sandbox.post({ subforum: place, title: 'the news' })
    await daemon.ended

    expect(daemon.signal()).toBe('SIGABRT')
    expect(await manager.until('BITTEN')).toEqual(['BITTEN'])
    expect(manager.notifications.flat()).toContain(`STATUS=the ${loop} loop is stuck`)
    const stuck = (await daemon.log()).split('\n').filter((line) => line.includes('serve.stuck'))
    expect(stuck.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error', event: 'serve.stuck', loop, what: 'work' },
    ])
  },
)

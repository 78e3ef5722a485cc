import { openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import type { SimulatedClock } from './clock.ts'

/** The executable under test, in a folder of its own, with a simulated clock. */
export class Daemon {
  readonly folder: string
  readonly #binary: string
  readonly #clock: SimulatedClock
  readonly #log: number
  #process: ReturnType<typeof Bun.spawn> | null = null
  base = ''
  kills = 0

  constructor(binary: string, folder: string, clock: SimulatedClock) {
    this.#binary = binary
    this.folder = folder
    this.#clock = clock
    this.#log = openSync(join(folder, 'log', 'forumd.log'), 'a')
  }

  /** Starts it, and waits until it serves. @throws Error if it does not within a minute. */
  async start(): Promise<void> {
    const address = join(this.folder, 'data', 'forumd.address')
    rmSync(address, { force: true })
    this.#process = Bun.spawn([this.#binary, 'serve', '--config', 'forumd.toml'], {
      cwd: this.folder,
      env: { ...process.env, ...this.#clock.env() },
      stdin: 'ignore',
      stdout: this.#log,
      stderr: this.#log,
    })
    const until = performance.now() + 60_000
    while (performance.now() < until) {
      if (this.#process.exitCode !== null)
        throw new Error(`forumd ended with ${this.#process.exitCode}: ${this.folder}/log`)
      if (await this.#serves(address)) return
      await Bun.sleep(20)
    }
    throw new Error('forumd does not serve')
  }

  async #serves(address: string): Promise<boolean> {
    try {
      const [first = ''] = readFileSync(address, 'utf8').trim().split('\n')
      this.base = first.includes('://') ? first : `http://${first}`
      return (await fetch(`${this.base}/health`, { signal: AbortSignal.timeout(5000) })).ok
    } catch {
      return false
    }
  }

  async kill(): Promise<void> {
    this.kills += 1
    this.#process?.kill('SIGKILL')
    await this.#process?.exited
  }

  async stop(): Promise<void> {
    this.#process?.kill('SIGTERM')
    await this.#process?.exited
  }

  /** Runs a command of the executable beside the daemon. */
  async command(args: string[]): Promise<{ code: number; out: string }> {
    const run = Bun.spawn([this.#binary, ...args, '--config', 'forumd.toml'], {
      cwd: this.folder,
      env: { ...process.env, ...this.#clock.env() },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, error, code] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
      run.exited,
    ])
    return { code, out: out + error }
  }

  async call(
    key: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(this.base + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
    const answer: unknown = await response.json()
    return {
      status: response.status,
      body: typeof answer === 'object' && answer !== null ? { ...answer } : {},
    }
  }
}

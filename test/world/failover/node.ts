import { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { PROGRAM } from '../../support/process.ts'
import type { NodeNetwork } from './network.ts'

type Life = { child: ReturnType<typeof spawn>; pid: number; url: string }

const spawn = (command: readonly string[], env: Record<string, string>) =>
  Bun.spawn([...command], {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
    // The group is the machine: its replication dies and freezes with it.
    detached: true,
  })

/** The newest events that are kept. */
const EVENTS_MAX = 20_000
/** Exit codes after which a service manager starts the daemon again. */
const RESTARTS = new Set([75, 1])
const KILLED = 137
const RESTART_MS = 200
/** Each node of a network has addresses of its own. */
export const PORT = 8080

/** One node: a folder, a configuration, and its process as a service manager would keep it. */
export class Node {
  readonly name: string
  readonly data: string
  /** Events of its log, with the time at which they were read. */
  readonly events: { at: number; event: string; line: string }[] = []
  readonly config: string
  readonly #dir: string
  readonly #fake_time: string | null
  readonly #has_replica: boolean
  readonly #env: Record<string, string>
  readonly #under: readonly string[]
  readonly #network: NodeNetwork | null
  readonly #text: string
  #lives = 0
  #tracer: ReturnType<typeof Bun.spawn> | null = null
  #life: Life | null = null
  #wanted = false
  #running: Promise<void> = Promise.resolve()

  constructor(
    name: string,
    {
      dir,
      config,
      fake_time,
      env = {},
      under = [],
      network = null,
    }: {
      dir: string
      config: string
      fake_time: string | null
      env?: Record<string, string>
      /** Command that runs it. */
      under?: readonly string[]
      /** Null: that of the caller. A node with a network is started again after a SIGKILL too. */
      network?: NodeNetwork | null
    },
  ) {
    this.name = name
    this.#env = env
    this.#under = under
    this.#network = network
    this.#has_replica = config.includes('restore =')
    this.#dir = join(dir, name)
    this.data = join(this.#dir, 'data')
    this.config = join(this.#dir, 'forumd.toml')
    this.#fake_time = fake_time
    mkdirSync(this.data, { recursive: true })
    this.#text = config.replace('{data}', this.data)
    this.#writeConfig()
    this.stepClock(0)
  }

  /** The user agent tells the lives of a node apart. */
  #writeConfig(): void {
    writeFileSync(this.config, this.#text.replace('{life}', String(this.#lives)))
  }

  /** Prepares it as a standby, which keeps what it has if it has a replica to follow. */
  becomeStandbyOf(other: Node, keeps: boolean): void {
    if (keeps && this.#has_replica && existsSync(join(this.data, 'secrets.key'))) return
    this.copyFrom(other)
  }

  /** Replaces the data by a copy of another node's database, key and marker; of its key alone with a replica. */
  copyFrom(other: Node): void {
    rmSync(this.data, { recursive: true, force: true })
    mkdirSync(this.data, { recursive: true })
    if (this.#has_replica)
      return copyFileSync(join(other.data, 'secrets.key'), join(this.data, 'secrets.key'))
    using db = new Database(join(other.data, 'forumd.sqlite'))
    db.run('PRAGMA busy_timeout = 5000')
    db.query('VACUUM INTO ?').run(join(this.data, 'forumd.sqlite'))
    for (const file of ['instance.id', 'secrets.key'])
      copyFileSync(join(other.data, file), join(this.data, file))
  }

  /** Sets the offset of its wall clock; its monotonic clock is left alone. */
  stepClock(seconds: number): void {
    const file = join(this.#dir, 'clock')
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    renameSync(`${file}.new`, file)
  }

  /** Starts it, and again whenever it ends and asks for that. */
  start(): void {
    this.#wanted = true
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#wanted) {
      const env: Record<string, string> =
        this.#fake_time === null
          ? this.#env
          : {
              ...this.#env,
              LD_PRELOAD: this.#fake_time,
              FAKETIME_TIMESTAMP_FILE: join(this.#dir, 'clock'),
              FAKETIME_NO_CACHE: '1',
              FAKETIME_DONT_FAKE_MONOTONIC: '1',
            }
      this.#lives += 1
      this.#writeConfig()
      const command = [...this.#under, ...PROGRAM, 'serve', '--config', this.config]
      const child = spawn(this.#network?.inside(command) ?? command, env)
      this.#life = { child, pid: child.pid, url: '' }
      await this.#read(child.stdout)
      const code = await child.exited
      this.#life = null
      this.note('ended', JSON.stringify({ code }))
      if (!RESTARTS.has(code) && !(this.#network !== null && code === KILLED)) return
      await Bun.sleep(RESTART_MS)
    }
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const event = /"event":"([^"]+)"/.exec(line)?.[1]
        if (event === undefined) continue
        if (event === 'serve.listening' && this.#life !== null)
          this.#life.url = /"url":"([^"]+)"/.exec(line)?.[1] ?? ''
        this.note(event, line)
      }
    }
  }

  note(event: string, line = ''): void {
    if (this.events.length >= EVENTS_MAX) this.events.splice(0, EVENTS_MAX / 2)
    this.events.push({ at: performance.now(), event, line })
  }

  get url(): string {
    if (this.#life === null) return ''
    return this.#network === null ? this.#life.url : `http://${this.#network.address}:${PORT}`
  }

  /** Id of its process; null: none. */
  get pid(): number | null {
    return this.#life?.pid ?? null
  }

  get isRunning(): boolean {
    return this.#life !== null
  }

  /** Delays each fsync of the running process, as a slow disk would; null ends that. */
  async slowDisk(delay_ms: number | null): Promise<void> {
    const tracer = this.#tracer
    this.#tracer = null
    tracer?.kill('SIGTERM')
    await tracer?.exited
    if (delay_ms === null || this.#life === null) return
    const calls = 'fsync,fdatasync'
    const inject = `inject=${calls}:delay_enter=${delay_ms * 1000}`
    const options = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', inject]
    this.#tracer = Bun.spawn(['strace', ...options, '-p', String(this.#life.pid)], {
      stdio: ['ignore', 'ignore', 'ignore'],
    })
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    if (this.#life === null) return
    try {
      process.kill(signal === 'SIGTERM' ? this.#life.pid : -this.#life.pid, signal)
    } catch {
      // It has ended meanwhile.
    }
  }

  /** Ends it for good, by a signal that is not answered with a restart. */
  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#wanted = false
    await this.slowDisk(null)
    this.signal('SIGCONT')
    this.signal(signal)
    await this.#running
  }

  /** Resolves with the time of the first such event from `since` on; null after `within_ms`. */
  async until(event: string, since: number, within_ms: number): Promise<number | null> {
    const over = performance.now() + within_ms
    for (;;) {
      const found = this.events.find((it) => it.at >= since && it.event === event)
      if (found !== undefined) return found.at
      if (performance.now() > over) return null
      await Bun.sleep(5)
    }
  }
}

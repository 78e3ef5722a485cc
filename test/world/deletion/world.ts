import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Sightings, sightings } from './bytes.ts'
import { SimulatedClock } from './clock.ts'
import { Daemon } from './daemon.ts'
import { judge, type Verdict } from './judge.ts'
import { Life } from './life.ts'
import { Platform } from './platform.ts'
import { Receivers } from './receiver.ts'
import { DAY, HOUR, TARGETS } from './targets.ts'
import { between, seeded } from './words.ts'

const SNAPSHOTS_DAYS = 1

export interface Options {
  seed: number
  items: number
  /** Days in which items appear and are deleted. */
  days: number
  kills: number
  binary: string
  /** An empty folder, or null for a temporary one. */
  folder: string | null
  fake_time: string
}

const PLACES = ['coffee', 'tea', 'water']
const EVENTS = ['match', 'item.deleted', 'item.edited']

function configuration(platform: string): string {
  return `[server]
port = 0
[storage]
dir = "data"
[retention]
snapshots_days = ${SNAPSHOTS_DAYS}
[archive]
keep = "feeds"
[requests]
user_agent = "forumd-test/1.0"
timeout_s = 300
read_deadline_s = 600
[[source]]
name = "forum"
kind = "reddit"
base_url = "${platform}"
session_cookie = "session"
[source.accounts]
session_requests_per_minute = 120
[plans.entry]
slots = 20
cadence_s = 60
daily_deliveries = 100000
[monitor]
freshness_s = 7200
[guard]
allow_targets = ["127.0.0.1"]
allow_http = true
[delivery]
timeout_s = 300
[limits]
management_per_minute = 100000
[log]
level = "debug"
json = true
access = true
`
}

/** The executable, a platform, receivers and a clock that runs days in minutes. */
export class DeletionWorld {
  readonly folder: string
  readonly options: Options
  readonly clock: SimulatedClock
  readonly platform: Platform
  readonly receivers: Receivers
  readonly life: Life
  readonly daemon: Daemon
  readonly #random: () => number
  /** Mean of the simulated seconds between two looks of the daemon. */
  readonly #step_s: number
  key = ''
  readonly monitors = new Map<string, string>()

  private constructor(options: Options) {
    this.options = options
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'forumd-deletion-'))
    for (const name of ['data', 'log'])
      mkdirSync(join(this.folder, name), { recursive: true, mode: 0o700 })
    this.#random = seeded(options.seed)
    this.#step_s = options.days < 7 ? 600 : 1200
    this.clock = new SimulatedClock(join(this.folder, 'offset'), options.fake_time)
    this.platform = new Platform(PLACES, () => this.clock.now(), this.#random)
    this.receivers = new Receivers(() => this.clock.now(), this.#random)
    this.life = new Life(this.platform, this.#random)
    writeFileSync(join(this.folder, 'forumd.toml'), configuration(this.platform.url))
    this.daemon = new Daemon(options.binary, this.folder, this.clock)
  }

  static async open(options: Options): Promise<DeletionWorld> {
    const world = new DeletionWorld(options)
    const created = await world.daemon.command(['key', 'create', '--customer', 'me'])
    world.key = /fk_\S+/.exec(created.out)?.[0] ?? ''
    if (world.key === '') throw new Error(`no key: ${created.out}`)
    await world.daemon.start()
    await world.#register()
    return world
  }

  async #register(): Promise<void> {
    for (const { name, manner, events, monitor } of TARGETS) {
      const url = this.receivers.add(name, manner)
      const target = await this.#made('/forum/monitor/webhook/create', {
        url,
        ...(events ? { events: EVENTS } : {}),
      })
      const made = await this.#made('/forum/monitor/add', {
        name,
        filter_spec: { subforum: PLACES, kind: 'both' },
        webhook_ids: [target],
        ...monitor,
      })
      this.monitors.set(name, made)
    }
    for (const [name, fields] of Object.entries({
      group: { filter_spec: { subforum: PLACES, kind: 'both', group: true, group_window_s: 3600 } },
      votes: { filter_spec: { subforum: PLACES, kind: 'both', min_score: 1000 } },
      pull: { filter_spec: { subforum: PLACES, kind: 'both' }, targets: 'none' },
    })) {
      const made = await this.#made('/forum/monitor/add', { name, ...fields })
      this.monitors.set(name, made)
    }
  }

  async #made(path: string, body: unknown): Promise<string> {
    const answer = await this.daemon.call(this.key, path, body)
    const { id } = answer.body
    if (answer.status !== 200 || typeof id !== 'string')
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return id
  }

  /** Runs until every promise is due, and judges. */
  async run(say: (line: string) => void): Promise<Verdict> {
    const { days, items, kills } = this.options
    const from = this.clock.now()
    this.life.plan(from + HOUR / 2, days * DAY - HOUR / 2, items)
    // A short run ends after the check at 24 hours, a full one after the weekly check; snapshots have to grow old too.
    const database_due = days < 7 ? DAY + 2 * HOUR : 7 * DAY + 2 * HOUR
    const ends = from + days * DAY + database_due + SNAPSHOTS_DAYS * DAY + 3 * HOUR
    const kill_chance = (1.1 * kills) / ((ends - from) / (this.#step_s * 1000))
    let reported_at = from
    while (this.clock.now() < ends) {
      // The last checks are answered, so that the end of the promise is known.
      await this.#step(kill_chance, this.clock.now() < ends - SNAPSHOTS_DAYS * DAY - 15 * HOUR)
      if (this.clock.now() - reported_at < DAY / 2) continue
      reported_at = this.clock.now()
      say(
        `day ${((reported_at - from) / DAY).toFixed(1)}: ${this.life.fates.length} items, ${this.daemon.kills} kills, ` +
          `${JSON.stringify(this.platform.counts)}, ${this.receivers.received.length} received`,
      )
    }
    this.platform.fault = 'none'
    for (let step = 0; step < 3; step += 1) await this.#step(0, false)
    const health = await fetch(`${this.daemon.base}/metrics`).then((each) => each.text())
    writeFileSync(join(this.folder, 'fates.json'), JSON.stringify(this.life.fates))
    const running = this.look()
    const verdict = judge(this, running, 'running')
    await this.daemon.kill()
    verdict.faults.push(...judge(this, this.look(), 'killed').faults)
    verdict.figures['lag_s'] = Number(/kept_items_lag_seconds\S* (\S+)/.exec(health)?.[1] ?? -1)
    this.platform.stop()
    this.receivers.stop()
    if (this.options.folder === null && verdict.faults.length === 0)
      rmSync(this.folder, { recursive: true, force: true })
    return verdict
  }

  /** Every marked word in the data folder and the log. */
  look(): Sightings {
    const scratch = join(this.folder, 'scratch')
    if (existsSync(scratch)) rmSync(scratch, { recursive: true })
    const found = sightings(join(this.folder, 'data'), join(scratch, 'data'))
    for (const [word, list] of sightings(join(this.folder, 'log'), join(scratch, 'log')))
      found.set(word, [...(found.get(word) ?? []), ...list])
    rmSync(scratch, { recursive: true, force: true })
    return found
  }

  async #step(kill_chance: number, with_faults: boolean): Promise<void> {
    this.clock.advance(between(this.#random, this.#step_s / 2, this.#step_s * 1.5))
    this.life.until(this.clock.now())
    if (!with_faults) this.platform.fault = 'none'
    else if (this.#random() < 0.1) this.platform.changeFault()
    const killed_after = this.#random() < kill_chance ? this.#random() * 300 : null
    if (killed_after !== null) {
      const settled = this.#settle()
      await Bun.sleep(killed_after)
      await this.daemon.kill()
      await this.daemon.start()
      await settled
    }
    await this.#settle()
  }

  /** Wakes the daemon until nothing has been requested for a moment. */
  async #settle(): Promise<void> {
    const began = performance.now()
    for (;;) {
      await fetch(`${this.daemon.base}/health`, { signal: AbortSignal.timeout(2000) })
        .then((each) => each.arrayBuffer())
        .catch(() => null)
      await Bun.sleep(25)
      const now = performance.now()
      const quiet = now - Math.max(this.platform.last_request, this.receivers.last_request)
      if ((now - began > 200 && quiet > 100) || now - began > 3000) return
    }
  }
}

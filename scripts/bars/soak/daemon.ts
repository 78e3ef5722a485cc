import { appendFileSync } from 'node:fs'
import { join } from 'node:path'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { type ChaosFixture, startChaosFixture } from '../../../test/chaos/fixture.ts'
import { readFirstSeen, waitForDeliveries } from '../../../test/chaos/ledger-check.ts'
import { startReading } from '../../../test/chaos/reader.ts'
import { duplicates } from '../../../test/chaos/recording-receiver.ts'
import { inspectLeftovers, type Left } from '../../../test/chaos/run-result.ts'
import { startProcess } from '../../../test/support/process.ts'
import { quantile, stallsFile, startWatch } from '../abuse/watch.ts'
import { spendMoreThanThereIs, type Spent } from './billing.ts'
import { startFaultInjection } from './faults.ts'
import type { Sample } from './figures.ts'
import { sample } from './samples.ts'

export type Soaking = {
  minutes: number
  seed: number
  monitors: number
  deliveries_per_s: number
  /** Share of the platform requests that fail. */
  faults_share: number
  /** Average time between kills; null: none. */
  kill_every_s: number | null
  /** Command that runs the daemon. */
  under: readonly string[]
  report: (line: string) => void
}

/** Event loop and `/health` during a minute. */
export type Minute = {
  at_ms: number
  stall_p999_ms: number
  health_p99_ms: number
  health_failed: number
}

/** Measurements of a daemon and the final state of its fixture. */
export type Soaked = Left & {
  items_per_s: number
  /** Failed requests to the platform. */
  faults: number
  /** One per second; for a daemon that is killed, over all its runs. */
  samples: Sample[]
  /** Last sample of each run that a kill ended. */
  lives: Sample[]
  /** Time from spawn to listening, ms. */
  start_times_ms: number[]
  /** Time from an item's observation to its first request, per receiver, in order of time. */
  delays: { at_ms: number; ms: number }[]
  minutes: Minute[]
  duplicates: number[]
  /** Exit code after SIGTERM. */
  exit_code: number | null
  spent: Spent
}

const RECEIVERS = 3
/** One post in five matches. */
export const ITEMS_PER_DELIVERY = 5 / RECEIVERS
const CADENCE_S = 5
const READ_EVERY_MS = 1000
const SAMPLE_EVERY_MS = 1000
const MINUTE_MS = 60_000
const REPORT_EVERY_MS = 300_000
const FIRST_SNAPSHOT_MIN = 5

/** Runs a daemon for the planned time, with or without kills, and checks the final state. */
export async function soak(plan: Soaking): Promise<Soaked> {
  const chance = createSeededRandom(plan.seed)
  await using fixture = await startChaosFixture({
    seed: plan.seed + 1,
    places: Array.from({ length: plan.monitors }, (_, n) => `hay${n}`),
    items_per_s: plan.deliveries_per_s * ITEMS_PER_DELIVERY,
    cadence_s: CADENCE_S,
  })
  appendFileSync(fixture.config, `[maintenance]\nsnapshots = "${snapshotsFrom(new Date())}"\n`)
  const steady = plan.kill_every_s === null
  const probed = [
    'env',
    `BUN_OPTIONS=--preload=${join(import.meta.dir, '../abuse/probe.ts')}`,
    `FORUMD_STALLS=${stallsFile()}`,
  ]
  const start = () => startProcess(fixture.config, [...plan.under, ...(steady ? probed : [])])
  let daemon = await start()
  await using stack = new AsyncDisposableStack()
  stack.defer(async () => void (await daemon.end('SIGKILL')))
  await fixture.setUp(daemon)
  const reading = startReading(fixture.headers, 'subforum=hay0&limit=1', READ_EVERY_MS)
  reading.of(daemon)
  const watch = steady
    ? stack.use(await startWatch({ pid: daemon.pid, url: daemon.url, file: stallsFile() }))
    : null
  const fault_injection = stack.use(
    startFaultInjection(fixture.sandbox, { chance, share: plan.faults_share }),
  )

  const stop = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const code = await daemon.end(signal)
    await reading.stopped()
    return code
  }
  const began = performance.now()
  const since = () => performance.now() - began
  const [samples, lives, start_times_ms, minutes]: [Sample[], Sample[], number[], Minute[]] = [
    [],
    [],
    [],
    [],
  ]
  const life_ms = () => (plan.kill_every_s ?? Infinity) * 1000 * (0.5 + chance.fraction())
  let [kill_at, minute_at, report_at] = [life_ms(), MINUTE_MS, REPORT_EVERY_MS]
  while (since() < plan.minutes * 60_000) {
    await Bun.sleep(SAMPLE_EVERY_MS)
    const seen = sample(daemon.pid, fixture.data, since())
    if (seen === null) throw new Error(`forumd exited unexpectedly: ${daemon.lines.at(-1)}`)
    samples.push(seen)
    if (since() > kill_at) {
      lives.push(seen)
      await stop('SIGKILL')
      const before = performance.now()
      daemon = await start()
      start_times_ms.push(performance.now() - before)
      reading.of(daemon)
      kill_at = since() + life_ms()
    }
    if (watch !== null && since() > minute_at) {
      minute_at += MINUTE_MS
      const { stalls_ms, health_ms, failed } = await watch.take()
      minutes.push({
        at_ms: since(),
        stall_p999_ms: quantile(stalls_ms, 0.999),
        health_p99_ms: quantile(health_ms, 0.99),
        health_failed: failed.length,
      })
    }
    if (since() > report_at) {
      report_at += REPORT_EVERY_MS
      plan.report(
        describeSample(since(), seen, {
          kills: lives.length,
          matches: fixture.poster.matching.length,
        }),
      )
    }
  }

  await fixture.poster.stop()
  fault_injection[Symbol.dispose]()
  await waitForDeliveries(fixture.data, fixture.poster.matching.length * RECEIVERS)
  await watch?.[Symbol.asyncDispose]()
  const exit_code = await stop('SIGTERM')
  const left = inspectLeftovers(fixture, reading)
  const delays = delaysOf(fixture, began)
  daemon = await start()
  const spent = await spendMoreThanThereIs(fixture, daemon, left.books)
  return {
    ...left,
    items_per_s: fixture.poster.rate(),
    faults: fault_injection.struck(),
    samples,
    lives,
    start_times_ms,
    delays,
    minutes,
    duplicates: fixture.receivers.map(duplicates),
    exit_code,
    spent,
  }
}

/** One snapshot during warm-up, which loads the code of a snapshot, and others while growth is measured. */
const snapshotsFrom = (now: Date): string => {
  const first = now.getUTCMinutes() + FIRST_SNAPSHOT_MIN
  return `${first % 60},${(first + 30) % 60} * * * *`
}

const describeSample = (
  at_ms: number,
  { rss_mib, descriptors, wal_mib, db_mib }: Sample,
  counts: { kills: number; matches: number },
): string =>
  `${(at_ms / 60_000).toFixed(0)} min: ${counts.kills} kills, ${counts.matches} matches, ` +
  `${rss_mib.toFixed(1)} MiB, ${descriptors} descriptors, ` +
  `database ${db_mib.toFixed(0)} MiB and log ${wal_mib.toFixed(1)} MiB`

/** Per receiver and item: time from the daemon's observation to the first request. */
function delaysOf({ data, receivers }: ChaosFixture, began: number): Soaked['delays'] {
  const first_seen = readFirstSeen(data)
  const delays: Soaked['delays'] = []
  for (const { seen } of receivers) {
    const seen_ids = new Set<string>()
    for (const { at, delivery_id, items } of seen) {
      if (seen_ids.has(delivery_id)) continue
      seen_ids.add(delivery_id)
      const seen_at = first_seen.get(items[0] ?? '')
      if (seen_at === undefined) throw new Error(`${items[0]} was sent and never seen`)
      delays.push({ at_ms: at - began, ms: performance.timeOrigin + at - seen_at })
    }
  }
  return delays.toSorted((a, b) => a.at_ms - b.at_ms)
}

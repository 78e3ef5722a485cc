/** One world of a further source, run with the real executable, and the judge's verdict. */
import { makeDaemon, readCreated, startReceiver } from '../daemon.ts'
import type { Daemon, Health } from '../daemon.ts'
import { hashUnit, makeRandom } from '../plan.ts'
import { claimOf, failuresOf, judgeSource } from './judge.ts'
import type { JudgeInput, Sample, SourceVerdict, Watched } from './judge.ts'
import type { Probe, RunningSource, SourceMonitor, Span } from './source-world.ts'
import { findWorld } from './worlds.ts'

export type SourceJob = {
  /** `kind/scenario`. */
  readonly world: string
  readonly seed: number
  readonly durationMs: number
  readonly cadenceS: number
  readonly kills: number
  readonly binary: string
  readonly dir: string
}

export type SourceResult = {
  readonly world: string
  readonly seed: number
  readonly failures: readonly string[]
  readonly verdict: SourceVerdict
  readonly kills: readonly Span[]
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  readonly startMs: number
  readonly finals: readonly { readonly label: string; readonly health: Health }[]
  readonly samples: readonly Sample[]
  readonly truth: ReturnType<RunningSource['truth']>
  readonly log: RunningSource['log']
  readonly events: readonly { atMs: number; event: string }[]
}

const HEALTH_EVERY_MS = 1000
const TICK_MS = 100
const REFUSE_EVERY = 23
const MIN_SETTLE_MS = 12_000
const MAX_SETTLE_MS = 130_000
/** The time before the daemon listens again in which it may read nothing yet. */
const AFTER_START_MS = 1000

const settleOf = (durationMs: number): number =>
  Math.min(MAX_SETTLE_MS, Math.max(MIN_SETTLE_MS, Math.floor(durationMs * 0.45)))

const tomlOf = (source: RunningSource): string =>
  source.tables
    .map(
      (table) => `[[source]]
name = "${table.name}"
kind = "${table.kind}"
base_url = "${table.baseUrl}"
requests_per_minute = ${table.configured ?? table.requestsPerMinute}
${table.toml ?? ''}
`,
    )
    .join('')

/** Random instants for kills: none before 15 s, the last one well before the end. */
const planKills = (job: SourceJob, contentMs: number, hints: readonly number[]): number[] => {
  const random = makeRandom(job.seed ^ 0x5eed)
  const lastMs = contentMs + (job.durationMs - contentMs) * 0.2
  const times = hints.filter((atMs) => atMs > 8000).slice(0, job.kills + 1)
  for (
    let tries = 0;
    tries < 200 && times.length < job.kills + Math.min(1, hints.length);
    tries += 1
  ) {
    const atMs = 15_000 + Math.floor(random() * Math.max(0, lastMs - 15_000))
    if (times.every((other) => Math.abs(other - atMs) > 12_000)) times.push(atMs)
  }
  return times.toSorted((a, b) => a - b)
}

const addMonitor = async (
  daemon: Daemon,
  monitor: SourceMonitor,
  cadenceS: number,
  startMs: number,
): Promise<Omit<Watched, 'claim'>> => {
  const body = { name: monitor.label, cadence_s: cadenceS, filter_spec: monitor.spec }
  const created = readCreated(await daemon.call('/forum/monitor/add', body))
  return { id: created.id, startMs: Date.parse(created.created_at) - startMs, monitor }
}

/** The fault of an answer to a probe, or null. One that a kill cut off has none. */
const askProbe = async (daemon: Daemon, probe: Probe): Promise<string | null> => {
  const answer = await daemon.ask(probe.path, probe.body).catch(() => null)
  if (answer === null) return null
  const said = `${probe.path} at ${probe.atMs / 1000} s: ${answer.status} ${answer.text.slice(0, 300)}`
  if (!probe.expects.includes(answer.status)) return said
  return probe.says === undefined || probe.says.test(answer.text) ? null : said
}

/** Runs a world from its start to its verdict; everything it starts it ends. */
export const runSourceWorld = async (job: SourceJob): Promise<SourceResult> => {
  const { world, scenario } = findWorld(job.world)
  const endMs = job.durationMs
  const contentMs = endMs - settleOf(endMs)
  const cadenceS = world.cadenceS?.(scenario) ?? job.cadenceS
  const cadenceMs = cadenceS * 1000
  const startMs = Math.ceil(Date.now() / 1000) * 1000
  await Bun.sleep(startMs - Date.now())
  const source = await world.start({
    scenario,
    seed: job.seed,
    startMs,
    contentMs,
    endMs,
    cadenceMs,
  })
  const receiver = startReceiver(startMs, REFUSE_EVERY)
  const daemon = makeDaemon({
    binary: job.binary,
    dir: job.dir,
    receiverUrl: receiver.url,
    auditIntervalS: null,
    sourcesToml: tomlOf(source),
  })
  const samples: Sample[] = []
  const kills: Span[] = []
  const probed: Promise<string | null>[] = []
  try {
    await daemon.start()
    receiver.secret = await daemon.admit(receiver.url)
    const begun: Omit<Watched, 'claim'>[] = []
    const waiting = source.monitors.toSorted((a, b) => a.addAtMs - b.addAtMs)
    const killTimes = planKills(job, contentMs, source.killAtMs ?? [])
    let nextHealthMs = 0
    const probes = (source.probes ?? []).toSorted((a, b) => a.atMs - b.atMs)
    for (let nowMs = 0; nowMs < endMs; nowMs = Date.now() - startMs) {
      while ((waiting[0]?.addAtMs ?? Infinity) <= nowMs) {
        const monitor = waiting.shift()
        if (monitor !== undefined) begun.push(await addMonitor(daemon, monitor, cadenceS, startMs))
      }
      if ((killTimes[0] ?? Infinity) <= nowMs) {
        killTimes.shift()
        await daemon.kill()
        await Bun.sleep(200 + Math.floor(hashUnit(job.seed, 'down', nowMs) * 2500))
        await daemon.start()
        kills.push([nowMs, Date.now() - startMs + AFTER_START_MS])
      }
      for (; (probes[0]?.atMs ?? Infinity) <= nowMs; probes.shift())
        if (probes[0] !== undefined) probed.push(askProbe(daemon, probes[0]))
      if (nowMs >= nextHealthMs) {
        nextHealthMs = nowMs + HEALTH_EVERY_MS
        for (const { id } of begun) {
          const claim = claimOf(await daemon.health(id), startMs)
          samples.push({ atMs: Date.now() - startMs, monitorId: id, claim })
        }
      }
      await Bun.sleep(TICK_MS)
    }
    const finals: { label: string; health: Health }[] = []
    const watched: Watched[] = []
    for (const one of begun) {
      const health = await daemon.health(one.id)
      finals.push({ label: one.monitor.label, health })
      watched.push({ ...one, claim: claimOf(health, startMs) })
    }
    const refused = (await Promise.all(probed)).filter((one) => one !== null)
    await daemon.kill()
    const input: JudgeInput = {
      truth: source.truth(),
      watched,
      samples,
      deliveries: receiver.deliveries,
      log: source.log,
      limits: Object.fromEntries(source.tables.map((one) => [one.name, one.requestsPerMinute])),
      down: kills,
      bounds: source.bounds,
      cadenceMs,
      skewMs: source.skewMs,
      cacheMs: source.cacheMs ?? 0,
      endMs,
    }
    const verdict = judgeSource(input)
    const statuses: Record<string, number> = {}
    for (const { claim } of watched) statuses[claim.status] = (statuses[claim.status] ?? 0) + 1
    return {
      world: `${world.kind}/${scenario}`,
      seed: job.seed,
      failures: [...refused, ...failuresOf(verdict, input, source.faultFree, source.staysComplete)],
      verdict,
      kills,
      requests: source.log.length,
      statuses,
      startMs,
      finals,
      samples,
      truth: input.truth,
      log: source.log,
      events: receiver.events,
    }
  } finally {
    await daemon.kill()
    await receiver.stop()
    await source.stop()
  }
}

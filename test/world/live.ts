/** One world run with the real executable, and the judge's verdict. */
import { assess } from './assess.ts'
import type { LiveOptions, Status, Watched, WorldResult } from './assess.ts'
import { auditField, makeDaemon, readCreated, readText, startReceiver } from './daemon.ts'
import type { Daemon, Health } from './daemon.ts'
import { hashUnit, makeRandom, planItems } from './plan.ts'
import { startPlatform } from './platform.ts'
import { makeScenario } from './scenarios.ts'
import type { MonitorSpec, Scenario, Timing } from './scenarios.ts'
import type { Span, World } from './view.ts'

const HEALTH_EVERY_MS = 2000
const TICK_MS = 100
const MAX_SETTLE_MS = 130_000
const REFUSE_EVERY = 23

/** The time at the end in which nothing new is written, so that late finds can arrive. */
const settleOf = (durationMs: number): number =>
  Math.min(MAX_SETTLE_MS, Math.max(12_000, Math.floor(durationMs * 0.4)))

const pauseUntil = (atMs: number) => Bun.sleep(Math.max(0, atMs - Date.now()))

/** Runs a world from its start to its verdict; everything it starts it ends. */
export const runWorld = async (options: LiveOptions): Promise<WorldResult> => {
  const endMs = options.durationMs
  const time = { contentMs: endMs - settleOf(endMs), endMs, seed: options.seed }
  const scenario = makeScenario(options.world, time)
  const startMs = Math.ceil(Date.now() / 1000) * 1000
  await pauseUntil(startMs)
  const world = makeWorld(scenario, time, startMs)
  const platform = await startPlatform(
    world,
    scenario.accounts,
    scenario.dateSkewMs,
    scenario.oneWindow,
  )
  const receiver = startReceiver(startMs, REFUSE_EVERY)
  const daemon = makeDaemon({
    binary: options.binary,
    dir: options.dir,
    receiverUrl: receiver.url,
    auditIntervalS: options.auditIntervalS,
    sourcesToml: `[[source]]
name = "forum"
kind = "reddit"
base_url = "${platform.url}"
session_cookie = "reddit_session"
`,
  })
  const history: Status[] = []
  const reads: { atMs: number; reads: string }[] = []
  const kills: Span[] = []
  try {
    await daemon.start()
    for (const [index, account] of scenario.accounts.entries()) {
      const args = ['account', 'add', account.name, '--jar', '-', '--untested']
      await daemon.command(args, platform.jarOf(index))
    }
    receiver.secret = await daemon.admit(receiver.url)
    const watched: Watched[] = []
    const waiting = scenario.monitors.toSorted((a, b) => a.addAtMs - b.addAtMs)
    const killTimes = planKills(scenario, time)
    let nextHealthMs = 0
    for (let nowMs = 0; nowMs < endMs; nowMs = Date.now() - startMs) {
      while ((waiting[0]?.addAtMs ?? Infinity) <= nowMs) {
        const spec = waiting.shift()
        if (spec !== undefined) watched.push(await addMonitor(daemon, spec, options, startMs))
      }
      if ((killTimes[0] ?? Infinity) <= nowMs) {
        killTimes.shift()
        await daemon.kill()
        const downMs = 200 + Math.floor(hashUnit(time.seed, 'down', nowMs) * 1300)
        await Bun.sleep(downMs)
        await daemon.start()
        kills.push([nowMs, Date.now() - startMs])
      }
      if (nowMs >= nextHealthMs) {
        nextHealthMs = nowMs + HEALTH_EVERY_MS
        reads.push({ atMs: nowMs, reads: readText(await daemon.call('/health'), 'reads') })
        for (const { spec, id } of watched) {
          const health = await daemon.health(id)
          const { status, reason } = health.coverage_24h
          const auditedUntil = auditField(health, 'audited_until')
          history.push({ atMs: nowMs, label: spec.label, status, reason, auditedUntil })
        }
      }
      await Bun.sleep(TICK_MS)
    }
    const finals: { watched: Watched; health: Health }[] = []
    for (const one of watched) finals.push({ watched: one, health: await daemon.health(one.id) })
    await daemon.kill()
    return assess({
      options,
      scenario,
      world,
      finals,
      kills,
      history,
      reads,
      log: platform.log,
      served: platform.served,
      overRate: platform.overRate(),
      deliveries: receiver.deliveries,
      events: receiver.events,
    })
  } finally {
    await daemon.kill()
    await receiver.stop()
    await platform.stop()
  }
}

const addMonitor = async (
  daemon: Daemon,
  spec: MonitorSpec,
  options: LiveOptions,
  startMs: number,
): Promise<Watched> => {
  const body = { name: spec.label, cadence_s: options.cadenceS, filter_spec: spec.spec }
  const created = readCreated(await daemon.call('/forum/monitor/add', body))
  const atMs = Date.parse(created.created_at) - startMs
  return { spec, id: created.id, startMs: atMs, streams: spec.feeds.length }
}

/** The world of a scenario, its clock started at the second `startMs`. */
const makeWorld = (scenario: Scenario, time: Timing, startMs: number): World => {
  const items = planItems(scenario.content, time.seed, time.contentMs)
  return {
    seed: time.seed,
    startMs,
    content: scenario.content,
    items,
    byName: new Map(items.map((item) => [item.name, item])),
    conditions: scenario.conditions,
    mergedRefusal: scenario.mergedRefusal,
    orderById: scenario.content.idJitterMs > 0,
    lists: new Map(),
  }
}

/** Random instants for `scenario.kills` kills, at least 12 s apart, none before 20 s. */
const planKills = (scenario: Scenario, time: Timing): number[] => {
  const random = makeRandom(time.seed ^ 0x5eed)
  const lastMs = time.contentMs + (time.endMs - time.contentMs) * 0.3
  const times: number[] = []
  for (let tries = 0; tries < 200 && times.length < scenario.kills; tries += 1) {
    const atMs = 20_000 + Math.floor(random() * Math.max(0, lastMs - 20_000))
    if (lastMs > 20_000 && times.every((other) => Math.abs(other - atMs) > 12_000)) times.push(atMs)
  }
  return times.toSorted((a, b) => a - b)
}

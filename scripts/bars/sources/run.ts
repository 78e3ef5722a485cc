import { Database } from 'bun:sqlite'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { createSeededRandom, type SeededRandom } from '../../../sandbox/world/random.ts'
import { certificate } from '../../../test/support/certificate.ts'
import { type DaemonProcess, runForumd, startProcess } from '../../../test/support/process.ts'
import { quantile } from '../abuse/watch.ts'
import { sample } from '../soak/samples.ts'
import type { Scenario, Site } from './scenarios.ts'

/** Options of a run. */
export type Run = {
  minutes: number
  cadence_s: number
  seed: number
  /** Null: the default of the kind. */
  requests_per_minute: number | null
}

/** Measurements of one scenario. Latencies in ms, from the appearance of an item. */
export type Measured = {
  items: number
  matches: number
  /** Requests a minute and site, and the highest of a site. */
  requests: { mean: number; most: number }
  /** The same, by path. */
  paths: Record<string, number>
  /** Requests a minute and site of a client that polls once for each monitor. */
  naive: number
  to_match: { p50: number; p99: number }
  to_receipt: { p50: number; p99: number }
  /** Steps of a feed that read nothing, each of which delays matches by an interval. */
  failed_steps: number
  /** Share of one core. */
  cpu: number
  rss_mib: number
  /** Matches that must exist and do not; deliveries that did not arrive. */
  lost: { matches: number; deliveries: number }
}

/** Longest wait for the first step of every site. */
const FIRST_STEP_MAX_MS = 60_000
/** Time for the last items after the cadence is over. */
const SETTLE_MS = 4000
const SAMPLE_EVERY_MS = 500
const WORDS_PER_ITEM = 3
const AT_ONCE = 8

const created = z.object({ id: z.string() })
const delivered = z.object({
  monitor_id: z.string(),
  items: z.array(z.object({ name: z.string(), source: z.string() })),
})

/** Filter of a monitor. `is_plain`: every item with its word matches. */
function filterOf(source: string, n: number, { places }: Scenario) {
  const base = { source, kind: 'both' }
  const word = `word${n}`
  const place = places[n % places.length] ?? ''
  const filters = [
    { is_plain: true, filter_spec: { ...base, include_any: [word, `never${n}`] } },
    { is_plain: true, filter_spec: { ...base, q: `${word} AND NOT advert` } },
    { is_plain: true, filter_spec: { ...base, include_all: [word, 'report'] } },
    { is_plain: false, filter_spec: { ...base, include_any: [word], subforum: place } },
    { is_plain: false, filter_spec: { ...base, include_any: [word], regex: [`${word} .*7`] } },
  ]
  return filters[n % filters.length] ?? filters[0]!
}

/** Measures a scenario with the executable, in real time. */
export async function measure(scenario: Scenario, run: Run): Promise<Measured> {
  const random = createSeededRandom(run.seed)
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-sources-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const sites = new Map<string, Site>()
  for (let n = 0; n < scenario.sites; n++)
    sites.set(`site${n}`, stack.use(await scenario.start(random)))
  const received = new Map<string, number>()
  const receiver = await startReceiver(received)
  stack.defer(() => receiver.stop(true))
  const config = join(dir, 'forumd.toml')
  await Bun.write(join(dir, 'ca.pem'), (await certificate()).cert)
  await Bun.write(config, configText(dir, { scenario, run, sites }))

  const daemon = await startProcess(config)
  stack.defer(async () => void (await daemon.end('SIGKILL')))
  const plain = await addMonitors(daemon, config, {
    scenario,
    run,
    names: [...sites.keys()],
    hook: `https://127.0.0.1:${receiver.port}/hook`,
  })
  const db = new Database(join(dir, 'data/forumd.sqlite'), { readonly: true })
  stack.defer(() => db.close())
  await firstSteps(db, sites.size)

  const appeared = new Map<string, number>()
  const expected: string[] = []
  const stopping = new AbortController()
  const began = Date.now()
  const cpu_before = await processorMs(daemon.pid)
  let rss_mib = 0
  const rss = setInterval(() => {
    rss_mib = Math.max(rss_mib, sample(daemon.pid, dir, 0)?.rss_mib ?? 0)
  }, SAMPLE_EVERY_MS)
  stack.defer(() => clearInterval(rss))
  const posting = [...sites].flatMap(([name, site]) => [
    repeat(scenario.items_per_s, random, stopping.signal, () => {
      const words = Array.from({ length: WORDS_PER_ITEM }, () =>
        random.whole(0, scenario.monitors_per_site - 1),
      )
      const text = words.map((it) => `word${it}`).join(' and ')
      const item = site.add(`${text}: report ${appeared.size}`)
      const key = `${name}/${item.name}`
      appeared.set(key, item.at)
      for (const word of new Set(words)) {
        const monitor_id = plain.get(`${name} ${word}`)
        if (monitor_id !== undefined) expected.push(`${monitor_id} ${key}`)
      }
    }),
    repeat(scenario.votes_per_s, random, stopping.signal, () => site.vote?.()),
  ])
  await Bun.sleep(run.minutes * 60_000)
  stopping.abort()
  await Promise.all(posting)
  const ended = Date.now()
  const cpu_ms = (await processorMs(daemon.pid)) - cpu_before
  const minutes = (ended - began) / 60_000
  const requests = [...sites.values()].map((site) =>
    site.requests().filter(({ at }) => at >= began && at <= ended),
  )
  await Bun.sleep(run.cadence_s * 1000 + SETTLE_MS)

  const matched = matchesIn(db)
  const to_match: number[] = []
  const to_receipt: number[] = []
  for (const [pair, at] of matched) {
    const appeared_at = appeared.get(pair.slice(pair.indexOf(' ') + 1))
    if (appeared_at === undefined) continue
    to_match.push(at - appeared_at)
    const received_at = received.get(pair)
    if (received_at !== undefined) to_receipt.push(received_at - appeared_at)
  }
  const counts = requests.map(({ length }) => length / minutes)
  return {
    items: appeared.size,
    matches: to_match.length,
    requests: { mean: quantileMean(counts), most: Math.max(...counts) },
    paths: byPath(requests.flat(), minutes * sites.size),
    naive: (scenario.monitors_per_site * 60) / run.cadence_s,
    to_match: { p50: quantile(to_match, 0.5), p99: quantile(to_match, 0.99) },
    to_receipt: { p50: quantile(to_receipt, 0.5), p99: quantile(to_receipt, 0.99) },
    failed_steps: failedSteps(db),
    cpu: cpu_ms / (ended - began),
    rss_mib,
    lost: {
      matches: expected.filter((it) => !matched.has(it)).length,
      deliveries: to_match.length - to_receipt.length,
    },
  }
}

const quantileMean = (all: readonly number[]) => all.reduce((sum, it) => sum + it, 0) / all.length

/** Does something at random instants, so many times a second. */
async function repeat(
  per_s: number,
  random: SeededRandom,
  signal: AbortSignal,
  act: () => void,
): Promise<void> {
  if (per_s === 0) return
  // Due by the clock, so that a late timer does not lower the rate.
  let due_at = Date.now() + random.wait(1000 / per_s)
  while (!signal.aborted) {
    await Bun.sleep(Math.min(200, Math.max(1, due_at - Date.now())))
    for (; due_at <= Date.now() && !signal.aborted; due_at += random.wait(1000 / per_s)) act()
  }
}

/** Records the first arrival of each item for each monitor. */
async function startReceiver(received: Map<string, number>) {
  const { key, cert } = await certificate()
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    tls: { key, cert },
    async fetch(request) {
      const at = Date.now()
      const { monitor_id, items } = delivered.parse(await request.json())
      for (const { source, name } of items) {
        const pair = `${monitor_id} ${source}/${name}`
        if (!received.has(pair)) received.set(pair, at)
      }
      return new Response('', { status: 204 })
    },
  })
}

/** Creates the monitors of all sites; ids of the plain ones by site and number. */
async function addMonitors(
  { url }: DaemonProcess,
  config: string,
  plan: { scenario: Scenario; run: Run; names: readonly string[]; hook: string },
): Promise<Map<string, string>> {
  const { scenario, run, names, hook } = plan
  const args = `key create --config ${config} --customer ann --credits 1000 --json`
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(await runForumd(args.split(' '))))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  async function send(path: string, body: object): Promise<string> {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return created.parse(JSON.parse(text)).id
  }
  const webhook = await send('/forum/monitor/webhook/create', { kind: 'webhook', url: hook })
  const plain = new Map<string, string>()
  const wanted = names.flatMap((name) =>
    Array.from({ length: scenario.monitors_per_site }, (_, n) => ({ name, n })),
  )
  for (let at = 0; at < wanted.length; at += AT_ONCE)
    await Promise.all(
      wanted.slice(at, at + AT_ONCE).map(async ({ name, n }) => {
        const { is_plain, filter_spec } = filterOf(name, n, scenario)
        const id = await send('/forum/monitor/add', {
          filter_spec,
          cadence_s: run.cadence_s,
          webhook_ids: [webhook],
        })
        if (is_plain) plain.set(`${name} ${n}`, id)
      }),
    )
  return plain
}

/** Waits until every site was read once: monitors begin there. */
async function firstSteps(db: Database, sites: number): Promise<void> {
  const until = Date.now() + FIRST_STEP_MAX_MS
  const count = db.query<{ n: number }, []>('SELECT count(state) AS n FROM feeds')
  while ((count.get()?.n ?? 0) < sites) {
    if (Date.now() > until) throw new Error('not every site was read once in time')
    await Bun.sleep(100)
  }
  // Items of the second in which the monitors began are older than they are.
  await Bun.sleep(1100)
}

const failedSteps = (db: Database): number =>
  db.query<{ n: number }, []>('SELECT count(*) AS n FROM checks WHERE cut_reason IS NOT NULL').get()
    ?.n ?? 0

/** Instant of every match, by its monitor and item. */
const matchesIn = (db: Database): Map<string, number> =>
  new Map(
    db
      .query<{ monitor_id: string; item_id: string; matched_at: number }, []>(
        'SELECT monitor_id, item_id, matched_at FROM matches',
      )
      .all()
      .map((it) => [`${it.monitor_id} ${it.item_id}`, it.matched_at]),
  )

function byPath(requests: ReturnType<Site['requests']>, minutes: number): Record<string, number> {
  const counts = Map.groupBy(requests, ({ path }) => path.replaceAll(/\d+/g, '#'))
  return Object.fromEntries([...counts].map(([path, { length }]) => [path, length / minutes]))
}

/** Processor time that a process has used, ms: utime and stime of proc(5), in ticks of 10 ms. */
async function processorMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const configText = (
  dir: string,
  {
    scenario: { kind },
    run: { requests_per_minute },
    sites,
  }: { scenario: Scenario; run: Run; sites: ReadonlyMap<string, Site> },
) => `
[server]
port = 0
[storage]
dir = "${join(dir, 'data')}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "http://127.0.0.1:1"
session_cookie = "session"
${[...sites].map(([name, { url }]) => `[[source]]\nname = "${name}"\nkind = "${kind}"\nbase_url = "${url}"\nrequests_per_minute = ${requests_per_minute ?? 0}`).join('\n')}
[plans.entry]
slots = 10000
cadence_s = 1
daily_deliveries = 10000000
[guard]
allow_targets = ["127.0.0.1"]
[delivery]
per_target_concurrency = 16
ca_file = "${join(dir, 'ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
[log]
json = true
`

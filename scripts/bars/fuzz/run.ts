import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { certificate } from '../../../test/support/certificate.ts'
import { endServing, runForumd, serve } from '../../../test/support/process.ts'
import { quantile } from '../abuse/watch.ts'
import { sample } from '../soak/samples.ts'
import { readTurns } from '../turns.ts'
import { createLedger, type Refuted } from './ledger.ts'

export type Plan = {
  minutes: number
  seed: number
  /** Kinds of mutations; one phase each, in turn. */
  kinds: readonly string[]
  /** Kinds of sites. */
  sites: readonly string[]
  /** Longest wait for the last posts. */
  settle_ms: number
  /** Keeps the folder of the daemon, with its log. */
  keep: boolean
}

export const SITES = [
  'discourse',
  'hackernews',
  'lemmy-v3',
  'lemmy-v4',
  'piefed',
  'reddit',
] as const

/** Share of a phase in which the sites are honest again. */
const HONEST_SHARE = 0.4
const PHASE_MAX_MS = 4 * 60_000
const CADENCE_S = 2
const SAMPLE_EVERY_MS = 2000
const JUDGE_EVERY_MS = 2000
const READ_MAX_MS = 45_000

const KNOWN_STATUSES = new Set([
  200, 400, 402, 403, 404, 408, 409, 410, 422, 429, 501, 502, 503, 504,
])

const healthShape = z.object({
  coverage_24h: z.object({
    status: z.string(),
    reason: z.string().nullable(),
    audited_until: z.string().nullable(),
    gaps: z.array(z.object({ from: z.string().nullable(), until: z.string().nullable() })),
  }),
})
const payload = z.object({
  monitor_id: z.string(),
  items: z.array(z.object({ name: z.string() })),
})
const created = z.object({ id: z.string() })

type Site = {
  name: string
  url: string
  accounts: Record<string, string>[]
  session_cookie: string
  stats: { requests: number; served: Record<string, number> }
  send(message: { phase?: string | null; posting?: boolean }): void
}

export type Report = {
  plan: Plan
  ended_early: string | null
  health_ms: { count: number; p50: number; p99: number; max: number; failed: number }
  /** For how long the daemon's main thread ran between two turns: the longest of each second. */
  turns_ms: { p50: number; p99: number; max: number }
  rss_mib: { start: number; warm: number; end: number; most: number; per_hour: number }
  db_mib: number
  sites: Record<
    string,
    {
      requests: number
      served: Record<string, number>
      posted: number
      expected: number
      delivered: number
      /** Posts that a lying answer may have hidden, and those of them that arrived. */
      hidden: number
      hidden_delivered: number
    }
  >
  refuted: Refuted[]
  missing: string[]
  /** Posts that did not arrive and that a lying answer may have hidden, with its mutation. */
  hidden: string[]
  reads: {
    count: number
    statuses: Record<string, number>
    samples: Record<string, string>
    slowest_ms: number
    wrong: string[]
  }
  log: Record<string, number>
  exceptions: string[]
  wrong: string[]
}

/** Runs the executable beside hostile sites. `say`: a line of progress. */
export async function fuzz(plan: Plan, say: (line: string) => void): Promise<Report> {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-fuzz-'))
  if (plan.keep) say(dir)
  else stack.defer(() => rm(dir, { recursive: true, force: true }))
  const ledger = createLedger()
  const sites: Site[] = []
  for (const [n, kind] of plan.sites.entries())
    sites.push(await startSite(kind, plan.seed + n, { ledger, stack }))

  const { key, cert } = await certificate()
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    tls: { key, cert },
    async fetch(request) {
      const { monitor_id, items } = payload.parse(await request.json())
      for (const { name } of items) ledger.delivered(monitor_id, name)
      return new Response('', { status: 204 })
    },
  })
  stack.defer(() => receiver.stop(true))
  const config = join(dir, 'forumd.toml')
  await Bun.write(join(dir, 'ca.pem'), cert)
  await Bun.write(config, configText(dir, sites))
  const turns = join(dir, 'turns')
  const preload = `BUN_OPTIONS=--preload=${join(import.meta.dir, '../turns.ts')}`
  const daemon = serve(config, { under: ['env', preload, `FORUMD_TURNS=${turns}`] })
  stack.defer(() => (daemon.runs() ? daemon.stop() : undefined))
  const listening = await daemon.until('serve.listening')
  const url = String(listening['url'])
  const pid = Number(daemon.lines.find(({ event }) => event === 'serve.starting')?.['pid'])
  const args = `key create --config ${config} --customer ann --credits 100000 --json`
  const customer = z.object({ key: z.string() }).parse(JSON.parse(await runForumd(args.split(' '))))
  const headers = { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' }
  for (const [n, cookies] of (
    sites.find(({ name }) => name === 'forum')?.accounts ?? []
  ).entries()) {
    const jar = join(dir, `jar${n}`)
    await Bun.write(
      jar,
      Object.entries(cookies)
        .map(([name, it]) => `${name}=${it}`)
        .join('; '),
    )
    await runForumd(`account add a${n} --jar ${jar} --config ${config}`.split(' '))
  }
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return created.parse(JSON.parse(text)).id
  }
  const hook = `https://127.0.0.1:${receiver.port}/hook`
  const webhook = await post('/forum/monitor/webhook/create', { kind: 'webhook', url: hook })
  for (const { name } of sites) {
    const filters = [
      { include_any: ['beacon', 'never'] },
      { q: 'beacon AND NOT advert' },
      { include_any: ['report'], regex: ['beacon-[0-9]+'] },
    ]
    for (const filter of filters) {
      const place = name === 'forum' ? { subforum: 'coffee' } : {}
      const filter_spec = { source: name, kind: 'both', ...place, ...filter }
      const id = await post('/forum/monitor/add', {
        filter_spec,
        cadence_s: CADENCE_S,
        webhook_ids: [webhook],
      })
      ledger.watch(name, id)
    }
  }
  // Every source has been read once, and the second in which the monitors began is over.
  await Bun.sleep(12_000)
  for (const site of sites) site.send({ posting: true })

  const wrong: string[] = []
  const health: { status: number; ms: number }[] = []
  const prober = Bun.spawn(
    [process.execPath, join(import.meta.dir, '../abuse/health.ts'), `${url}/health`, '25'],
    {
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  stack.defer(() => prober.kill())
  let current = 'start'
  const probing = readLines(prober.stdout, (line) => {
    const [status = 0, ms = 0] = line.split(' ').map(Number)
    health.push({ status, ms })
    if (status !== 200) say(`/health answered ${status} after ${ms} ms, in ${current}`)
  })
  probing.catch(() => {})

  const stopping = new AbortController()
  const reads: Report['reads'] = { count: 0, statuses: {}, samples: {}, slowest_ms: 0, wrong: [] }
  const reading = sites.map((site, n) =>
    readAll(site, {
      url,
      headers,
      ledger,
      reads,
      random: createSeededRandom(plan.seed + 100 + n),
      signal: stopping.signal,
    }),
  )
  const samples: { at: number; rss: number; db: number }[] = []
  const began = Date.now()
  const sampling = setInterval(() => {
    const seen = sample(pid, join(dir, 'data'), Date.now() - began)
    if (seen !== null)
      samples.push({ at: seen.at_ms, rss: seen.rss_mib, db: seen.db_mib + seen.wal_mib })
  }, SAMPLE_EVERY_MS)
  stack.defer(() => clearInterval(sampling))
  const judging = judgeAll(url, headers, ledger, stopping.signal, say)

  const end = began + plan.minutes * 60_000
  const phase_ms = Math.min(PHASE_MAX_MS, (end - began) / plan.kinds.length)
  let ended_early: string | null = null
  for (let n = 0; Date.now() < end - phase_ms / 2 && ended_early === null; n++) {
    for (const [at, site] of sites.entries())
      site.send({ phase: plan.kinds[(n + at) % plan.kinds.length] ?? null })
    current = sites
      .map(({ name }, at) => `${name}:${plan.kinds[(n + at) % plan.kinds.length]}`)
      .join(' ')
    await rest(phase_ms * (1 - HONEST_SHARE))
    for (const site of sites) site.send({ phase: null })
    await rest(phase_ms * HONEST_SHARE)
    const last = samples.at(-1)
    say(
      `${((Date.now() - began) / 60_000).toFixed(1)} min, ${current}: ${last?.rss.toFixed(0)} MiB, ` +
        `database ${last?.db.toFixed(0)} MiB, ${ledger.summary()}`,
    )
  }
  async function rest(ms: number): Promise<void> {
    for (const until = Date.now() + ms; Date.now() < until; await Bun.sleep(500))
      if (!daemon.runs() || (samples.at(-1)?.rss ?? 0) > RUNAWAY_MIB) {
        ended_early = daemon.runs()
          ? `memory passed ${RUNAWAY_MIB} MiB in ${current}`
          : `the daemon ended in ${current}`
        endServing()
        return
      }
  }
  for (const site of sites) site.send({ phase: null, posting: false })
  current = 'settling'
  const settled_by = Date.now() + plan.settle_ms
  while (Date.now() < settled_by && daemon.runs() && ledger.missing().length > 0)
    await Bun.sleep(2000)
  stopping.abort()
  await Promise.all([...reading, judging])
  if (plan.keep)
    await Bun.write(join(dir, 'log'), daemon.lines.map((line) => JSON.stringify(line)).join('\n'))
  const events = Map.groupBy(
    daemon.lines.filter(({ level }) => level === 'error' || level === 'fatal' || level === 'warn'),
    ({ event, level }) => `${level} ${event}`,
  )
  const exceptions = daemon.lines
    .map((line) => JSON.stringify(line))
    .filter((line) => EXCEPTION.test(line))
    .map((line) => line.slice(0, 600))
  prober.kill()
  await probing
  if (daemon.runs()) daemon.stop()
  const { code, err } = await daemon.ended()
  if (code !== 0) wrong.push(`the daemon ended with ${code}`)
  const printed = err
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('forumd: config'))
  exceptions.push(...printed)

  const all = health.map(({ ms }) => ms)
  const own = readTurns(turns)
  const warm = samples.filter((it) => it.at > Math.min(300_000, (end - began) / 4))
  const report: Report = {
    plan,
    ended_early,
    health_ms: {
      count: all.length,
      p50: quantile(all, 0.5),
      p99: quantile(all, 0.99),
      max: quantile(all, 1),
      failed: health.filter(({ status }) => status !== 200).length,
    },
    turns_ms: { p50: quantile(own, 0.5), p99: quantile(own, 0.99), max: quantile(own, 1) },
    rss_mib: {
      start: samples[0]?.rss ?? 0,
      warm: warm[0]?.rss ?? 0,
      end: samples.at(-1)?.rss ?? 0,
      most: Math.max(0, ...samples.map(({ rss }) => rss)),
      per_hour: slope(warm.map((it) => [it.at / 3_600_000, it.rss])),
    },
    db_mib: samples.at(-1)?.db ?? 0,
    sites: Object.fromEntries(
      sites.map(({ name, stats }) => [name, { ...stats, ...ledger.counts(name) }]),
    ),
    refuted: ledger.refuted(),
    missing: ledger.missing(),
    hidden: ledger.lost(),
    reads,
    log: Object.fromEntries([...events].map(([name, { length }]) => [name, length])),
    exceptions: [...new Set(exceptions)].slice(0, 20),
    wrong,
  }
  report.wrong.push(...faultsOf(report))
  return report
}

/** A stack trace, or the text of an error that nothing caught. */
const EXCEPTION =
  /\bat .{0,80}:\d+:\d+|reader_failed|SQLITE_|(?:Type|Range|Reference|Syntax)Error|Maximum call stack|internal_error/

const TURN_MAX_MS = 250
const TURN_P99_MS = 100
const GROWTH_MAX_MIB = 150
/** The run ends here, before the machine is short of memory. */
const RUNAWAY_MIB = 2048
const DB_MAX_MIB = 512

function faultsOf(it: Report): string[] {
  // No reader can know what a well-formed lie has hidden.
  const refuted = it.refuted.filter(({ hidden }) => hidden === null)
  const growth = it.rss_mib.end - it.rss_mib.warm
  return [
    it.ended_early,
    it.health_ms.failed > 0 && `${it.health_ms.failed} answers of /health failed`,
    it.turns_ms.max > TURN_MAX_MS &&
      `a turn took ${it.turns_ms.max.toFixed(0)} ms, at most ${TURN_MAX_MS}`,
    it.turns_ms.p99 > TURN_P99_MS && `p99 of the longest turns ${it.turns_ms.p99} ms`,
    growth > GROWTH_MAX_MIB && `memory grew by ${growth.toFixed(0)} MiB, at most ${GROWTH_MAX_MIB}`,
    it.db_mib > DB_MAX_MIB && `the database has ${it.db_mib.toFixed(0)} MiB, at most ${DB_MAX_MIB}`,
    refuted.length > 0 &&
      `${refuted.length} claims are refuted, such as ${JSON.stringify(refuted[0])}`,
    it.missing.length > 0 && `${it.missing.length} posts did not arrive, such as ${it.missing[0]}`,
    it.reads.wrong.length > 0 &&
      `${it.reads.wrong.length} wrong reads, such as ${it.reads.wrong[0]}`,
    it.exceptions.length > 0 && `exceptions in the log, such as ${it.exceptions[0]}`,
  ].filter((line) => typeof line === 'string')
}

/** Slope of the line of least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (it: readonly [number, number]) => number) =>
    points.reduce((sum, it) => sum + of(it), 0) / points.length
  const [x, y] = [mean((it) => it[0]), mean((it) => it[1])]
  const above = points.reduce((sum, it) => sum + (it[0] - x) * (it[1] - y), 0)
  const below = points.reduce((sum, it) => sum + (it[0] - x) ** 2, 0)
  return below === 0 ? 0 : above / below
}

const messageShape = z.union([
  z.object({
    url: z.string(),
    accounts: z.array(z.record(z.string(), z.string())),
    session_cookie: z.string(),
  }),
  z.object({ posted: z.object({ name: z.string(), at: z.number() }) }),
  z.object({
    stats: z.object({
      requests: z.number(),
      served: z.record(z.string(), z.number()),
      hidden: z.record(z.string(), z.string()),
    }),
  }),
])

async function startSite(
  kind: string,
  seed: number,
  { ledger, stack }: { ledger: ReturnType<typeof createLedger>; stack: AsyncDisposableStack },
): Promise<Site> {
  // The polled platform is main.
  const name = kind === 'reddit' ? 'forum' : kind
  const ready = Promise.withResolvers<Pick<Site, 'url' | 'accounts' | 'session_cookie'>>()
  const site: Site = {
    name,
    url: '',
    accounts: [],
    session_cookie: '',
    stats: { requests: 0, served: {} },
    send: (message) => child.send(message),
  }
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'site.ts'), kind, String(seed)],
    {
      stdout: 'inherit',
      stderr: 'inherit',
      ipc(raw: unknown) {
        const message = messageShape.parse(raw)
        if ('url' in message) ready.resolve(message)
        else if ('posted' in message) ledger.posted(name, message.posted)
        else {
          const { hidden, ...stats } = message.stats
          Object.assign(site.stats, stats)
          ledger.hidden(name, hidden)
        }
      },
    },
  )
  stack.defer(() => child.kill())
  return Object.assign(site, await ready.promise)
}

/** Reads a source by every path of the API, one after the other. */
async function readAll(
  { name }: Site,
  {
    url,
    headers,
    ledger,
    reads,
    random,
    signal,
  }: {
    url: string
    headers: Record<string, string>
    ledger: ReturnType<typeof createLedger>
    reads: Report['reads']
    random: ReturnType<typeof createSeededRandom>
    signal: AbortSignal
  },
) {
  const source = name === 'forum' ? '' : `&source=${name}`
  while (!signal.aborted) {
    const fullname = ledger.any(name, random.fraction()) ?? 't3_1'
    const id = fullname.slice(3)
    const path = random.pick([
      '/api/forum/posts?subforum=coffee&limit=25',
      '/api/forum/posts?subforum=coffee&limit=100&sort=new',
      `/api/forum/post/${id}?x=1`,
      `/api/forum/post/${id}/comments?x=1`,
      `/api/forum/post/${id}/visibility?x=1`,
      `/api/forum/comment/${id}?replies=true`,
      `/api/forum/by_id/${fullname}?x=1`,
      '/api/forum/search?q=beacon',
      '/api/forum/search/communities?q=coffee',
      '/api/forum/search/users?q=ann',
      '/api/forum/user/ann?x=1',
      '/api/forum/user/ann/comments?x=1',
      '/api/forum/user/ann/submitted?x=1',
      '/api/forum/sub/coffee/about?x=1',
      '/api/forum/sub/coffee/comments?x=1',
      '/api/forum/sub/coffee/moderators?x=1',
    ])
    const before = performance.now()
    const asked = `${path.replace(/[?&]x=1/, '?')}${source}`.replace('?&', '?').replace(/\?$/, '')
    const answer = await fetch(url + asked, { headers, signal: AbortSignal.timeout(60_000) }).then(
      async (it) => ({ status: it.status, text: await it.text() }),
      (error: unknown) => ({ status: 0, text: String(error) }),
    )
    const ms = performance.now() - before
    if (signal.aborted) return
    reads.count += 1
    reads.statuses[answer.status] = (reads.statuses[answer.status] ?? 0) + 1
    reads.slowest_ms = Math.max(reads.slowest_ms, ms)
    reads.samples[`${name} ${answer.status}`] ??= `${asked}: ${answer.text.slice(0, 300)}`
    const is_json = answer.status === 0 || isJson(answer.text)
    if (!KNOWN_STATUSES.has(answer.status) || ms > READ_MAX_MS || !is_json)
      reads.wrong.push(
        `${asked}: ${answer.status} after ${ms.toFixed(0)} ms ${answer.text.slice(0, 200)}`,
      )
    await Bun.sleep(150)
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Notes what the health of each monitor claims, and what the ledger says of it. */
async function judgeAll(
  url: string,
  headers: Record<string, string>,
  ledger: ReturnType<typeof createLedger>,
  signal: AbortSignal,
  say: (line: string) => void,
) {
  while (!signal.aborted) {
    for (const { monitor, source } of ledger.monitors()) {
      const answer = await fetch(`${url}/forum/monitor/health?id=${monitor}`, {
        headers,
        signal: AbortSignal.timeout(30_000),
      }).catch(() => null)
      if (answer?.status !== 200) {
        const text = answer === null ? 'no answer' : await answer.text()
        say(
          `the health of a monitor of ${source} answered ${answer?.status}: ${text.slice(0, 200)}`,
        )
        continue
      }
      const { coverage_24h } = healthShape.parse(await answer.json())
      for (const it of ledger.claimed(monitor, coverage_24h, Date.now()))
        say(`REFUTED ${JSON.stringify(it)}`)
    }
    await Bun.sleep(JUDGE_EVERY_MS)
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}

const SOURCE_KINDS = (name: string) => name.replace(/-v\d$/, '')

const configText = (dir: string, sites: readonly Site[]) => `
[server]
port = 0
[storage]
dir = "${join(dir, 'data')}"
${sites
  .filter(({ name }) => name === 'forum')
  .map(
    (it) =>
      `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${it.url}"\nsession_cookie = "${it.session_cookie}"\n[source.accounts]\nsession_requests_per_minute = 60000`,
  )
  .join('\n')}
${sites
  .filter(({ name }) => name !== 'forum')
  .map(
    ({ name, url }) =>
      `[[source]]\nname = "${name}"\nkind = "${SOURCE_KINDS(name)}"\nbase_url = "${url}"\nrequests_per_minute = 600`,
  )
  .join('\n')}
[plans.entry]
slots = 10000
cadence_s = 1
daily_deliveries = 10000000
[monitor]
freshness_s = 604800
[guard]
allow_targets = ["127.0.0.1"]
[delivery]
per_target_concurrency = 16
ca_file = "${join(dir, 'ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
open_per_minute = 0
health_per_minute = 0
[log]
json = true
`

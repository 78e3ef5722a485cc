import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { homeOf } from '../../src/config/schema.ts'
import { installsAll } from '../support/long-form.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

// An external tool parses the output again.
setDefaultTimeout(30_000)

const MINUTE = 60_000
const docs = `${import.meta.dir}/../../docs/`

type Row = { name: string; kind: string; labels: string[]; text: string }

/** The rows of docs/metrics.md. */
async function documented(): Promise<Row[]> {
  const text = await Bun.file(`${docs}metrics.md`).text()
  const rows = text.matchAll(
    /^\| `(\w+)`\s*\| (counter|gauge|histogram)\s*\| (.*?)\s*\| (.+?)\s*\|$/gm,
  )
  return [...rows].map(([, name = '', kind = '', labels = '', help = '']) => ({
    name,
    kind,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    text: help,
  }))
}

/** A daemon with polls, matches, deliveries, failures, reads and bills. */
async function startMonitored() {
  const daemon = await startTestDaemon({ change: (config) => (homeOf(config)!.retries = 0) })
  const { call, send, clock, receiver, sandbox } = daemon
  sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await clock.advance(MINUTE)
  const { url } = receiver
  await send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const filter_spec = { subforum: 'cats', include_any: ['cat'] }
  const monitor = await send('/forum/monitor/add', { filter_spec })
  expect(monitor.status).toBe(200)
  await clock.advance(2 * MINUTE)
  receiver.answers.push(503)
  sandbox.post({ subforum: 'cats', title: 'a new cat' })
  await clock.advance(2 * MINUTE)
  sandbox.addFault({ path: '/r/dogs', fault: '5xx', status: 503 })
  for (const name of ['cats', 'cats', 'dogs']) await call(`/api/forum/posts?subforum=${name}`)
  sandbox.clearFaults()
  const scrape = async () => {
    const answer = await fetch(`${daemon.url()}/metrics`)
    return answer.text()
  }
  return { daemon, scrape, monitor_id: monitor.body.id as string }
}

let monitored: Awaited<ReturnType<typeof startMonitored>>
beforeAll(async () => {
  monitored = await startMonitored()
})
afterAll(() => monitored.daemon[Symbol.asyncDispose]())

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

const seriesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (.+)$/.exec(line) ?? []
      return { name, labels: [...labels.matchAll(/(\w+)="/g)].map(([, it = '']) => it), value }
    })

/** Metric of a series: the parts of a histogram have names of their own. */
const familyOf = (name: string, kinds: ReadonlyMap<string, string>) => {
  const family = name.replace(/_(bucket|sum|count)$/, '')
  return kinds.get(family) === 'histogram' ? family : name
}

test('docs/metrics.md lists the metrics of an active daemon, and no others', async () => {
  const text = await monitored.scrape()
  const metrics = [...text.matchAll(/^# HELP (\w+) (.+)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name = '', help = '', kind = '']) => ({ name, kind, text: help }),
  )
  const rows = await documented()

  expect(metrics.length).toBeGreaterThan(50)
  expect(rows.map(({ labels: _labels, ...row }) => row).toSorted(byName)).toEqual(
    metrics.toSorted(byName),
  )
})

test('every metric has a value by then, with the labels of docs/metrics.md', async () => {
  const rows = await documented()
  const kinds = new Map(rows.map(({ name, kind }) => [name, kind]))
  const seen = new Map<string, Set<string>>()
  for (const { name, labels } of seriesOf(await monitored.scrape())) {
    const family = familyOf(name, kinds)
    const own = labels.filter((label) => label !== 'le' || kinds.get(family) !== 'histogram')
    seen.set(family, new Set([...(seen.get(family) ?? []), own.join()]))
  }

  // Values that a file system does not report, and ages of missing files, are absent.
  const absent = /; absent /
  for (const { name, labels } of rows.filter(({ text }) => !absent.test(text)))
    expect([name, ...(seen.get(name) ?? [])]).toEqual([name, labels.join()])
})

test('events are counted in their metrics', async () => {
  const lines = (await monitored.scrape()).split('\n')

  for (const line of [
    'forumd_matches_total 1',
    'forumd_checks_total{outcome="cut"} 0',
    'forumd_deliveries_written_total{status="pending",kind="webhook"} 1',
    'forumd_delivery_attempts_total{kind="webhook",outcome="retry",error="http_5xx"} 1',
    'forumd_delivery_attempts_total{kind="webhook",outcome="delivered",error=""} 1',
    'forumd_deliveries_ended_total{status="delivered",kind="webhook"} 1',
    'forumd_match_to_attempt_seconds_count 1',
    'forumd_match_to_acceptance_seconds_bucket{le="2.5"} 0',
    'forumd_match_to_acceptance_seconds_bucket{le="10"} 1',
    'forumd_reads_cache_total{state="hit"} 1',
    'forumd_feeds{kind="posts"} 1',
    'forumd_poll_lag_seconds{kind="posts"} 0',
    'forumd_monitors{coverage="complete"} 1',
    'forumd_webhooks{kind="webhook",state="active"} 1',
    'forumd_customers{credit="some"} 1',
    'forumd_billing_open_holds 0',
    'forumd_storage_failing 0',
    'forumd_scrape_failures_total 0',
  ])
    expect(lines).toContain(line)

  const micros = (what: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`forumd_billing_${what}_micro_usd_total{tier="read"}`))
        ?.split(' ')[1],
    )
  expect(micros('held')).toBe(micros('settled') + micros('refunded'))
  expect(micros('refunded')).toBeGreaterThan(0)
  expect(micros('settled')).toBeGreaterThan(micros('refunded'))
})

test('an outage is visible: polls are truncated, deliveries wait for a retry, and coverage equals that of health', async () => {
  const { daemon, scrape, monitor_id } = await startMonitored()
  await using _ = daemon
  const numbersNow = async () =>
    new Map(
      (await scrape()).split('\n').map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
    )
  daemon.receiver.answers.push(500, 500, 500)
  daemon.sandbox.post({ subforum: 'cats', title: 'another new cat' })
  // Until it has had three attempts, and waits.
  for (let n = 0; n < 20 && daemon.receiver.received.length < 5; n++)
    await daemon.clock.advance(MINUTE / 4)
  const waiting = await numbersNow()
  expect(waiting.get('forumd_deliveries_pending{retry_index="3"}')).toBe(1)
  expect(waiting.get('forumd_deliveries_pending{retry_index="0"}')).toBe(0)
  expect(waiting.get('forumd_delivery_oldest_pending_seconds')).toBeGreaterThan(30)

  daemon.sandbox.addFault({ path: '/r/', fault: '5xx', status: 503 })
  await daemon.clock.advance(20 * MINUTE)
  const numbers = await numbersNow()
  const health = await daemon.call(`/forum/monitor/health?id=${monitor_id}`)

  expect(numbers.get(`forumd_monitors{coverage="${health.body.coverage_24h.status}"}`)).toBe(1)
  expect(numbers.get('forumd_monitors{coverage="complete"}')).toBe(0)
  expect(numbers.get('forumd_checks_total{outcome="cut"}')).toBeGreaterThan(0)
})

test('promtool reports no problem', async () => {
  const promtool = Bun.which('promtool')
  if (promtool === null) {
    expect(installsAll).toBe(false)
    return console.log('promtool is not here: nothing was checked')
  }
  const run = (args: string[], stdin: string) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool, ...args], {
      stdin: Buffer.from(stdin),
    })
    return { exitCode, output: stdout.toString() + stderr.toString() }
  }
  // The queries of the dashboard are checked as rules.
  const dashboard = await Bun.file(`${docs}grafana/dashboard.json`).text()
  const rules = [...dashboard.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, expr = ''], n) => ({
    record: `query_${n}`,
    expr: expr && String(JSON.parse(expr)).replaceAll('$__rate_interval', '5m'),
  }))
  const queries = `${monitored.daemon.dir}/queries.yml`
  await Bun.write(queries, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))

  expect(run(['check', 'metrics'], await monitored.scrape())).toEqual({ exitCode: 0, output: '' })
  expect(run(['check', 'rules', `${docs}grafana/alerts.yml`], '').exitCode).toBe(0)
  expect(rules.length).toBeGreaterThan(50)
  expect(run(['check', 'rules', queries], '')).toMatchObject({ exitCode: 0 })
  expect(run(['test', 'rules', `${docs}grafana/alerts.test.yml`], '')).toMatchObject({
    exitCode: 0,
  })
})

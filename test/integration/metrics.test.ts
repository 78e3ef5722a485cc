import { expect, setDefaultTimeout, test } from 'bun:test'

import { startHouse } from '../support/house.ts'

// A tool of another house reads all of it once more.
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
  return [...rows].map(([, name = '', kind = '', labels = '', said = '']) => ({
    name,
    kind,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    text: said,
  }))
}

/** A daemon that has watched, matched, delivered, failed, been read and been paid. */
async function lived() {
  const house = await startHouse({ change: (config) => (config.platform.retries = 0) })
  const { call, send, clock, receiver, sandbox } = house
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
  sandbox.weather({ path: '/r/dogs', fault: '5xx', status: 503 })
  for (const name of ['cats', 'cats', 'dogs']) await call(`/api/forum/posts?subforum=${name}`)
  sandbox.clearWeather()
  const scrape = async () => {
    const answer = await fetch(`${house.url()}/metrics`)
    return answer.text()
  }
  return { house, scrape, monitor_id: monitor.body.id as string }
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

const seriesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (.+)$/.exec(line) ?? []
      return { name, labels: [...labels.matchAll(/(\w+)="/g)].map(([, it = '']) => it), value }
    })

/** What a series belongs to: the parts of a histogram have names of their own. */
const familyOf = (name: string, kinds: ReadonlyMap<string, string>) => {
  const family = name.replace(/_(bucket|sum|count)$/, '')
  return kinds.get(family) === 'histogram' ? family : name
}

test('docs/metrics.md lists what a daemon that has lived a little answers, and nothing else', async () => {
  const { house, scrape } = await lived()
  await using _ = house
  const text = await scrape()
  const told = [...text.matchAll(/^# HELP (\w+) (.+)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name = '', said = '', kind = '']) => ({ name, kind, text: said }),
  )
  const rows = await documented()

  expect(told.length).toBeGreaterThan(50)
  expect(rows.map(({ labels: _labels, ...row }) => row).toSorted(byName)).toEqual(
    told.toSorted(byName),
  )
})

test('every number has a value by then, with the labels that docs/metrics.md says', async () => {
  const { house, scrape } = await lived()
  await using _ = house
  const rows = await documented()
  const kinds = new Map(rows.map(({ name, kind }) => [name, kind]))
  const seen = new Map<string, Set<string>>()
  for (const { name, labels } of seriesOf(await scrape())) {
    const family = familyOf(name, kinds)
    const own = labels.filter((label) => label !== 'le' || kinds.get(family) !== 'histogram')
    seen.set(family, new Set([...(seen.get(family) ?? []), own.join()]))
  }

  // What a file system does not tell is absent.
  for (const { name, labels } of rows.filter(({ text }) => !text.includes('absent where')))
    expect([name, ...(seen.get(name) ?? [])]).toEqual([name, labels.join()])
})

test('what happened is what is told', async () => {
  const { house, scrape } = await lived()
  await using _ = house
  const lines = (await scrape()).split('\n')

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
    'forumd_streams{kind="posts"} 1',
    'forumd_poll_lag_seconds{kind="posts"} 0',
    'forumd_monitors{coverage="complete"} 1',
    'forumd_webhooks{kind="webhook",state="active"} 1',
    'forumd_customers{credit="some"} 1',
    'forumd_billing_open_holds 0',
    'forumd_auditor_findings 0',
    'forumd_storage_trouble 0',
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

test('an outage shows: looks are cut, deliveries wait on their rung, and coverage is as health says it', async () => {
  const { house, scrape, monitor_id } = await lived()
  await using _ = house
  const numbersNow = async () =>
    new Map(
      (await scrape()).split('\n').map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
    )
  house.receiver.answers.push(500, 500, 500)
  house.sandbox.post({ subforum: 'cats', title: 'another new cat' })
  // Until it has been tried three times, and waits.
  for (let n = 0; n < 20 && house.receiver.received.length < 5; n++)
    await house.clock.advance(MINUTE / 4)
  const waiting = await numbersNow()
  expect(waiting.get('forumd_deliveries_pending{rung="3"}')).toBe(1)
  expect(waiting.get('forumd_deliveries_pending{rung="0"}')).toBe(0)
  expect(waiting.get('forumd_delivery_oldest_pending_seconds')).toBeGreaterThan(30)

  house.sandbox.weather({ path: '/r/', fault: '5xx', status: 503 })
  await house.clock.advance(20 * MINUTE)
  const numbers = await numbersNow()
  const health = await house.call(`/forum/monitor/health?id=${monitor_id}`)

  expect(numbers.get(`forumd_monitors{coverage="${health.body.coverage_24h.status}"}`)).toBe(1)
  expect(numbers.get('forumd_monitors{coverage="complete"}')).toBe(0)
  expect(numbers.get('forumd_checks_total{outcome="cut"}')).toBeGreaterThan(0)
})

test('Prometheus’ own checker finds nothing to say', async () => {
  const promtool = Bun.which('promtool')
  if (promtool === null) {
    expect(process.env['CI']).toBeUndefined()
    return console.log('promtool is not here: nothing was checked')
  }
  const { house, scrape } = await lived()
  await using _ = house
  const run = (args: string[], stdin: string) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool, ...args], {
      stdin: Buffer.from(stdin),
    })
    return { exitCode, said: stdout.toString() + stderr.toString() }
  }
  // The queries of the dashboard are read as rules would be.
  const dashboard = await Bun.file(`${docs}grafana/dashboard.json`).text()
  const rules = [...dashboard.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, expr = ''], n) => ({
    record: `query_${n}`,
    expr: expr && String(JSON.parse(expr)).replaceAll('$__rate_interval', '5m'),
  }))
  const queries = `${house.dir}/queries.yml`
  await Bun.write(queries, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))

  expect(run(['check', 'metrics'], await scrape())).toEqual({ exitCode: 0, said: '' })
  expect(run(['check', 'rules', `${docs}grafana/alerts.yml`], '').exitCode).toBe(0)
  expect(rules.length).toBeGreaterThan(50)
  expect(run(['check', 'rules', queries], '')).toMatchObject({ exitCode: 0 })
  expect(run(['test', 'rules', `${docs}grafana/alerts.test.yml`], '')).toMatchObject({
    exitCode: 0,
  })
})

import { expect, test } from 'bun:test'

import * as z from 'zod'

import { fullName, METRICS } from '../../src/api/metrics/catalogue.ts'

const docs = `${import.meta.dir}/../../docs/grafana/`
const read = (name: string) => Bun.file(docs + name).text()

/** Every name that a query may use: a histogram is queried by its parts. */
const metric_names = new Set(
  Object.entries(METRICS).flatMap(([name, { kind }]) =>
    kind === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((part) => fullName(name) + part)
      : [fullName(name)],
  ),
)
const namesIn = (query: string): string[] => query.match(/\b(?:forumd|process)_\w+/g) ?? []
/**
 * Labels that a query selects or groups by, of the metrics it names; scrape labels are common to
 * all.
 */
const labelsIn = (query: string): string[] =>
  [...query.matchAll(/\b(\w+)(?:=~?|!=|!~)"/g)].map(([, label = '']) => label)
const KNOWN_LABELS = new Set([
  'instance',
  'job',
  'le',
  ...Object.values(METRICS).flatMap((it): readonly string[] => ('labels' in it ? it.labels : [])),
])

const place = z.object({
  h: z.int().min(1),
  w: z.int().min(1).max(24),
  x: z.int().min(0),
  y: z.int(),
})
const query = z.object({ refId: z.string(), expr: z.string().min(1), legendFormat: z.string() })
const panelSchema = z.object({
  id: z.int(),
  title: z.string().min(1),
  type: z.enum(['timeseries', 'stat']),
  gridPos: place,
  datasource: z.object({ type: z.literal('prometheus'), uid: z.literal('${datasource}') }),
  targets: z.array(query).min(1),
})
const row = z.object({
  id: z.int(),
  title: z.string().min(1),
  type: z.literal('row'),
  gridPos: place,
})
const dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  schemaVersion: z.int().min(36),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(z.discriminatedUnion('type', [row, panelSchema])),
})

const panels = async () => dashboard.parse(JSON.parse(await read('dashboard.json'))).panels
const queries = async () =>
  (await panels()).flatMap((panel) =>
    panel.type === 'row' ? [] : panel.targets.map(({ expr }) => expr),
  )

test('the dashboard queries existing metrics by existing labels', async () => {
  const all_queries = await queries()

  expect(all_queries.length).toBeGreaterThan(30)
  expect(all_queries.flatMap(namesIn).filter((name) => !metric_names.has(name))).toEqual([])
  expect(all_queries.flatMap(labelsIn).filter((label) => !KNOWN_LABELS.has(label))).toEqual([])
})

test('every metric is on the dashboard', async () => {
  const used_names = new Set((await queries()).flatMap(namesIn))
  const missing = Object.entries(METRICS).flatMap(([name, { kind }]) => {
    const full = fullName(name) + (kind === 'histogram' ? '_bucket' : '')
    return used_names.has(full) ? [] : [full]
  })

  expect(missing).toEqual([])
})

test('no two panels of the dashboard overlap or share an id', async () => {
  const all = await panels()
  const cells = all.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  )

  expect(new Set(cells).size).toBe(cells.length)
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
})

test('alerts query existing metrics, and each is tested firing and not firing', async () => {
  const rules = await read('alerts.yml')
  const cases = await read('alerts.test.yml')
  const expressions = [...rules.matchAll(/^\s+expr: (.+)$/gm)].map(([, text = '']) => text)
  const alerts = [...rules.matchAll(/^\s+- alert: (\w+)$/gm)].map(([, name]) => name)

  expect(expressions.length).toBe(alerts.length)
  expect(expressions.flatMap(namesIn).filter((name) => !metric_names.has(name))).toEqual([])
  expect(expressions.flatMap(labelsIn).filter((label) => !KNOWN_LABELS.has(label))).toEqual([])
  const tested = [...cases.matchAll(/alertname: (\w+)\n/g)].map(([, name]) => name)
  expect(new Set(tested)).toEqual(new Set(alerts))
  // One of the two daemons of each case is failing.
  expect(cases.match(/exp_labels: \{[^}]*instance: '?a'?/g)?.length).toBe(tested.length)
})

import { type Bench, quantile, ratioOf, type Variant } from './figures/results.ts'
import { temporaryFolder } from './load/children.ts'
import { fillDeliveries, fillMonitors } from './load/fill.ts'
import { makeInstance, startForumd, startUpstream } from './load/fixture.ts'

const MONITORS = 20
const SMALL = 10_000
const CALLS = 1000

const REQUEST = {
  list: '/forum/monitor/deliveries?limit=50',
  of_one: '/forum/monitor/deliveries?limit=50&id=mon_7&status=delivered',
  health: '/forum/monitor/health?id=mon_7',
  usage: '/account/usage',
} as const

const LABELS: Record<keyof typeof REQUEST, string> = {
  list: 'deliveries list',
  of_one: "one monitor's delivered",
  health: 'health',
  usage: 'usage',
}

/** Duration of one call, in ms. */
async function timeRead(url: string, key: string): Promise<number> {
  const began = performance.now()
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`)
  return performance.now() - began
}

export const growth: Bench = {
  name: 'growth',
  title: 'Growth: the same calls over 10,000 and a million deliveries',
  about:
    'Daemons with tables of different age: 20 monitors with 10,000 deliveries a day in total, for a day or for months, and as many rows of other customers’ usage. One caller requests them alternately, call by call; p99 in ms. `--most-rows 5000000` adds a larger table.',
  async run({ rounds, smoke, most_rows }) {
    await using stack = new AsyncDisposableStack()
    const upstream = stack.use(await startUpstream())
    const sizes = smoke ? [SMALL, 10 * SMALL] : [SMALL, 1_000_000, most_rows]
    const instances: { rows: number; url: string; key: string; variant: Variant }[] = []
    for (const rows of new Set(sizes)) {
      const dir = stack.use(temporaryFolder()).path
      const key = makeInstance(dir, ({ db }, now) => {
        fillMonitors(db, MONITORS, now)
        fillDeliveries(db, { rows, monitors: MONITORS, now })
      })
      const { url } = stack.use(await startForumd(dir, { platform_url: upstream.url }))
      const variant = { name: `${rows.toLocaleString('en')} rows`, rounds: {} }
      instances.push({ rows, url, key, variant })
    }
    // The first round warms up.
    for (let round = 0; round <= rounds; round++)
      for (const [name, path] of Object.entries(REQUEST)) {
        const taken = instances.map((): number[] => [])
        // Variants alternate call by call, so that load of the machine affects all of them.
        for (let call = 0; call < (smoke ? 20 : CALLS); call++)
          for (const [at, { url, key }] of instances.entries())
            taken[at]?.push(await timeRead(url + path, key))
        if (round > 0)
          for (const [at, { variant }] of instances.entries())
            (variant.rounds[name] ??= []).push(quantile(taken[at] ?? [], 0.99))
      }
    const variants = instances.map(({ variant }) => variant)
    const [small, ...larger] = variants
    return {
      figures: Object.entries(LABELS).map(([key, label]) => ({ key, label, digits: 1 })),
      variants,
      ratios: larger.flatMap((large) =>
        Object.entries(LABELS).map(([key, label]) =>
          ratioOf(variants, key, [large.name, small?.name ?? ''], {
            label: `${label}, ${large.name}`,
            most: 2,
          }),
        ),
      ),
      notes: [],
    }
  },
}

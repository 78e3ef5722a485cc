import { type Bench, ratioOf, type Variant } from './figures/results.ts'
import { type Child, memoryOf, temporaryFolder } from './load/children.ts'
import { fillDeliveries, fillMonitors } from './load/fill.ts'
import {
  installPeers,
  makeInstance,
  startForumd,
  startPeer,
  startUpstream,
} from './load/fixture.ts'
import { ifHere } from './load/load-in-turns.ts'
import { startRedis } from './load/stores.ts'

const [OURS, BULLMQ, AIM] = [
  'forumd, 10,000 monitors and 1 million deliveries',
  'Node, BullMQ worker and Redis, idle',
  '120 MB',
] as const

async function measureIdle(children: readonly Pick<Child, 'pid'>[], wait_s: number) {
  await Bun.sleep(wait_s * 1000)
  const sum = (kind: 'VmRSS' | 'RssAnon') =>
    children.reduce((mb, { pid }) => mb + memoryOf(pid, kind), 0)
  return { rss_mb: [sum('VmRSS')], own_mb: [sum('RssAnon')] }
}

export const memory: Bench = {
  name: 'memory',
  title: 'Memory under load',
  about:
    'Resident memory half a minute after the start, with 10,000 monitors of 20 terms each over 400 subforums that are polled every minute, and a million deliveries in the table; beside an idle worker. Own memory is anonymous memory: the rest of forumd’s is mostly the executable.',
  async run({ smoke }) {
    await using stack = new AsyncDisposableStack()
    const notes: string[] = []
    const upstream = stack.use(await startUpstream())
    const dir = stack.use(temporaryFolder()).path
    const monitors = smoke ? 200 : 10_000
    makeInstance(dir, ({ db }, now) => {
      fillMonitors(db, monitors, now)
      fillDeliveries(db, { rows: smoke ? 5000 : 1_000_000, monitors, now })
    })
    const wait_s = smoke ? 1 : 30
    const forumd = stack.use(await startForumd(dir, { platform_url: upstream.url }))
    const variants: Variant[] = [{ name: OURS, rounds: await measureIdle([forumd], wait_s) }]
    installPeers()
    const redis = await ifHere(notes, () =>
      startRedis(stack.use(temporaryFolder()).path, 'everysec'),
    )
    if (redis !== null) {
      stack.use(redis)
      const plan = JSON.stringify({ receiver: 'http://127.0.0.1:1', count: 0, per_second: 0 })
      const worker = stack.use(await startPeer('bullmq', [plan, String(redis.port), 'idle']))
      variants.push({ name: BULLMQ, rounds: await measureIdle([worker, redis], smoke ? 1 : 10) })
    }
    const aim: Variant = { name: AIM, rounds: { rss_mb: [120] } }
    return {
      figures: [
        { key: 'rss_mb', label: 'resident, MB', digits: 0 },
        { key: 'own_mb', label: 'own, MB', digits: 0 },
      ],
      variants,
      ratios: [
        ratioOf([...variants, aim], 'rss_mb', [OURS, AIM], {
          label: 'resident to 120 MB',
          most: 1,
        }),
        ratioOf(variants, 'rss_mb', [OURS, BULLMQ], { label: 'resident to BullMQ and Redis' }),
      ].filter(({ value }) => Number.isFinite(value)),
      notes,
    }
  },
}

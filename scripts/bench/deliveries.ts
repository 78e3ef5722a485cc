import { type Bench, ratioOf } from './figures/results.ts'
import { ALWAYS, EVERYSEC, FLOOR, OURS, PG_BOSS, sendInTurns } from './load/senders.ts'

export const deliveries: Bench = {
  name: 'deliveries',
  title: 'Durable signed deliveries: 10,000 matches committed, sent and recorded',
  about:
    'A poll of a hundred posts is recorded as the product records it: matched by 16 monitors, in the ledger, within the ceiling, kept for erasure, in the inbox, the archive and the pull API, with a delivery for the target of its monitor; the receivers are one server on the loopback, and at most 64 attempts are in flight. Measured from the first poll to the last recorded attempt; every commit waits for the disk. The peers add a job with the same item, sign and post it in the same way, and complete it with a record of its attempt; pg-boss fetches and completes 64 jobs at a time. The smallest Bun sender shows the floor: one row a delivery with its body, one statement for its outcome, signed and posted in the same way, without anything else that forumd does.',
  async run({ rounds, smoke }) {
    const plan = { count: smoke ? 500 : 10_000, per_second: 0 }
    const { variants, notes } = await sendInTurns(plan, Math.min(rounds, 3))
    const to = (peer: string, label: string, least?: number) =>
      ratioOf(variants, 'per_s', [OURS, peer], { label, ...(least !== undefined && { least }) })
    return {
      figures: [{ key: 'per_s', label: 'deliveries/s', digits: 0 }],
      variants,
      ratios: [
        to(ALWAYS, 'deliveries/s to BullMQ, AOF always', 1.5),
        to(EVERYSEC, 'deliveries/s to BullMQ, AOF everysec', 1.2),
        to(PG_BOSS, 'deliveries/s to pg-boss', 1.7),
        to(FLOOR, 'deliveries/s to the floor', 0.4),
        ratioOf(variants, 'per_s', [FLOOR, ALWAYS], {
          label: 'of the floor to BullMQ, AOF always',
        }),
        ratioOf(variants, 'per_s', [FLOOR, EVERYSEC], {
          label: 'of the floor to BullMQ, AOF everysec',
        }),
      ].filter(({ value }) => Number.isFinite(value)),
      notes,
    }
  },
}

export const receipt: Bench = {
  name: 'receipt',
  title: 'Match to receipt at 500 a second',
  about:
    'One match after another, 2 ms apart, each in its own commit; measured from before the commit until the receiver has the body. The senders are those of the deliveries. The worker of pg-boss polls every half second by default; here it polls every 2 ms.',
  async run({ rounds, smoke }) {
    const plan = { count: smoke ? 250 : 2500, per_second: 500 }
    const { variants, notes } = await sendInTurns(plan, Math.min(rounds, 3))
    const ours = ratioOf(
      [...variants, { name: '5 ms', rounds: { p99_ms: [5] } }],
      'p99_ms',
      [OURS, '5 ms'],
      {
        label: 'p99 to 5 ms',
        most: 1,
      },
    )
    const to = (peer: string, label: string) => ratioOf(variants, 'p99_ms', [OURS, peer], { label })
    return {
      figures: [
        { key: 'p50_ms', label: 'p50, ms', digits: 1 },
        { key: 'p99_ms', label: 'p99, ms', digits: 1 },
        { key: 'longest_ms', label: 'longest, ms', digits: 0 },
        { key: 'per_s', label: 'a second', digits: 0 },
      ],
      variants,
      ratios: [
        ours,
        to(ALWAYS, 'p99 to BullMQ, AOF always'),
        to(EVERYSEC, 'p99 to BullMQ, AOF everysec'),
        to(PG_BOSS, 'p99 to pg-boss'),
        to(FLOOR, 'p99 to the floor'),
      ].filter(({ value }) => Number.isFinite(value)),
      notes,
    }
  },
}

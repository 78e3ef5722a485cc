/**
 * Measures latency and number of requests: 400 places of unequal rates watched by one account at 100 requests a
 * minute, for nine hours in virtual time. forumd, each place in turn, and PRAW's stream rule, on the same
 * traffic: `bun run bench:poll`. `--places N`, `--seed N`, `--only` methods whose name contains it. `--audits`
 * prints the cost of audits instead.
 */
import { parseArgs } from 'node:util'

import { watchOurs } from './poll-ours.ts'
import { watchAsPraw, watchInTurn } from './poll-peers.ts'
import {
  DOWN,
  PER_MINUTE,
  placesOf,
  RUN_MS,
  tallyOf,
  trafficOf,
  type Watched,
} from './poll-world.ts'

const { values } = parseArgs({
  options: {
    places: { type: 'string', default: '400' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    audits: { type: 'boolean', default: false },
  },
})
const count = Number(values.places)
const seed = Number(values.seed)
if (!Number.isInteger(seed) || !(count >= 1 && count <= 1000)) {
  console.error('--places must be from 1 to 1000, --seed a whole number')
  process.exit(2)
}
/** Longer than the run. */
const NEVER_S = 1_000_000

/** Requests with audits and without, for three sizes and two cadences. */
async function printAudits(): Promise<void> {
  console.log(
    `${PER_MINUTE} requests a minute are allowed; twelve hours, half an hour of it down; seed ${seed}\n`,
  )
  console.log(
    '| places | cadence | requests a minute without audits | with | audits, share of what is allowed | between two audits of a feed | verified range behind |\n' +
      '|---|---|---|---|---|---|---|',
  )
  const minutes = (RUN_MS - (DOWN.until_ms - DOWN.from_ms)) / 60_000
  for (const size of [10, 100, 400])
    for (const cadence_s of [10, 60]) {
      const audited = await watchOurs(seed, placesOf(size), cadence_s)
      const plain = await watchOurs(seed, placesOf(size), cadence_s, NEVER_S)
      const extra = audited.requests - plain.requests
      const cells = [
        size,
        `${cadence_s} s`,
        (plain.requests / minutes).toFixed(1),
        (audited.requests / minutes).toFixed(1),
        `${((100 * extra) / minutes / PER_MINUTE).toFixed(1)} %`,
        `${audited.audits.interval_s} s`,
        `${audited.audits.behind_s.toFixed(0)} s`,
      ]
      console.log(`| ${cells.join(' | ')} |`)
    }
}

async function compareWays(): Promise<void> {
  const places = placesOf(count)
  const world = trafficOf(seed, places)

  const CONTENDERS: readonly (readonly [string, () => Promise<Watched>])[] = [
    ['ours, every 60 s', () => watchOurs(seed, places, 60)],
    ['ours, every 10 s', () => watchOurs(seed, places, 10)],
    ['each place in turn', () => watchInTurn(seed, places)],
    ["PRAW's stream, one a place", () => watchAsPraw(seed, places, 1)],
    ["PRAW's stream, 100 places each", () => watchAsPraw(seed, places, 100)],
  ]

  console.log(
    `${count} places, ${PER_MINUTE} requests a minute, nine hours after three, half an hour of it down; seed ${seed}\n`,
  )
  console.log(
    '| method | p50 | p99 | longest | requests a minute | missed | missed of the downtime | silently missed | delivered twice |\n' +
      '|---|---|---|---|---|---|---|---|---|',
  )
  for (const [name, watch] of CONTENDERS) {
    if (!name.includes(values.only)) continue
    const it = tallyOf(world, await watch())
    const cells = [
      name,
      `${it.p50_s.toFixed(1)} s`,
      `${it.p99_s.toFixed(1)} s`,
      `${it.longest_s.toFixed(0)} s`,
      it.requests_a_minute.toFixed(1),
      `${it.missed} of ${it.posts - it.while_down}`,
      `${it.missed_while_down} of ${it.while_down}`,
      it.missed_in_silence,
      it.again,
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

if (values.audits) await printAudits()
else await compareWays()

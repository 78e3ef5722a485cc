/**
 * How soon, and for how many requests: 400 places of unequal rates watched by one account at 100 requests a minute, for
 * nine hours in virtual time. Ours, each place in turn, and PRAW's stream rule, on the same traffic: `bun run bench:poll`.
 * `--places N`, `--seed N`, `--only` ways whose name has it.
 */
import { parseArgs } from 'node:util'

import { watchOurs } from './bench-poll-ours.ts'
import { watchAsPraw, watchInTurn } from './bench-poll-peers.ts'
import { PER_MINUTE, placesOf, tallyOf, trafficOf, type Watched } from './bench-poll-world.ts'

const { values } = parseArgs({
  options: {
    places: { type: 'string', default: '400' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const count = Number(values.places)
const seed = Number(values.seed)
if (!Number.isInteger(seed) || !(count >= 1 && count <= 1000)) {
  console.error('--places must be from 1 to 1000, --seed a whole number')
  process.exit(2)
}
const places = placesOf(count)
const world = trafficOf(seed, places)

const WAYS: readonly (readonly [string, () => Promise<Watched>])[] = [
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
  '| way | p50 | p99 | longest | requests a minute | missed | missed of what came while down | missed in silence | told twice |\n' +
    '|---|---|---|---|---|---|---|---|---|',
)
for (const [name, watch] of WAYS) {
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

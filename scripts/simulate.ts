/**
 * Days of bad weather in virtual time, and what coverage made of them (reliability.md, B6).
 *
 *     bun scripts/simulate.ts --days 100 --seed 7
 *
 * Ends with 0 only when the bar is kept.
 */
import { parseArgs } from 'node:util'

import {
  breaches,
  simulateCoverage,
  simulateFullDisk,
  simulateSharing,
} from '../test/simulation/bars.ts'

const { values } = parseArgs({
  options: { days: { type: 'string', default: '100' }, seed: { type: 'string' } },
})
const days = Number(values.days)
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
if (!Number.isInteger(seed) || !(days >= 10)) {
  console.error('--days must be at least 10 feed-days, --seed a whole number')
  process.exit(2)
}

console.log(`seed ${seed}, ${days} feed-days`)
const verdicts = await simulateCoverage(seed, days)
const { verdict: on_full_disk, unwritten } = await simulateFullDisk(seed, days)
const { one, many } = await simulateSharing(seed, 500)
for (const verdict of [...verdicts, on_full_disk]) console.log(verdict)
console.log(`${unwritten.failed} writes found the disk full`)
console.log(`one monitor ${one} requests, five hundred ${many}`)
// Apart: what a full disk hides is told, and so no day of it reads complete.
const broken = [...breaches(verdicts), ...breaches([on_full_disk])]
if (many > one * 1.05) broken.push('five hundred monitors cost more than one')
for (const it of broken) console.error(it)
console.log(broken.length === 0 ? 'the bar is kept' : `${broken.length} breaches`)
process.exit(broken.length === 0 ? 0 : 1)

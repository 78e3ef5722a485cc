/**
 * Simulates days of platform failures in virtual time and checks the resulting coverage (B6 of
 * docs/reliability.md).
 *
 *     bun scripts/checks/simulate.ts --days 100 --seed 7
 *
 * Exit code 0 only if every figure is within its bound.
 */
import { parseArgs } from 'node:util'

import {
  breaches,
  simulateCoverage,
  simulateFullDisk,
  simulateSharing,
} from '../../test/simulation/bars.ts'

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
// Separate: gaps hidden by a full disk are reported, so no such day may read complete.
const broken = [...breaches(verdicts), ...breaches([on_full_disk])]
if (many > one * 1.05) broken.push('five hundred monitors cost more than one')
for (const it of broken) console.error(it)
console.log(
  broken.length === 0 ? 'all figures are within their bounds' : `${broken.length} breaches`,
)
process.exit(broken.length === 0 ? 0 : 1)

/**
 * One run of the kill test on the executable that FORUMD_BINARY names; the last line is its figures as JSON.
 * Exit code 1 if data was lost or a figure was not reached. `kill.ts` runs it on the real tree and on those
 * with a planted fault.
 */
import { parseArgs } from 'node:util'

import { faultsOf, shortfallsOf } from '../../../test/chaos/faults.ts'
import { killAgainAndAgain, percentile } from '../../../test/chaos/process-kill.ts'
import { KILL_SIZES } from './options.ts'

const { values } = parseArgs({
  options: { ...KILL_SIZES, seed: { type: 'string', default: '1' } },
})
/** Items a second that the daemon has to keep up with, of those that a run asks for: 100 of 105. */
const ITEMS_SHARE_MIN = 100 / 105
const syscall_kills = Number(values.syscalls)
const killed = await killAgainAndAgain({
  kills: Number(values.kills),
  syscall_kills,
  seed: Number(values.seed),
  items_per_s: Number(values.items),
  places: Number(values.places),
  cadence_s: 5,
  life_ms: [60, 500],
  measured_lives: 200,
  report: (line) => console.error(line),
})
const { start_to_attempt_ms, ...figures } = killed
const faults = faultsOf(killed)
const shortfalls = shortfallsOf(killed, {
  syscall_kills,
  items_per_s: Number(values.items) * ITEMS_SHARE_MIN,
})
console.log(
  JSON.stringify({
    ...figures,
    start_to_attempt_ms: {
      lives: start_to_attempt_ms.length,
      p50: percentile(start_to_attempt_ms, 0.5),
      p99: percentile(start_to_attempt_ms, 0.99),
    },
    faults,
    shortfalls,
  }),
)
process.exit(faults.length + shortfalls.length > 0 ? 1 : 0)

import { expect, test } from 'bun:test'

import { faultsOf } from './faults.ts'
import { killAgainAndAgain } from './killing.ts'

// Goal: whatever instant the process dies at, no match is lost, no item comes under two delivery ids, no body changes
// between attempts, no hold is left behind and no money is lost.
// Method: posts keep appearing and reads stay in flight; kill -9 at a random moment, start again, many times. One target
// of three fails 25 % of what it is sent, one never answers 5 %. Then compare the receivers' logs with what the platform
// had, and read the file with another SQLite than the daemon's. `bun run bar:kill` does so a thousand times, kills at
// system calls as well, and sees that two planted faults are noticed.

const KILLS = Number(process.env['FORUMD_KILLS'] ?? 60)
const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))

test(
  `kill -9, ${KILLS} times: nothing is lost (FORUMD_SEED=${SEED})`,
  async () => {
    const killed = await killAgainAndAgain({
      kills: KILLS,
      syscall_kills: 0,
      seed: SEED,
      items_per_s: 40,
      places: 2,
      cadence_s: 1,
      life_ms: [30, 200],
      measured_lives: 0,
    })
    expect(killed.matches).toBeGreaterThan(0)
    expect(faultsOf(killed)).toEqual([])
  },
  // To start a daemon and to see one die takes as long as the machine lets it.
  90_000 + KILLS * 4000,
)

import { expect, test } from 'bun:test'

import { cases } from '../support/long-form.ts'
import { faultsOf } from './faults.ts'
import { killAgainAndAgain } from './process-kill.ts'

// Goal: after a crash at any instant no match is lost, no item has two delivery ids, no body changes between attempts, no
// hold is left and no money is lost.
// Method: constant posts and reads; kill -9 at a random moment, restart, many times. One of three receivers fails 25 % of
// requests, one never answers 5 %. Then the receivers' logs are compared with the platform's posts, and the database is
// read with another SQLite build than the daemon's. `bun run bar:kill` runs a thousand kills, also at system calls, and
// checks that two planted faults are detected.

const KILLS = Number(process.env['FORUMD_KILLS'] ?? cases({ short: 8, long: 60 }))
const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))

test(
  `${KILLS} kills lose no data (FORUMD_SEED=${SEED})`,
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
  // Generous timeout: the start and end of a daemon depend on the machine.
  90_000 + KILLS * 4000,
)

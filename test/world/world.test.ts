/** The short form: a few worlds against the real executable, each of some 40 s, all at once. */
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'

import type { WorldResult } from './assess.ts'
import { runAll, tableOf } from './run.ts'

const ROOT = join(import.meta.dir, '..', '..')
const WORLDS = ['quiet', 'burst-ties', 'skew-ahead', 'weather']
const DURATION_MS = 40_000
const CADENCE_S = 1
const PARALLEL = 4
const BUILD_MS = 180_000
const TEST_MS = 200_000

const seedOf = (): number => {
  const given = Number(process.env['FORUMD_SEED'])
  if (Number.isInteger(given) && given > 0) return given
  return 1 + ((crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % 900_000)
}

const executable = async (): Promise<string> => {
  const given = process.env['FORUMD_BINARY']
  if (given !== undefined && given !== '') return given
  const build = Bun.spawn([process.execPath, 'run', 'build'], { cwd: ROOT, timeout: BUILD_MS })
  if ((await build.exited) !== 0) throw new Error('bun run build failed')
  return join(ROOT, 'dist', 'forumd')
}

const seed = seedOf()
let results: readonly WorldResult[] = []

beforeAll(async () => {
  const binary = await executable()
  console.log(`worlds: FORUMD_SEED=${seed}`)
  const jobs = WORLDS.map((world) => ({
    world,
    seed,
    durationMs: DURATION_MS,
    cadenceS: CADENCE_S,
    auditIntervalS: null,
    binary,
  }))
  results = await runAll(jobs, PARALLEL)
  console.log(tableOf(results))
}, BUILD_MS + TEST_MS)

for (const world of WORLDS) {
  test(`${world}: nothing is missed silently, delivered twice, or without a match`, () => {
    const result = results.find((one) => one.world === world)
    expect(result?.verdict.pairs).toBeGreaterThan(0)
    expect(result?.silent).toEqual([])
    expect(result?.beyondSilent).toEqual([])
    expect(result?.verdict).toMatchObject({
      falseMatches: [],
      duplicates: [],
      unstable: [],
      unsigned: [],
      withdrawn: 0,
    })
    expect(result?.overRate).toBe(0)
  })
}

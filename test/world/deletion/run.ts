/**
 * Deletion: items of a simulated platform are deleted at random moments of a simulated week, while the executable is killed. Afterwards
 * none of their words may be in any file of its folder.
 *
 *   bun run bar:deletion --seed 1 --items 1000 --days 7
 *
 * `--short` simulates a day with 120 items: those deleted within it are found by the checks after 1 h and 24 h.
 */
import { parseArgs } from 'node:util'

import { fakeTimeLibrary } from './clock.ts'
import { DeletionWorld } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    items: { type: 'string', default: '1000' },
    days: { type: 'string', default: '7' },
    kills: { type: 'string', default: '60' },
    binary: { type: 'string', default: `${import.meta.dir}/../../../dist/forumd` },
    folder: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})

const fake_time = await fakeTimeLibrary()
if (fake_time === null) throw new Error('libfaketime is not installed: apt-get install faketime')
const world = await DeletionWorld.open({
  seed: Number(values.seed),
  items: values.short ? 120 : Number(values.items),
  days: values.short ? 1 : Number(values.days),
  kills: values.short ? 6 : Number(values.kills),
  binary: values.binary,
  folder: values.folder ?? null,
  fake_time,
})
console.log(`seed ${values.seed}, folder ${world.folder}`)
const verdict = await world.run((line) => console.log(line))
console.log(JSON.stringify(verdict.figures, null, 2))
for (const fault of verdict.faults) console.log(`FAULT ${fault}`)
process.exit(verdict.faults.length === 0 ? 0 : 1)

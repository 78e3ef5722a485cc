import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

import { command, EXIT, JSON_OPTION, Refusal } from './command.ts'
import { withInstance } from './instance.ts'
import { withBar } from './progress.ts'

const MIB = 2 ** 20

/** Throws Refusal unless a new file can have this path. */
function checkFree(file: string): void {
  if (existsSync(file)) throw new Refusal(`${file} is there already: name a file that is not`)
  if (!existsSync(dirname(file))) throw new Refusal(`there is no folder ${dirname(file)}`)
}

export const backup = command({
  name: 'backup',
  summary: 'copies the database to a file, also beside a running daemon',
  operands: ['FILE'],
  options: { json: JSON_OPTION },
  examples: ['forumd backup /mnt/backups/forumd-2027-01-31.sqlite'],
  notes:
    'The copy is consistent, compact and checked in every page. The key file is never in it: keep a copy of that apart, for without it nothing opens that is sealed. forumd restore puts a backup back.',
  async run({ values, operands: [name = ''], ...around }) {
    const file = resolve(name)
    checkFree(file)
    const { copyDatabase } = await import('../store/snapshots.ts')
    const { pathsOf } = await import('../store/place.ts')
    const { instance_id, paths, config } = await withInstance(values.config, around, (it) => ({
      instance_id: it.db.query<{ id: string }, []>('SELECT id FROM instance').get()?.id ?? '',
      paths: pathsOf(it.config.storage),
      config: it.config,
    }))
    const { clock } = await around.parts.createOutside(config.log, around.stdout)
    const whole = statSync(paths.db).size
    await withBar(
      around,
      {
        what: 'copying and checking the database',
        // The copy is compact, so it ends a little before the whole: the rest is for its check.
        sample: () =>
          Math.min(0.99, (statSync(`${file}.part`, { throwIfNoEntry: false })?.size ?? 0) / whole),
        sleep: clock.sleep,
      },
      copyDatabase(paths.db, file, { instance_id }),
    )
    const bytes = statSync(file).size
    const key_file = resolve(paths.key)
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ file, bytes, instance_id, key_file })}\n`
        : `${file} holds a checked copy of the database, ${(bytes / MIB).toFixed(1)} MiB.\n` +
            `The key file ${key_file} is not in it: keep a copy of it apart, for without it nothing opens that is sealed.\n`,
    )
    return EXIT.done
  },
})

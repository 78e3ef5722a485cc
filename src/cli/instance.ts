import type { Config } from '../config/schema.ts'
import type { Ring } from '../core/seal.ts'
import type { Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import type { Surroundings } from './command.ts'
import { readConfig } from './config-file.ts'

/** What a command needs to read and write rows: the database, what seals its secrets, and the world's time and chance. */
export type Opened = { db: Db; ring: Ring; config: Config; now: number; random: Random }

/** Opens the data folder, beside a daemon if one is running, does `work`, and closes it again. */
export async function withInstance<T>(
  named: string | undefined,
  { env, stdout, parts }: Surroundings,
  work: (opened: Opened) => T,
): Promise<T> {
  const { config } = readConfig(named, { env })
  const { openInstance } = await import('../store/instance.ts')
  const { clock, random } = await parts.createOutside(config.log, stdout)
  const { dir, key_file } = config.storage
  const instance = openInstance({ dir, key_file, clock, random }, { mode: 'beside' })
  try {
    return work({ db: instance.db, ring: instance.ring, config, now: clock.now(), random })
  } finally {
    instance.close()
  }
}

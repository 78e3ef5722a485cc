import type { Config } from '../config/schema.ts'
import type { Ring } from '../core/base/secrets.ts'
import type { Random } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import type { PlatformTools } from './account/platform-tools.ts'
import type { CommandContext } from './command.ts'
import { openConfig } from './configuration.ts'

/** Dependencies of commands that use the database: connection, key ring, clock and randomness. */
export type OpenInstance = { db: Db; ring: Ring; config: Config; now: number; random: Random }

/** Opens the data folder, also beside a running daemon, runs `work` and closes the folder. */
export async function withInstance<T>(
  context: CommandContext,
  work: (opened: OpenInstance) => T,
): Promise<T> {
  const { config, storage } = openConfig(context)
  const { openInstance } = await import('../store/maintenance/instance.ts')
  const { clock, random } = await context.factories.createRuntime(config.log, context.stdout)
  const instance = openInstance({ ...storage, clock, random }, { mode: 'beside' })
  try {
    return work({ db: instance.db, ring: instance.ring, config, now: clock.now(), random })
  } finally {
    instance.close()
  }
}

/** Runs `work` with access to the platform from this process, also beside a running daemon. */
export async function withPlatformTools<T>(
  context: CommandContext,
  work: (tools: PlatformTools, config: Config, now: number) => Promise<T>,
): Promise<T> {
  const { config } = openConfig(context)
  const { factories } = context
  const runtime = await factories.createRuntime(config.log, context.stdout)
  // Output of a command is for a person or a script; it writes no log.
  await using tools = await factories.openPlatformTools(config, { ...runtime, log: () => {} })
  return await work(tools, config, runtime.clock.now())
}

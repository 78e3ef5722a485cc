import type { Config } from '../config/schema.ts'
import type { Surroundings } from './command.ts'
import { readConfig } from './config-file.ts'
import type { Desk } from './desk.ts'

/** Lets `work` ask the platform from this process, beside a daemon if one is running. */
export async function withDesk<T>(
  { values, env, stdout, parts }: Surroundings & { values: { config?: string | undefined } },
  work: (desk: Desk, config: Config, now: number) => Promise<T>,
): Promise<T> {
  const { config } = readConfig(values.config, { env })
  const outside = await parts.createOutside(config.log, stdout)
  // What a command prints is for a person or a script; the log is the daemon's.
  await using desk = await parts.openDesk(config, { ...outside, log: () => {} })
  return await work(desk, config, outside.clock.now())
}

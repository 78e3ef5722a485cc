import type { Config } from '../config/schema.ts'
import type { Log } from '../outside.ts'
import type { Running } from './command.ts'
import { explain } from './failures.ts'

/**
 * Reads the configuration again and hands it to the running daemon. One with a problem is refused whole; what takes a
 * restart is named key by key, and stays as it was.
 */
export function reload(
  daemon: Pick<Running, 'reconfigure'>,
  read: () => { config: Config; warnings: string[] },
  log: Log,
): void {
  let next: ReturnType<typeof read>
  try {
    next = read()
  } catch (error) {
    for (const why of explain(error).message.split('\n')) log('error', 'config.refused', { why })
    return
  }
  for (const warning of next.warnings) log('warn', 'config.warning', { warning })
  const changes = daemon.reconfigure(next.config)
  for (const { key, live } of changes)
    if (live) log('info', 'config.changed', { key })
    else log('warn', 'config.needs_restart', { key, why: 'restart forumd to use it' })
  log('info', 'config.reloaded', { count: changes.length })
}

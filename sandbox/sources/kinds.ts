import { DISCOURSE } from '../discourse/kind.ts'
import { FEED } from '../feed/kind.ts'
import { HACKERNEWS } from '../hackernews/kind.ts'
import { LEMMY } from '../lemmy/kind.ts'
import { PIEFED } from '../piefed/kind.ts'
import { type SimulationOptions, startSource } from './start.ts'

const STARTERS = {
  discourse: (options: SimulationOptions) => startSource(DISCOURSE, options),
  feed: (options: SimulationOptions) => startSource(FEED, options),
  hackernews: (options: SimulationOptions) => startSource(HACKERNEWS, options),
  lemmy: (options: SimulationOptions) => startSource(LEMMY, options),
  piefed: (options: SimulationOptions) => startSource(PIEFED, options),
}

/**
 * Starts a simulated platform of a kind with a seeded world.
 * @throws {RangeError} for an unknown kind
 */
export async function startKind(
  kind: string,
  options: Omit<SimulationOptions, 'world'>,
): Promise<AsyncDisposable & { url: string }> {
  const found = Object.entries(STARTERS).find(([name]) => name === kind)
  if (found === undefined) throw new RangeError(`${kind}: unknown kind`)
  return found[1]({ ...options, world: 'seeded' })
}

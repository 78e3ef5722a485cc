/** The simulated sites that the runner knows. */
import { DISCOURSE } from './discourse.ts'
import { hackerNewsWorld } from './ids/hackernews.ts'
import { lemmyWorld, piefedWorld } from './ids/lemmy.ts'
import type { SourceWorld } from './source-world.ts'

const WORLDS: readonly SourceWorld[] = [DISCOURSE, hackerNewsWorld, lemmyWorld, piefedWorld]

export const worldNames = (): string[] =>
  WORLDS.flatMap((world) => world.scenarios.map((scenario) => `${world.kind}/${scenario}`))

/** The worlds that `text` names: `kind/scenario`, a whole `kind`, or a scenario that only one kind has. */
export const expandNames = (text: string): string[] =>
  text.split(',').flatMap((one) => {
    const found = worldNames().filter(
      (name) => name === one || name.startsWith(`${one}/`) || name.endsWith(`/${one}`),
    )
    if (found.length === 0) throw new Error(`no world ${one}; there are ${worldNames().join(', ')}`)
    return found
  })

export const findWorld = (name: string): { world: SourceWorld; scenario: string } => {
  const [kind, scenario = ''] = name.split('/')
  const world = WORLDS.find((one) => one.kind === kind)
  if (world === undefined || !world.scenarios.includes(scenario))
    throw new Error(`no world ${name}`)
  return { world, scenario }
}

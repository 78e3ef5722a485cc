import type { Command } from './command.ts'

/** Every command by its name, in the order of the overview. Loaded when asked for: `version` should not wait for SQLite. */
export const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['demo', async () => (await import('./play.ts')).playDemo],
  ['serve', async () => (await import('./serve.ts')).serve],
  ['check-config', async () => (await import('./check-config.ts')).checkConfig],
  ['customer create', async () => (await import('./customer.ts')).customerCreate],
  ['customer list', async () => (await import('./customer.ts')).customerList],
  ['customer show', async () => (await import('./customer.ts')).customerShow],
  ['customer set-plan', async () => (await import('./customer.ts')).customerSetPlan],
  ['customer remove', async () => (await import('./customer.ts')).customerRemove],
  ['key create', async () => (await import('./key-create.ts')).keyCreate],
  ['key import', async () => (await import('./key-create.ts')).keyImport],
  ['key list', async () => (await import('./key.ts')).keyList],
  ['key revoke', async () => (await import('./key.ts')).keyRevoke],
  ['credit add', async () => (await import('./credit.ts')).creditAdd],
  ['sandbox', async () => (await import('./play.ts')).playSandbox],
  ['openapi', async () => (await import('./openapi.ts')).openapi],
  ['version', async () => (await import('./version.ts')).showVersion],
])

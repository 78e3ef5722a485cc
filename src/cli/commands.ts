import type { Command } from './command.ts'

/** Every command by its name, in the order of the overview. Loaded when asked for: `version` should not wait for SQLite. */
export const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['demo', async () => (await import('./play.ts')).playDemo],
  ['serve', async () => (await import('./serve.ts')).serve],
  ['check-config', async () => (await import('./check-config.ts')).checkConfig],
  ['doctor', async () => (await import('./doctor.ts')).doctor],
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
  ['account add', async () => (await import('./account-add.ts')).accountAdd],
  ['account list', async () => (await import('./account.ts')).accountList],
  ['account test', async () => (await import('./account-test.ts')).accountTest],
  ['account login', async () => (await import('./account-add.ts')).accountLogin],
  ['account pause', async () => (await import('./account.ts')).accountPause],
  ['account resume', async () => (await import('./account.ts')).accountResume],
  ['account remove', async () => (await import('./account.ts')).accountRemove],
  ['proxy add', async () => (await import('./proxy.ts')).proxyAdd],
  ['proxy list', async () => (await import('./proxy.ts')).proxyList],
  ['proxy test', async () => (await import('./proxy.ts')).proxyTest],
  ['proxy remove', async () => (await import('./proxy.ts')).proxyRemove],
  ['deliveries list', async () => (await import('./deliveries.ts')).deliveriesList],
  ['deliveries redrive', async () => (await import('./deliveries.ts')).deliveriesRedrive],
  ['feedback list', async () => (await import('./feedback.ts')).feedbackList],
  ['feedback answer', async () => (await import('./feedback.ts')).feedbackAnswer],
  ['purge', async () => (await import('./purge.ts')).purgeContent],
  ['backup', async () => (await import('./backup.ts')).backup],
  ['restore', async () => (await import('./restore.ts')).restore],
  ['export', async () => (await import('./export.ts')).exportCode],
  ['apply', async () => (await import('./apply.ts')).apply],
  ['sandbox', async () => (await import('./play.ts')).playSandbox],
  ['service-unit', async () => (await import('./service-unit.ts')).showServiceUnit],
  ['completion', async () => (await import('./completion.ts')).completion],
  ['man', async () => (await import('./man.ts')).man],
  ['openapi', async () => (await import('./openapi.ts')).openapi],
  ['version', async () => (await import('./version.ts')).showVersion],
])

/** All of them, in the order of the overview. */
export const loadAll = (): Promise<Command[]> =>
  Promise.all([...COMMANDS.values()].map((load) => load()))

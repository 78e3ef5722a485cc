import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

import type { Revived } from '../../store/customers/revocations.ts'
import type { LostSecrets } from '../../store/maintenance/restore.ts'
import { command, type CommandContext, CommandRefusal, EXIT, JSON_OPTION } from '../command.ts'
import { onlyRootLeads, openConfig, withInstance } from '../configuration.ts'
import { openBar, withBar } from '../progress.ts'

const MIB = 2 ** 20

/**
 * True when the file is an earlier backup of the same instance, which the new one replaces.
 * @throws {CommandRefusal} Another file has the name: a typing error must not overwrite the database.
 */
async function replaces(file: string, instance_id: string, database: string): Promise<boolean> {
  if (!existsSync(dirname(file))) throw new CommandRefusal(`there is no folder ${dirname(file)}`)
  if (!existsSync(file)) return false
  const { readInstanceId } = await import('../../store/maintenance/restore.ts')
  const is_database = realpathSync(file) === realpathSync(database)
  if (!is_database && readInstanceId(file) === instance_id) return true
  throw new CommandRefusal(
    is_database
      ? `${file} is the database itself: name another file`
      : `${file} exists and is not a backup of this database: name another file`,
  )
}

export const backup = command({
  name: 'backup',
  summary: 'copies the database to a file, daemon running or not',
  operands: ['FILE'],
  options: { json: JSON_OPTION },
  examples: ['forumd backup /mnt/backups/forumd-2027-01-31.sqlite'],
  notes:
    'The copy is consistent and compact, and every page is checked. An earlier backup of the same database with this name is replaced after the new one was checked. The key file is not included: keep a copy of it apart, because encrypted values cannot be read without it. Run as root, it writes FILE as the user that owns the data folder. forumd restore restores a backup.',
  async run({ values, operands: [name = ''], ...context }) {
    const file = resolve(name)
    const { storage } = openConfig(context)
    const { copyDatabase } = await import('../../store/maintenance/snapshots.ts')
    const { pathsOf } = await import('../../store/maintenance/paths.ts')
    const { instance_id, paths, config } = await withInstance(context, (it) => ({
      instance_id: it.instance_id,
      paths: pathsOf(storage),
      config: it.config,
    }))
    const replace = await replaces(file, instance_id, paths.db)
    const { clock } = await context.factories.createRuntime(config.log, context.stdout)
    const whole = statSync(paths.db).size
    await withBar(
      context,
      {
        what: 'copying and checking the database',
        // The copy is compact, so it is smaller than the database: the rest is for its check.
        sample: () =>
          Math.min(0.99, (statSync(`${file}.part`, { throwIfNoEntry: false })?.size ?? 0) / whole),
        sleep: clock.sleep,
      },
      copyDatabase(paths.db, file, { instance_id, replace }),
    )
    const { recordBackup } = await import('../../store/maintenance/metric-queries.ts')
    await withInstance(context, ({ db, now }) => recordBackup(db, now)).catch(() =>
      context.warn('the backup is written, but its time could not be noted in the database'),
    )
    const bytes = statSync(file).size
    const key_file = resolve(paths.key)
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ file, bytes, instance_id, key_file })}\n`
        : `${file} holds a checked copy of the database, ${(bytes / MIB).toFixed(1)} MiB.\n` +
            `The key file ${key_file} is not in it: keep a copy of it apart, because encrypted values cannot be read without it.\n`,
    )
    return EXIT.done
  },
})

export const restore = command({
  name: 'restore',
  summary: 'restores a backup; the daemon must be stopped',
  operands: ['FILE'],
  options: {
    'without-secrets': {
      type: 'boolean',
      help: 'for a lost key file: restore everything except encrypted values, list these, and invalidate links in feeds and mail',
    },
    'revoke-again': {
      type: 'boolean',
      help: 'revoke keys again that were revoked after the backup, and reapply newer webhook secrets and deletions',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd restore /mnt/backups/forumd-2027-01-31.sqlite',
    'forumd restore data/snapshots/forumd-20270131T120000Z.sqlite',
  ],
  notes:
    'The backup is checked first: its key file and every page. The current database is moved aside, not removed. Items matched since the backup are delivered again with the same ids. Keys revoked since then work again, and webhooks sign with earlier secrets: these are listed by comparison with the replaced database, and on a terminal restore offers to revoke them again.',
  async run({ values, operands: [name = ''], ...context }) {
    const file = resolve(name)
    const { openBackup, restoreInstance } = await import('../../store/maintenance/restore.ts')
    const { pathsOf } = await import('../../store/maintenance/paths.ts')
    const open = () => {
      if (!statSync(file, { throwIfNoEntry: false })?.isFile())
        throw new CommandRefusal(`there is no file ${file}`)
      return openBackup(file)
    }
    // Root must not read a path that another user can redirect to any file.
    const opened = onlyRootLeads(file) ? open() : null
    const { config, storage } = openConfig(context)
    using backup_file = opened ?? open()
    const { clock, random } = await context.factories.createRuntime(config.log, context.stdout)
    using bar = openBar(context.screen)
    bar.update('checking and copying the backup', null)
    const restored = restoreInstance(backup_file, pathsOf(storage), {
      clock,
      random,
      without_secrets: values['without-secrets'],
    })
    bar[Symbol.dispose]()
    const { moved_to, lost, unrecorded } = restored
    if (!values.json)
      context.stdout.write(
        [
          `${file} is restored and checked.`,
          ...(moved_to === null ? [] : [`The replaced database is now ${moved_to}.`]),
          ...toEnter(lost),
          ...(unrecorded === null
            ? []
            : [
                `${config.storage.instance_file} does not name the restored instance (${unrecorded}): remove it if it names another one.`,
              ]),
          '',
        ].join('\n'),
      )
    const revived = moved_to === null ? null : await handleRevived({ ...context, values }, moved_to)
    if (values.json) context.stdout.write(`${JSON.stringify({ file, ...restored, revived })}\n`)
    return EXIT.done
  },
})

type RestoreCall = CommandContext & {
  values: { config: string | undefined; json: boolean; 'revoke-again': boolean }
}

/** Lists the keys and webhooks that the restore has revived, and revokes them on request. Null when the replaced database is unreadable. */
async function handleRevived(
  { values, ...context }: RestoreCall,
  replaced: string,
): Promise<(Revived & { revoked_again: boolean }) | null> {
  const { findRevived, revokeAgain } = await import('../../store/customers/revocations.ts')
  const say = (lines: string[]) => {
    if (!values.json) context.stdout.write(lines.map((line) => `${line}\n`).join(''))
  }
  const revived = await withInstance(context, ({ db, ring }) => findRevived(db, ring, replaced))
  if (revived === null) {
    context.warn(
      `${replaced} cannot be read, so that keys and webhook secrets revoked or rotated after the backup are unknown: check forumd key list`,
    )
    return null
  }
  if (revived.keys.length + revived.webhooks.length === 0)
    return { ...revived, revoked_again: false }
  say(revivedLines(revived))
  const revoked_again = values['revoke-again'] || (await confirms(context))
  if (revoked_again)
    await withInstance(context, ({ db, ring, now }) => revokeAgain(db, ring, replaced, now))
  say(
    revoked_again
      ? ['They are revoked again.']
      : revived.keys.map(({ id }) => `To revoke it again: forumd key revoke ${id}`),
  )
  return { ...revived, revoked_again }
}

async function confirms({ stdinIsTerminal, promptSecret }: CommandContext): Promise<boolean> {
  if (!stdinIsTerminal || promptSecret === undefined) return false
  return /^y(es)?$/i.test((await promptSecret('Revoke them again? (yes or no) ')).trim())
}

const CHANGES = {
  secret_rotated: 'its secret was rotated, and it signs with the earlier one',
  deleted: 'it was deleted, and is active again',
}

const revivedLines = ({ keys, webhooks }: Revived): string[] => [
  'The restore has undone these changes made after the backup:',
  ...keys.map(
    ({ id, prefix, customer, revoked_at }) =>
      `  key ${id} (${prefix}…) of ${customer ?? 'an operator'}, revoked ${new Date(revoked_at).toISOString()}`,
  ),
  ...webhooks.map(
    ({ id, customer, change }) => `  webhook ${id} of ${customer}: ${CHANGES[change]}`,
  ),
]

/** Links that were signed with the lost key. */
const ENDED = [
  'Feed links of the old key are no longer valid: feed_url of each monitor is the new one.',
  'Links in earlier mails are no longer valid: the next mail has a new link to unsubscribe, and a test of the target sends a new confirmation.',
]

/** One instruction for each secret that the restore could not open. */
function toEnter({ webhooks, credentials, accounts, proxies, links }: LostSecrets): string[] {
  return [
    ...proxies.map((name) => `Enter again: forumd proxy add ${name}`),
    ...accounts.map((name) => `Enter again: forumd account add ${name}`),
    ...webhooks.map((id) => `Disabled until its customer rotates its secret and enables it: ${id}`),
    ...credentials.map((id) => `Disabled until its customer sets its token and enables it: ${id}`),
    ...(links ? ENDED : []),
  ]
}

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

import type { LostSecrets } from '../store/restore.ts'
import { command, EXIT, JSON_OPTION, Refusal } from './command.ts'
import { readConfig } from './config-file.ts'
import { openBar } from './progress.ts'

export const restore = command({
  name: 'restore',
  summary: 'puts a backup in the place of the database; the daemon must be stopped',
  operands: ['FILE'],
  options: {
    'without-secrets': {
      type: 'boolean',
      help: 'when the key file is lost: restores all but what was sealed, lists it, and ends the links of feeds and mail',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd restore /mnt/backups/forumd-2027-01-31.sqlite',
    'forumd restore data/snapshots/forumd-20270131T120000Z.sqlite',
  ],
  notes:
    'The backup is checked first: that the key file is its own, and every page. The database that was there is moved aside, not removed. What was matched since the backup was made comes again, under the same ids.',
  async run({ values, operands: [name = ''], ...around }) {
    const file = resolve(name)
    if (!existsSync(file) || !statSync(file).isFile()) throw new Refusal(`there is no file ${file}`)
    const { config } = readConfig(values.config, { env: around.env })
    const { restoreInstance } = await import('../store/restore.ts')
    const { pathsOf } = await import('../store/place.ts')
    const { clock, random } = await around.parts.createOutside(config.log, around.stdout)
    using bar = openBar(around.screen)
    bar.show('checking and copying the backup', null)
    const restored = restoreInstance(file, pathsOf(config.storage), {
      clock,
      random,
      without_secrets: values['without-secrets'],
    })
    bar[Symbol.dispose]()
    const { moved_to, lost } = restored
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ file, ...restored })}\n`
        : [
            `${file} is restored and checked.`,
            ...(moved_to === null ? [] : [`The database that was there is ${moved_to} now.`]),
            ...toEnter(lost),
            '',
          ].join('\n'),
    )
    return EXIT.done
  },
})

/** What was proved with the key that is lost. */
const ENDED = [
  'Feed links end, which were made with the old key: each monitor tells its new one as feed_url.',
  'Links in mail that was sent end as well: the next mail holds a new one to unsubscribe, a test of the target asks to confirm again.',
]

/** What to do about each secret that did not come along. */
function toEnter({ webhooks, accounts, proxies, links }: LostSecrets): string[] {
  return [
    ...proxies.map((name) => `Enter again: forumd proxy add ${name}`),
    ...accounts.map((name) => `Enter again: forumd account add ${name}`),
    ...webhooks.map(
      (id) => `Switched off until its customer has rotated its secret and switches it on: ${id}`,
    ),
    ...(links ? ENDED : []),
  ]
}

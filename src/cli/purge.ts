import { parseItemId, type Purged } from '../core/purge.ts'
import { createWords } from '../core/wire.ts'
import { findPostsBy, purge } from '../store/purge.ts'
import { command, EXIT, JSON_OPTION, UsageError } from './command.ts'
import { withInstance } from './instance.ts'
import { openBar } from './progress.ts'

export const purgeContent = command({
  name: 'purge',
  summary: 'blanks what somebody wrote, or one item, wherever it is kept',
  options: {
    author: { type: 'string', value: 'NAME', help: 'everything by this person on the platform' },
    item: { type: 'string', value: 'ID', help: 'one post or comment, such as t3_abc123' },
    json: JSON_OPTION,
  },
  examples: ['forumd purge --author somebody', 'forumd purge --item t1_abc123'],
  notes:
    'Deliveries, matches and what waits to be delivered lose the content and keep their ids; what receivers answered to it goes too. The audit keeps that it was done, not whose it was. Snapshots and backups from before still hold it, and so may free space within the database file until it is written over; a backup made afterwards holds nothing of it. What the platform still shows comes again when a monitor matches it.',
  async run({ values, ...around }) {
    const wanted = whatOf(values)
    using bar = openBar(around.screen)
    const counts = await withInstance(values.config, around, ({ db, ring, config, now }) =>
      purge(db, {
        purged: wanted.by === 'item' ? wanted : { ...wanted, posts: findPostsBy(db, wanted.name) },
        community: createWords(config.wire).community,
        looked: (share) => bar.show('looking through what is kept', share),
        ring,
        now,
      }),
    )
    bar[Symbol.dispose]()
    const { deliveries, matches, waiting, candidates } = counts
    around.stdout.write(
      values.json
        ? `${JSON.stringify(counts)}\n`
        : `${deliveries} deliveries and ${matches} matches are blanked, and ${waiting + candidates} that waited.\n` +
            `Snapshots and backups from before still hold it: remove those that must not.\n`,
    )
    return EXIT.done
  },
})

type Wanted = Extract<Purged, { by: 'item' }> | { by: 'author'; name: string }

function whatOf({
  author,
  item,
}: {
  author: string | undefined
  item: string | undefined
}): Wanted {
  if ((author === undefined) === (item === undefined))
    throw new UsageError('--author NAME or --item ID is needed, and only one of them')
  if (author !== undefined) {
    const name = author.replace(/^\/?u\//i, '').toLowerCase()
    if (/^[\w-]{1,64}$/.test(name)) return { by: 'author', name }
    throw new UsageError(`--author is "${author}": allowed is a name of letters, digits, _ and -`)
  }
  const purged = parseItemId(item ?? '')
  if (purged !== null) return purged
  throw new UsageError(
    `--item is "${item}": allowed is the id of a post or comment, such as t3_abc123`,
  )
}

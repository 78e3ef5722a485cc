import { createNaming } from '../../core/forum/naming.ts'
import { parseItemId, type Purged } from '../../core/forum/purge.ts'
import { findPostsBy, purge } from '../../store/maintenance/retention.ts'
import { command, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { openBar } from '../progress.ts'

export const purgeContent = command({
  name: 'purge',
  summary: 'erases stored content of one author or one item',
  options: {
    author: { type: 'string', value: 'NAME', help: 'author on the platform, without a prefix' },
    item: { type: 'string', value: 'ID', help: 'id of one post or comment, such as t3_abc123' },
    json: JSON_OPTION,
  },
  examples: ['forumd purge --author example_user', 'forumd purge --item t1_abc123'],
  notes:
    'Deliveries, matches and pending items lose the content and keep their ids; the stored responses of receivers are erased too. The audit records the purge without the name of the author. Earlier snapshots and backups still hold the content, and free space of the database file may hold it until it is overwritten; a later backup does not. Content that the platform still shows is stored again when a monitor matches it.',
  async run({ values, ...context }) {
    const wanted = whatOf(values)
    using bar = openBar(context.screen)
    const counts = await withInstance(context, ({ db, ring, config, now }) =>
      purge(db, {
        purged: wanted.by === 'item' ? wanted : { ...wanted, posts: findPostsBy(db, wanted.name) },
        community: createNaming(config.wire).community,
        on_progress: (share) => bar.update('searching stored content', share),
        ring,
        now,
      }),
    )
    bar[Symbol.dispose]()
    const { deliveries, matches, waiting, candidates } = counts
    context.stdout.write(
      values.json
        ? `${JSON.stringify(counts)}\n`
        : `${deliveries} deliveries and ${matches} matches are erased, and ${waiting + candidates} pending items.\n` +
            `Earlier snapshots and backups still hold it: remove them if they must not.\n`,
    )
    return EXIT.done
  },
})

type PurgeTarget = Extract<Purged, { by: 'item' }> | { by: 'author'; name: string }

function whatOf({
  author,
  item,
}: {
  author: string | undefined
  item: string | undefined
}): PurgeTarget {
  if ((author === undefined) === (item === undefined))
    throw new UsageError('--author NAME or --item ID is needed, but not both')
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

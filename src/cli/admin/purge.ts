import { join } from 'node:path'

import { sourceWords } from '../../config/schema.ts'
import { normalise } from '../../core/base/form.ts'
import { ofItemKey } from '../../core/forum/items.ts'
import { createNaming, sourceOfName } from '../../core/forum/naming.ts'
import { parseItemId, type Purged } from '../../core/forum/purge.ts'
import { eraseArchive } from '../../store/archive/erase.ts'
import { ARCHIVE_FILE } from '../../store/archive/file.ts'
import { runNow } from '../../store/db/chunked.ts'
import { catchUp } from '../../store/delivery/projections.ts'
import { scrub } from '../../store/erasure/scrub.ts'
import { findPostsBy, keptOf, purge, type PurgeCounts } from '../../store/maintenance/retention.ts'
import { command, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { openBar } from '../progress.ts'

/** Attempts to overwrite the files while a daemon reads or writes them. */
const ATTEMPTS = 20
const ATTEMPT_EVERY_MS = 100
/** Names of accounts differ by platform: with letters of any script, with dots, with the host of another server. */
const AUTHOR = /^[^\s\p{C}"\\]{1,255}$/u

export const purgeContent = command({
  name: 'purge',
  summary: 'erases stored content of one author or one item',
  options: {
    author: { type: 'string', value: 'NAME', help: 'author on the platform, without a prefix' },
    item: { type: 'string', value: 'ID', help: 'id of one post or comment, such as t3_abc123' },
    source: {
      type: 'string',
      value: 'NAME',
      help: 'the source of the author or item; without it any, and an id of several is refused',
    },
    json: JSON_OPTION,
  },
  examples: ['forumd purge --author example_user', 'forumd purge --item t1_abc123'],
  notes:
    'Deliveries and matches lose the content and keep their ids; what waits to be sent leaves its delivery. The stored responses of receivers are erased too. The table audit of the database records the purge without the name of the author. Targets that ask for item.deleted receive it. The archive loses the items too. Unused parts of both files are overwritten at once; if another process is reading them, the daemon repeats it within the hour. Snapshots lose the items in the next night; earlier backups still hold them. Drafts are texts of their customers, and keep what they quote. Content that its source still shows is stored again when another monitor matches it: exclude the author there first.',
  async run({ values, ...context }) {
    const asked = whatOf(values)
    using bar = openBar(context.screen)
    const { counts, settings } = await withInstance(context, ({ db, ring, config, now }) => {
      const words = createNaming(config.wire, sourceWords(config))
      const { source } = asked
      const wanted = { ...asked, source: source === null ? null : sourceOfName(words, source) }
      catchUp({ db, words, clock_offset_ms: () => 0 })
      if (wanted.by === 'item') refuseSeveral(keptOf(db, wanted))
      const erased = purge(db, {
        purged: wanted.by === 'item' ? wanted : { ...wanted, posts: findPostsBy(db, wanted) },
        words,
        on_progress: (share) => bar.update('searching stored content', share),
        ring,
        now,
      })
      return { counts: erased, settings: config }
    })
    bar.update('overwriting unused parts of the files', null)
    const { clock } = await context.factories.createRuntime(settings.log, context.stdout)
    let overwritten = false
    for (let attempt = 0; attempt < ATTEMPTS && !overwritten; attempt += 1) {
      if (attempt > 0) await clock.sleep(ATTEMPT_EVERY_MS)
      overwritten = await withInstance(context, ({ db }) => {
        const is_archive_done = eraseArchive(db, join(settings.storage.dir, ARCHIVE_FILE))
        return runNow(scrub(db)) && is_archive_done
      })
    }
    bar[Symbol.dispose]()
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ ...counts, overwritten })}\n`
        : describe(counts, overwritten),
    )
    return EXIT.done
  },
})

const describe = ({ messages, waiting, candidates }: PurgeCounts, overwritten: boolean): string =>
  `${messages} matches are erased, and ${waiting + candidates} pending items.\n` +
  (overwritten
    ? ''
    : 'Another process reads the files: their unused parts are overwritten by the daemon, within the hour.\n') +
  'The daemon erases it from snapshots in the next night. Earlier backups still hold it: remove them if they must not.\n'

/** Ids are unique within a source: one that names stored items of several would erase the others, too. */
function refuseSeveral(keys: readonly string[]): void {
  const sources = new Set(keys.map((key) => ofItemKey(key).source))
  if (sources.size > 1)
    throw new UsageError(`--item is of ${keys.toSorted().join(' and ')}: name one with --source`)
}

type PurgeTarget =
  Extract<Purged, { by: 'item' }> | { by: 'author'; name: string; source: string | null }

function whatOf({
  author,
  item,
  source = null,
}: {
  author: string | undefined
  item: string | undefined
  source?: string | null | undefined
}): PurgeTarget {
  if ((author === undefined) === (item === undefined))
    throw new UsageError('--author NAME or --item ID is needed, but not both')
  if (author !== undefined) {
    const name = normalise(author.replace(/^\/?u\//i, ''))
    if (AUTHOR.test(name)) return { by: 'author', name, source }
    throw new UsageError(
      `--author is "${author}": allowed is a name of up to 255 characters without spaces, such as ann or ann@forum.example`,
    )
  }
  const purged = parseItemId(item ?? '')
  if (purged !== null) return { ...purged, source }
  throw new UsageError(
    `--item is "${item}": allowed is the id of a post or comment, such as t3_abc123`,
  )
}

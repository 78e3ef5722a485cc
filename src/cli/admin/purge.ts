import { join } from 'node:path'

import { ofItemKey } from '../../core/forum/items.ts'
import { createNaming } from '../../core/forum/naming.ts'
import { parseItemId, type Purged } from '../../core/forum/purge.ts'
import { eraseArchive } from '../../store/archive/erase.ts'
import { ARCHIVE_FILE } from '../../store/archive/file.ts'
import {
  SEARCHED_MAX,
  SEARCHED_MIN,
  type SearchedFile,
  searchFolder,
} from '../../store/erasure/prove.ts'
import {
  findPostsBy,
  findTextsOf,
  keptOf,
  purge,
  type PurgeCounts,
} from '../../store/maintenance/retention.ts'
import { command, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { withInstance } from '../configuration.ts'
import { openBar } from '../progress.ts'

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
    text: { type: 'string', value: 'STRING', help: 'with --prove: a text to search for' },
    prove: {
      type: 'boolean',
      help: 'searches every file of the data folder for what was erased, and for --text',
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd purge --author example_user',
    'forumd purge --item t1_abc123 --prove',
    "forumd purge --text 'some words' --prove",
  ],
  notes:
    'Deliveries and matches lose the content and keep their ids; what waits to be sent leaves its delivery. The stored responses of receivers and quoted lines in drafts are erased too. The audit records the purge without the name of the author. Targets that ask for item.deleted receive it. The archive loses the items too. Unused parts of both files are overwritten. Earlier snapshots and backups still hold the content; a later backup does not. Content that the platform still shows is stored again when a monitor matches it. --prove searches the raw bytes of every file of the data folder, and all values of the database and its snapshots, decompressed and decrypted: for the texts of the item, the name of the author, or --text. It ends with 1 if a file has any of them, and names it, and also if no text of the item is known. --text with --prove alone erases nothing.',
  async run({ values, ...context }) {
    const { text, prove, ...which } = values
    const sought = textOf(text, prove)
    const is_search = sought !== null && which.author === undefined && which.item === undefined
    const wanted = is_search ? null : whatOf(which)
    using bar = openBar(context.screen)
    const { counts, searched, sought_texts } = await withInstance(
      context,
      ({ db, ring, config, now }) => {
        const on_progress = (share: number) => bar.update('searching stored content', share)
        const texts = sought === null ? [] : [sought]
        if (wanted?.by === 'item') refuseSeveral(keptOf(db, wanted))
        if (prove && wanted?.by === 'item') texts.push(...findTextsOf(db, wanted))
        if (prove && wanted?.by === 'author') texts.push(wanted.name)
        const done =
          wanted &&
          purge(db, {
            purged: wanted.by === 'item' ? wanted : { ...wanted, posts: findPostsBy(db, wanted) },
            community: createNaming(config.wire).community,
            on_progress,
            ring,
            now,
          })
        if (done !== null) eraseArchive(db, join(config.storage.dir, ARCHIVE_FILE))
        if (!prove) return { counts: done, searched: null, sought_texts: 0 }
        bar.update('searching the files of the data folder', null)
        const found = searchFolder(config.storage.dir, ring, texts)
        return { counts: done, searched: found, sought_texts: texts.length }
      },
    )
    bar[Symbol.dispose]()
    const hits = searched?.filter(({ found }) => found.length > 0) ?? []
    const is_unproven = searched !== null && sought_texts === 0
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ ...counts, ...(searched && { searched, sought_texts }) })}\n`
        : (counts === null ? '' : describeCounts(counts)) +
            (is_unproven ? NOTHING_SOUGHT : searched === null ? '' : describeSearch(searched)),
    )
    return hits.length > 0 || is_unproven ? EXIT.failed : EXIT.done
  },
})

const describeCounts = ({ deliveries, matches, waiting, candidates }: PurgeCounts): string =>
  `${deliveries} deliveries and ${matches} matches are erased, and ${waiting + candidates} pending items.\n` +
  `Earlier snapshots and backups still hold it: remove them if they must not.\n`

/** An item whose texts are unknown proves nothing: an earlier purge has erased them, or they are too short. */
const NOTHING_SOUGHT =
  'Nothing was searched for: no text of this item is stored that is long enough. Search for one with --text STRING --prove.\n'

function describeSearch(searched: readonly SearchedFile[]): string {
  const bytes = searched.reduce((sum, it) => sum + it.bytes, 0)
  const hits = searched.filter(({ found }) => found.length > 0)
  const total = `${searched.length} files with ${bytes} bytes were searched`
  if (hits.length === 0) return `${total}: none has it.\n`
  return `${hits.map(({ file, found }) => `${file}: ${found.join(', ')}\n`).join('')}${total}: ${hits.length} have it.\n`
}

/** Ids are unique within a source: one that names stored items of several would erase the others, too. */
function refuseSeveral(keys: readonly string[]): void {
  const sources = new Set(keys.map((key) => ofItemKey(key).source))
  if (sources.size > 1)
    throw new UsageError(`--item is of ${keys.toSorted().join(' and ')}: name one with --source`)
}

/** The text to search for; null: none. */
function textOf(text: string | undefined, prove: boolean): string | null {
  if (text === undefined) return null
  if (!prove) throw new UsageError('--text needs --prove')
  if (text.length >= SEARCHED_MIN && text.length <= SEARCHED_MAX) return text
  throw new UsageError(
    `--text has ${text.length} characters: allowed are ${SEARCHED_MIN} to ${SEARCHED_MAX}`,
  )
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
    const name = author.replace(/^\/?u\//i, '').toLowerCase()
    if (/^[\w-]{1,64}$/.test(name)) return { by: 'author', name, source }
    throw new UsageError(`--author is "${author}": allowed is a name of letters, digits, _ and -`)
  }
  const purged = parseItemId(item ?? '')
  if (purged !== null) return { ...purged, source }
  throw new UsageError(
    `--item is "${item}": allowed is the id of a post or comment, such as t3_abc123`,
  )
}

// A process that queues items and copies them into its archive until it is killed. Arguments: the data folder, and the
// number of the first item. It prints a line once it works.
import { join } from 'node:path'

import { createArchive } from '../../src/archive/archive.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { monitorScope, queueItems } from '../../src/store/archive/queue.ts'
import { openDb, transact } from '../../src/store/db/connection.ts'
import { keepItems } from '../../src/store/erasure/kept-items.ts'
import { postOf } from './items.ts'

const [dir = '', from = '0', count = 'Infinity'] = process.argv.slice(2)
const db = openDb(join(dir, 'forumd.sqlite'), { create: true })
const archive = createArchive({
  db,
  dir,
  clock: realClock,
  log: () => {},
  words: { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' },
  settings: { keep: 'matches', days: 36_500, max_size_mb: 1000 },
  clock_offset_ms: () => 0,
  signal: new AbortController().signal,
})
const archiving = { keep: 'matches' as const, on_queued: () => {} }

/** A post with a word of its own. Every third one was edited, and comes again. */
const itemOf = (n: number, version: number) =>
  postOf({
    id: `x${n}`,
    name: `t3_x${n}`,
    title: `word${n} of a title`,
    text: `version ${version}`,
    created_utc: 1_767_225_600 + n * 60,
  })

for (let n = Number(from); n < Number(from) + Number(count); n += 5) {
  transact(db, () => {
    for (let i = n; i < n + 5; i++) {
      keepItems(db, [itemOf(i, 1)], 1000)
      queueItems(db, archiving, [{ item: itemOf(i, 1), scopes: [monitorScope('one')] }], 1000)
      if (i % 3 === 0)
        queueItems(db, archiving, [{ item: itemOf(i, 2), scopes: [monitorScope('two')] }], 2000)
    }
  })
  await archive.turn()
  process.stdout.write(`${n}\n`)
}
await archive.stop()
db.close()

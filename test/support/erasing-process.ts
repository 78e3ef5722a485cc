// Erases in the snapshots of a data folder and scrubs its database again and again, until it is killed.
import { join } from 'node:path'

import { runNow } from '../../src/store/db/chunked.ts'
import { connect } from '../../src/store/db/connection.ts'
import { requestScrub, scrub } from '../../src/store/erasure/scrub.ts'
import { eraseInSnapshots } from '../../src/store/erasure/snapshots.ts'

const [dir = ''] = process.argv.slice(2)
const db = connect(join(dir, 'forumd.sqlite'))
const deps = {
  db,
  instance_id: 'instance',
  words: { community: 'subforum', home: 'forum' },
  clock_offset_ms: () => 0,
}
const { signal } = new AbortController()
process.stdout.write('erasing\n')
for (;;) {
  const erasing = eraseInSnapshots(deps, join(dir, 'snapshots'), { now: 0, signal })
  runNow(scrub(db))
  requestScrub(db)
  await erasing
}

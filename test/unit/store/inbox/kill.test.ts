// Goal: a kill −9 at any moment leaves every change of the inbox whole or undone, with its history. Method: a process changes
// all items again and again, is killed at random moments, and the file is read.
import { expect, test } from 'bun:test'
import { join } from 'node:path'

import type { InboxState } from '../../../../src/core/inbox/filter.ts'
import { NO_FILTER } from '../../../../src/core/inbox/filter.ts'
import { openDb } from '../../../../src/store/db/connection.ts'
import { changeInbox, undoInbox } from '../../../../src/store/inbox/actions.ts'
import { tempFolder } from '../../../support/folder.ts'
import { createInboxStore } from '../../../support/inbox-fixture.ts'
import { postOf } from '../../../support/items.ts'

const FILE = 'FORUMD_KILLED_INBOX'
const ITEMS = 400
const KILLS = 6

const actor = (id: string) => ({ customer_id: 'ann', key_id: 'key_ann1', id, now: Date.now() })

/** Changes all items to read and undoes it, until the process is killed. */
function changeForever(path: string): never {
  const db = openDb(path)
  for (let n = 0; ; n++) {
    const id = `act_${process.pid}_${n}`
    changeInbox(db, actor(id), { filter: NO_FILTER, after: null }, { state: 'read', label: id })
    if (n === 0) console.log('changing')
    if (n % 2 === 1) undoInbox(db, actor(`${id}_undo`), id)
  }
}

type Row = { state: InboxState; label: string | null; action: number | null; n: number }

const path = process.env[FILE]
if (path !== undefined) changeForever(path)

test('a change is whole or did not happen, wherever the process was killed', async () => {
  using folder = tempFolder()
  const file = join(folder.path, 'forumd.sqlite')
  {
    using store = createInboxStore(file)
    const items = Array.from({ length: ITEMS }, (_, n) =>
      postOf({ id: `k${n}`, name: `t3_k${n}`, title: `a kitten ${n}` }),
    )
    for (let n = 0; n < ITEMS; n += 20) store.match(items.slice(n, n + 20))
  }
  let changes = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const child = Bun.spawn([process.execPath, import.meta.path], {
      env: { ...process.env, [FILE]: file },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    for await (const chunk of child.stdout) if (chunk.length > 0) break
    await Bun.sleep(20 + kill * 17)
    child.kill('SIGKILL')
    await child.exited

    const db = openDb(file)
    const rows = db
      .query<Row, []>(
        'SELECT state, label, action, count(*) AS n FROM inbox_items GROUP BY state, label, action',
      )
      .all()
    const last = db
      .query<{ seq: number; items: number; previous: string }, []>(
        'SELECT seq, items, previous FROM inbox_actions ORDER BY seq DESC LIMIT 1',
      )
      .get()
    // One state of all items, set by the newest action, which knows all of them as they were.
    expect(rows.map(({ n, action }) => [n, action])).toEqual([[ITEMS, last?.seq ?? null]])
    expect(last?.items).toBe(ITEMS)
    const groups: [string, number, string | null, string[]][] = JSON.parse(last?.previous ?? '[]')
    expect(groups.flatMap(([, , , ids]) => ids).length).toBe(ITEMS)
    expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(last?.seq ?? 0).toBeGreaterThan(changes)
    changes = last?.seq ?? 0
    db.close()
  }
})

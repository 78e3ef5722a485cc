import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseFilterSpec } from '../../src/core/filter/parse.ts'
import { indexOf, itemCount, listSpans, openArchive } from '../../src/store/archive/file.ts'
import { countQueued } from '../../src/store/archive/queue.ts'
import { openDb } from '../../src/store/db/connection.ts'
import { searchAll, words } from '../support/archive.ts'

// A writer queues and copies, and is killed with SIGKILL at a random moment, again and again.
const KILLS = Number(process.env.FORUMD_KILLS ?? 12)
const WRITER = Bun.fileURLToPath(import.meta.resolve('../support/archive-writer.ts'))

async function writeUntilKilled(dir: string, from: number, ms: number): Promise<number> {
  const child = Bun.spawn([process.execPath, WRITER, dir, String(from)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let last = from
  const reader = child.stdout.getReader()
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    const lines = new TextDecoder().decode(value).trim().split('\n')
    last = Math.max(last, Number(lines.at(-1) ?? 0))
    return !done
  }
  // The moment counts from when it works, not from the start of the process.
  await read()
  const timer = setTimeout(() => child.kill('SIGKILL'), ms)
  while (await read());
  clearTimeout(timer)
  await child.exited
  // The items after the last line may be queued, and are not queued again: that would hide their loss.
  return last + 10
}

test('nothing that was queued is lost or doubled by kills', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-archive-'))
  try {
    let next = 0
    for (let kill = 0; kill < KILLS; kill++)
      next = await writeUntilKilled(dir, next, Math.floor(Math.random() * 120))
    const last = Bun.spawn([process.execPath, WRITER, dir, String(next), '5'], { stdout: 'ignore' })
    expect(await last.exited).toBe(0)

    using main = openDb(join(dir, 'forumd.sqlite'))
    using db = openArchive(join(dir, 'archive.sqlite'))
    // Written in the transaction that queued the item.
    const kept = main.query<{ item_id: string }, []>('SELECT item_id FROM kept_items').all()
    const items = db
      .query<{ key: string; row: number }, []>('SELECT key, row FROM items ORDER BY row')
      .all()

    expect(countQueued(main)).toBe(0)
    expect(itemCount(db)).toBe(items.length)
    expect(items.map(({ key }) => key).toSorted()).toEqual(
      kept.map(({ item_id }) => item_id).toSorted(),
    )
    expect(items.length).toBeGreaterThan(KILLS * 5)
    for (const { key } of items) {
      const n = Number(key.slice('t3_x'.length))
      const { rows } = searchAll(db, { spec: parseFilterSpec({ q: `word${n}` }, words) })
      const was_edited = n % 3 === 0

      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({
        name: key,
        text: `version ${was_edited ? 2 : 1}`,
        archived: {
          versions: was_edited ? 1 : 0,
          monitor_ids: was_edited ? ['one', 'two'] : ['one'],
        },
      })
    }
    for (const span of listSpans(db)) {
      const name = indexOf(span)
      expect(() => db.run(`INSERT INTO ${name} (${name}) VALUES ('integrity-check')`)).not.toThrow()
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
}, 120_000)

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ArchiveUnavailable, createArchiveThread } from '../../../src/archive/thread.ts'
import { realClock } from '../../../src/runtime/runtime.ts'
import { openArchive } from '../../../src/store/archive/file.ts'
import { parse } from '../../support/archive-arbitraries.ts'
import { archive } from '../../support/archive.ts'
import { postOf } from '../../support/items.ts'

const WORDS = { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' }
const ALL = { from_at: 0, to_at: 4e12, scopes: null, before: null, limit: 10 }

let dir: string
let path: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forumd-thread-'))
  path = join(dir, 'archive.sqlite')
})
afterEach(() => rmSync(dir, { recursive: true }))

function fill(count: number): void {
  using db = openArchive(path)
  for (let at = 0; at < count; at += 500)
    archive(
      db,
      Array.from({ length: Math.min(500, count - at) }, (_, n) =>
        postOf({
          id: `x${at + n}`,
          name: `t3_x${at + n}`,
          title: `cat ${at + n}`,
          text: 'some words of no interest '.repeat(4),
          created_utc: 1_767_225_600 + at + n,
        }),
      ),
    )
}

const search = (q: string) => ({ ...ALL, spec: parse({ q, subforum: 'cats' }), budget_ms: 300 })

test('a search does not wait for a long trial', async () => {
  fill(8000)
  const thread = createArchiveThread({ path, words: WORDS })
  try {
    const ends: string[] = []
    // Reads every item.
    const spec = parse({ subforum: 'cats', regex: ['qx\\d{3}'] })
    const { before: _, ...part } = ALL
    const trial = thread
      .run('backtest', {
        ...part,
        to_at: 1_767_325_600_000,
        from_at: 1_767_225_600_000,
        spec,
        compare: null,
        budget_ms: 20_000,
      })
      .then(({ scanned }) => {
        ends.push('trial')
        return scanned
      })
    const found = await thread.run('search', search('"cat 77"')).finally(() => ends.push('search'))

    expect(found.rows).toHaveLength(1)
    expect(await trial).toBe(8000)
    expect(ends).toEqual(['search', 'trial'])
  } finally {
    await thread.stop()
  }
}, 60_000)

test('a thread that is idle ends and lets go of its file, and the next work starts another', async () => {
  fill(1)
  let idle = 0
  const clock = {
    ...realClock,
    // Waits for the end of idling are long, those for hanging work are not.
    sleep: (ms: number, signal?: AbortSignal) =>
      realClock.sleep(ms > 60_000 ? (idle++, 20) : ms, signal),
  }
  const thread = createArchiveThread({ path, words: WORDS }, { clock })
  expect((await thread.run('search', search('cat'))).rows).toHaveLength(1)
  await Bun.sleep(300)
  // The last connection to a database removes its log.
  expect(await Bun.file(`${path}-wal`).exists()).toBe(false)
  expect((await thread.run('search', search('cat'))).rows).toHaveLength(1)

  expect(idle).toBeGreaterThan(0)
  await thread.stop()
}, 20_000)

test('an archive that cannot be opened is an error of each call, until it can', async () => {
  mkdirSync(path)
  const thread = createArchiveThread({ path, words: WORDS })
  const first = await thread.run('search', search('cat')).catch((error: unknown) => error)
  rmSync(path, { recursive: true })
  fill(1)

  expect(first).toBeInstanceOf(ArchiveUnavailable)
  expect((await thread.run('search', search('cat'))).rows).toHaveLength(1)
  await thread.stop()
}, 20_000)

test('more work than fits is refused at once', async () => {
  fill(1)
  const thread = createArchiveThread({ path, words: WORDS })
  const all = await Promise.allSettled(
    Array.from({ length: 80 }, () => thread.run('search', search('cat'))),
  )

  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(64)
  await thread.stop()
}, 20_000)

test('a stop fails what waits, and loses nothing', async () => {
  fill(1)
  const thread = createArchiveThread({ path, words: WORDS })
  const waiting = thread.run('search', search('cat')).catch((error: unknown) => error)
  await thread.stop()

  expect(await waiting).toBeInstanceOf(ArchiveUnavailable)
})

// A worker that answers nothing at first, as one that was frozen with its process.
const workerThatAnswersIn = (ms: number) => `import { parentPort } from 'node:worker_threads'
parentPort.on('message', ({ id }) => id && setTimeout(() => parentPort.postMessage({ id, gives: { items: 7 } }), ${ms}))`

test.each([
  ['one wait of any length passes, as after a freeze: the answer still counts', 11, 100, 7],
  [
    'all waits pass: the thread hangs, and its work fails',
    12,
    600_000,
    'the thread does not answer',
  ],
])(
  '%s',
  async (_, passing, answers_in_ms, expected) => {
    const worker_path = join(dir, 'worker.mjs')
    await Bun.write(worker_path, workerThatAnswersIn(answers_in_ms))
    let waits = 0
    const clock = {
      ...realClock,
      sleep: (ms: number, signal?: AbortSignal) =>
        realClock.sleep(ms < 60_000 && waits++ < passing ? 0 : 60_000, signal),
    }
    const thread = createArchiveThread({ path, words: WORDS }, { worker_path, clock })
    const result: unknown = await thread.run('stats', {}).then(
      (stats) => stats.items,
      (error: Error) => error.message,
    )

    expect(result).toBe(expected)
    expect(waits).toBeGreaterThanOrEqual(passing)
  },
  20_000,
)

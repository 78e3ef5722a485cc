/**
 * The archive at growing sizes: `bun run bench:archive`. Copies invented posts into an archive, searches it, tries filters on
 * 30 days, and measures what the copying delays. Beside it, with the same items and words: SQLite FTS5 alone (unicode61,
 * texts stored) and ripgrep over NDJSON. Times are processor time of the thread, those of ripgrep of its processes.
 * `--most N` (items), `--queries N`, `--seed N`, `--dir FOLDER`. Beyond a million items, commits do not wait for the disk, which would
 * take hours, and ripgrep is left out, whose time is that of reading the file.
 */
import { Database } from 'bun:sqlite'
import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createArchive } from '../../../src/archive/archive.ts'
import type { FilterSpec } from '../../../src/core/filter/fields.ts'
import { parseSearchSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { realClock } from '../../../src/runtime/runtime.ts'
import { backtest } from '../../../src/store/archive/backtest.ts'
import { openArchive, usedBytes } from '../../../src/store/archive/file.ts'
import { ingest } from '../../../src/store/archive/ingest.ts'
import { queueItems } from '../../../src/store/archive/queue.ts'
import { createWorkBudget, searchArchive } from '../../../src/store/archive/search.ts'
import { runNow } from '../../../src/store/db/chunked.ts'
import { openDb, transact } from '../../../src/store/db/connection.ts'
import { threadMs as cpuMs } from '../figures/thread-time.ts'
import { archivedItem, AUTHORS, EVERY_S, queuedItems, SCOPES, START_S } from './archive-world.ts'
import { createWorld } from './match-world.ts'

const { values } = parseArgs({
  options: {
    most: { type: 'string', default: '1000000' },
    queries: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    dir: { type: 'string', default: join(tmpdir(), 'forumd-bench-archive') },
  },
})
const SYNCED_MAX = 1_000_000
const SIZES = [10_000, 100_000, 1_000_000, 10_000_000].filter((it) => it <= Number(values.most))
const QUERIES = Number(values.queries)
const AT_ONCE = 200
/** Work that the daemon gives a search and a backtest, ms. */
const SEARCH_MS = 300
const BACKTEST_MS = 2000
const DAY_MS = 86_400_000

rmSync(values.dir, { recursive: true, force: true })
mkdirSync(values.dir, { recursive: true })
const path = (name: string): string => join(values.dir, name)
const words = createNaming({ platform: 'forum', community: 'subforum' })
const world = createWorld(Number(values.seed))

const itemAt = (at: number): Item => archivedItem(world, at)

const quantile = (list: readonly number[], share: number): number =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? NaN
const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const spread = (list: readonly number[]): string =>
  `${ms(quantile(list, 0.5))} | ${ms(quantile(list, 0.99))}`

const db = openArchive(path('archive.sqlite'))
const fts = new Database(path('fts.sqlite'), { create: true, strict: true })
fts.run('PRAGMA journal_mode = WAL')
fts.run('PRAGMA synchronous = FULL')
fts.run('CREATE TABLE items (row INTEGER PRIMARY KEY, item TEXT NOT NULL) STRICT')
fts.run(
  "CREATE VIRTUAL TABLE words USING fts5(title, text, tokenize = 'unicode61 remove_diacritics 2')",
)
writeFileSync(path('items.ndjson'), '')

type Ingested = { ours_ms: number; ours_wall_ms: number; fts_ms: number }

/** Adds items to all three. */
function fill(from: number, to: number): Ingested {
  const sum: Ingested = { ours_ms: 0, ours_wall_ms: 0, fts_ms: 0 }
  for (const each of [db, fts]) each.run(`PRAGMA synchronous = ${to > SYNCED_MAX ? 'OFF' : 'FULL'}`)
  const insertItem = fts.query('INSERT INTO items (row, item) VALUES (?, ?)')
  const insertWords = fts.query('INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)')
  for (let at = from; at < to; at += AT_ONCE) {
    const items = Array.from({ length: Math.min(AT_ONCE, to - at) }, (_, n) => itemAt(at + n))
    const queued = queuedItems(items, at)
    const texts = queued.map(({ item }) => item)
    const began = cpuMs()
    const wall = performance.now()
    ingest(db, queued)
    sum.ours_wall_ms += performance.now() - wall
    const between = cpuMs()
    fts.transaction(() => {
      for (const [n, item] of items.entries()) {
        insertItem.run(at + n, texts[n] ?? '')
        if (item.kind === 'post') insertWords.run(at + n, item.title, item.text)
      }
    })()
    sum.ours_ms += between - began
    sum.fts_ms += cpuMs() - between
    if (to <= SYNCED_MAX) appendFileSync(path('items.ndjson'), `${texts.join('\n')}\n`)
  }
  return sum
}

const part = (items: number) => ({
  from_at: 0,
  to_at: (START_S + items * EVERY_S + 60) * 1000,
  scopes: SCOPES,
})

type Searched = { ms: number; rows: number; days: number | null }

function searchOurs(items: number, spec: FilterSpec): Searched {
  const began = cpuMs()
  const budget = createWorkBudget(cpuMs, SEARCH_MS, 1e9)
  const search = { ...part(items), spec, before: null, limit: 25 }
  const { rows, scanned_until } = runNow(searchArchive(db, search, words, budget))
  const days = scanned_until === null ? null : (part(items).to_at - scanned_until) / DAY_MS
  return { ms: cpuMs() - began, rows: rows.length, days }
}

const fts_query = fts.query<{ item: string }, [string]>(
  'SELECT i.item FROM words w JOIN items i ON i.row = w.rowid WHERE words MATCH ? ORDER BY w.rowid DESC LIMIT 25',
)
function searchFts(pair: readonly string[]): number {
  const began = cpuMs()
  const rows = fts_query.all(pair.map((it) => `"${it}"`).join(' AND '))
  for (const { item } of rows) JSON.parse(item)
  return cpuMs() - began
}

/** ripgrep finds the lines with one word, another ripgrep those of them with the other; the newest are the last. */
function searchRipgrep([one = '', two = '']: readonly string[]): number {
  const command = `rg -N -i -w ${one} ${path('items.ndjson')} | rg -N -i -w ${two} | tail -n 25`
  const { resourceUsage } = Bun.spawnSync(['sh', '-c', command])
  return Number(resourceUsage.cpuTime.total) / 1000
}

const spec = (fields: object): FilterSpec => parseSearchSpec({ ...fields }, words)
const twoTerms = (pair: readonly string[]) => spec({ include_all: pair })

/** Pairs of words: frequent with frequent, frequent with rare, rare with rare, in turn. */
function pairs(count: number): string[][] {
  const kinds = [
    [1, 50, 1, 50],
    [1, 200, 2000, 60_000],
    [200, 5000, 200, 5000],
  ] as const
  return Array.from({ length: count }, (_, n) => {
    const [a, b, c, d] = kinds[n % kinds.length] ?? [1, 2, 3, 4]
    return [world.word(a, b), world.word(c, d)]
  })
}

/** The most expensive filters of the grammar, each with another word in every round. */
const WORST: Readonly<Record<string, () => FilterSpec>> = {
  'pattern without a match': () => spec({ regex: [`${world.word()}\\d{7}`] }),
  'part of a word': () => spec({ include_any: [world.word(20_000).slice(1)], match: 'substring' }),
  'part of a word that is nowhere': () => spec({ include_any: ['qxzqxz'], match: 'substring' }),
  'prefix of three letters': () => spec({ q: `${world.word(2000, 60_000).slice(0, 3)}*` }),
  'phrase of frequent words': () => spec({ q: `"${world.word(1, 20)} ${world.word(1, 20)}"` }),
  'phrase of frequent words that is nowhere': () =>
    spec({
      q: `"${world.word(1, 5)} ${world.word(1, 5)} ${world.word(1, 5)} ${world.word(1, 5)}"`,
    }),
  'fifty rare words': () =>
    spec({ include_any: Array.from({ length: 50 }, () => world.word(20_000)) }),
  'exclusions alone': () => spec({ exclude_terms: [world.word(1, 5), world.word(1, 5)] }),
  'one author': () => spec({ author: [`author${Math.floor(Math.random() * AUTHORS)}`] }),
  'score that few have': () => spec({ min_score: 199, include_any: [world.word(1, 20)] }),
  language: () => spec({ language: ['ja'] }),
}

function backtestOf(
  items: number,
  of: FilterSpec,
): { ms: number; scanned: number; matched: number; days: number } {
  const { to_at, scopes } = part(items)
  const from_at = to_at - 30 * DAY_MS
  const began = cpuMs()
  const budget = createWorkBudget(cpuMs, BACKTEST_MS, 1e9)
  const run = { from_at, to_at, scopes, spec: of, compare: null, limit: 25 }
  const { scanned, matched, scanned_until } = runNow(backtest(db, run, words, budget))
  return {
    ms: cpuMs() - began,
    scanned,
    matched,
    days: (to_at - (scanned_until ?? from_at)) / DAY_MS,
  }
}

const rare = (): string => world.word(200, 2000)
const frequent = (): string => world.word(1, 200)
const BOOLEAN: Readonly<Record<string, () => FilterSpec>> = {
  'three words, one excluded': () =>
    spec({ kind: 'post', q: `(${rare()} OR ${rare()} OR ${rare()}) AND -${frequent()}` }),
  'two words or a phrase of frequent ones': () =>
    spec({
      kind: 'post',
      q: `(${rare()} OR ${rare()} OR "${frequent()} ${frequent()}") AND -${frequent()}`,
    }),
}

console.log(
  `seed ${values.seed}; Bun ${Bun.version}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), load ${(loadavg()[0] ?? NaN).toFixed(1)} before; processor time in ms\n`,
)
const growth: string[] = []
const searched: string[] = []
const worst: string[] = []
const tried: string[] = []
let filled = 0
for (const size of SIZES) {
  const added = size - filled
  const { ours_ms, ours_wall_ms, fts_ms } = fill(filled, size)
  filled = size
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  fts.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const bytes = usedBytes(db) / size
  const of_fts = statSync(path('fts.sqlite')).size / size
  const of_ndjson = statSync(path('items.ndjson')).size / Math.min(size, SYNCED_MAX)
  growth.push(
    `| ${size} | ${Math.round((added / ours_ms) * 1000)} | ${Math.round((added / ours_wall_ms) * 1000)} | ${Math.round((added / fts_ms) * 1000)} | ${bytes.toFixed(0)} | ${of_fts.toFixed(0)} | ${of_ndjson.toFixed(0)} |`,
  )
  console.log(growth.at(-1))
  const list = pairs(QUERIES)
  // Both in turn, so that changes of the machine affect both.
  const ours = list.map((it) => {
    const found = searchOurs(size, twoTerms(it))
    return { ...found, fts: searchFts(it) }
  })
  const rg = list.slice(0, size > SYNCED_MAX ? 0 : Math.min(12, QUERIES)).map(searchRipgrep)
  searched.push(
    `| ${size} | ${spread(ours.map((it) => it.ms))} | ${spread(ours.map(({ fts: it }) => it))} | ${spread(rg)} |`,
  )
  console.log(searched.at(-1))
  for (const [name, make] of Object.entries(WORST)) {
    const runs = Array.from({ length: Math.max(8, Math.floor(QUERIES / 8)) }, () =>
      searchOurs(size, make()),
    )
    const cut = runs.filter(({ days }) => days !== null)
    const reach =
      cut.length === 0
        ? 'all'
        : `${quantile(
            cut.map(({ days }) => days ?? 0),
            0.5,
          ).toFixed(1)} days`
    worst.push(
      `| ${size} | ${name} | ${spread(runs.map((it) => it.ms))} | ${Math.round((cut.length / runs.length) * 100)} % | ${reach} |`,
    )
    console.log(worst.at(-1))
  }
  const trials = Object.entries(BOOLEAN).map(
    ([name, make]) => [name, Array.from({ length: 20 }, () => backtestOf(size, make()))] as const,
  )
  const pattern = Array.from({ length: 4 }, () =>
    backtestOf(size, spec({ regex: [`\\b${world.word()}\\s+\\w+`] })),
  )
  for (const [name, runs] of [...trials, ['pattern', pattern] as const]) {
    tried.push(
      `| ${size} | ${name} | ${spread(runs.map((it) => it.ms))} | ${Math.round(
        quantile(
          runs.map((it) => it.scanned),
          0.5,
        ),
      )} | ${Math.round(
        quantile(
          runs.map((it) => it.matched),
          0.5,
        ),
      )} | ${quantile(
        runs.map((it) => it.days),
        0.5,
      ).toFixed(1)} |`,
    )
    console.log(tried.at(-1))
  }
}
db.close()
fts.close()

// Polls beside the copying: a poll is a transaction with 25 items, 100 a minute.
const POLLS = 100
const main = openDb(path('forumd.sqlite'), { create: true })
const open = () =>
  createArchive({
    db: main,
    dir: values.dir,
    clock: realClock,
    log: () => {},
    words: { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' },
    settings: { keep: 'feeds', days: 36_500, max_size_mb: 1_000_000 },
    clock_offset_ms: () => 0,
    signal: new AbortController().signal,
  })

async function poll(archiving: boolean): Promise<{ late: number[]; took: number[] }> {
  const archive = open()
  const late: number[] = []
  const took: number[] = []
  let copying: Promise<unknown> = Promise.resolve()
  let is_copying = false
  for (let n = 0; n < POLLS; n++) {
    const due = performance.now() + 600
    const began = performance.now()
    transact(main, () => {
      for (let i = 0; i < 25; i++)
        queueItems(
          main,
          { keep: 'feeds', on_queued: () => {} },
          [{ item: itemAt(filled + n * 25 + i), scopes: ['f:1'] }],
          Date.now(),
        )
    })
    took.push(performance.now() - began)
    if (archiving && !is_copying) {
      is_copying = true
      copying = archive.turn().finally(() => {
        is_copying = false
      })
    }
    // A timer in between shows how long the loop is busy.
    while (performance.now() < due) {
      const at = performance.now()
      await Bun.sleep(5)
      late.push(performance.now() - at - 5)
    }
  }
  await copying
  filled += POLLS * 25
  await archive.stop()
  return { late, took }
}
/** Processor time of the main thread, which polls, for copying 200 items that wait: the rest is in the thread of the archive. */
async function copyOnce(archive: ReturnType<typeof createArchive>): Promise<number> {
  transact(main, () => {
    for (let i = 0; i < AT_ONCE; i++)
      queueItems(
        main,
        { keep: 'feeds', on_queued: () => {} },
        [{ item: itemAt(filled++), scopes: ['f:1'] }],
        Date.now(),
      )
  })
  const began = cpuMs()
  await archive.turn()
  return cpuMs() - began
}
const copies: number[] = []
{
  const archive = open()
  // The first starts the thread.
  for (let n = 0; n <= 30; n++) copies.push(await copyOnce(archive))
  await archive.stop()
}
const without = await poll(false)
const beside = await poll(true)
main.close()
const delay = ({ late, took }: { late: number[]; took: number[] }) =>
  `${spread(took)} | ${ms(quantile(late, 0.99))} | ${ms(Math.max(...late))}`

console.log(
  `\n| items | ours, items/s | ours with the disk, items/s | FTS5, items/s | ours, bytes an item | FTS5 | NDJSON |\n|---|---|---|---|---|---|---|\n${growth.join('\n')}`,
)
console.log(
  `\n| items | ours, p50 | p99 | FTS5, p50 | p99 | ripgrep, p50 | p99 |\n|---|---|---|---|---|---|---|\n${searched.join('\n')}`,
)
console.log(
  `\n| items | filter | p50 | p99 | out of time | reaches back |\n|---|---|---|---|---|---|\n${worst.join('\n')}`,
)
console.log(
  `\n| items | backtest of 30 days | p50 | p99 | tested | matches | days |\n|---|---|---|---|---|---|---|\n${tried.join('\n')}`,
)
console.log(
  `\n| polls | transaction, p50 | p99 | loop late, p99 | longest |\n|---|---|---|---|---|\n| alone | ${delay(without)} |\n| beside the copying | ${delay(beside)} |`,
)
console.log(`\nmain thread for copying 200 items, p50 | p99: ${spread(copies.slice(1))} ms`)
console.log(`\nload ${(loadavg()[0] ?? NaN).toFixed(1)} after`)
rmSync(values.dir, { recursive: true, force: true })

import {
  firstRowOf,
  firstRowOfSpan,
  indexSpanOf,
  ROWS_PER_SECOND,
} from '../../core/archive/rows.ts'
import type { Db } from '../db/connection.ts'
import { indexOf, listSpans } from './file.ts'
import { rowLatenessOf } from './ingest.ts'

/** Part of the archive to be read: creation from `from_at` (inclusive) to `to_at` (exclusive), epoch ms. */
export type ArchivePart = {
  from_at: number
  to_at: number
  /** Only items of these monitors and feeds; null: all. */
  scopes: readonly string[] | null
}

export type Candidate = {
  row: number
  key: string
  first_seen_at: number
  seen_at: number
  item: string
}

/** Candidates newest first. `down_to`: all rows from here on were read; null: there are no more. */
export type CandidatePage = { candidates: Candidate[]; down_to: number | null }

/** Rows of one page; the first is small, because most answers need no more. */
const FIRST_PAGE = 64
const PAGE_MAX = 1024
/** A part with at most so many rows is read without the index. */
const FEW_ROWS = 5000
/** Lists of rows by scope that are merged; more scopes are tested on each row. */
const MERGED_MAX = 16

/**
 * Reads a part of the archive newest first, page by page. `words`: query of the index that finds all items of interest;
 * null: all are. `before`: only rows before this one.
 */
export function createCandidates(
  db: Db,
  { from_at, to_at, scopes }: ArchivePart,
  words: string | null,
  before: number | null = null,
): () => CandidatePage {
  const ids = scopes === null ? null : scopeIds(db, scopes)
  // With one customer all items are in its scopes, and none has to be tested.
  const tested = ids !== null && ids.length === countScopes(db) ? null : ids
  const from = firstRowOf(from_at)
  const end = firstRowOf(to_at + 999) + rowLatenessOf(db) * ROWS_PER_SECOND
  let next = before === null ? end : Math.min(end, before)
  let limit = FIRST_PAGE / 2
  const is_small = ids !== null && isSmall(db, ids)
  const list =
    words !== null && !is_small
      ? byWords(db, words)
      : tested !== null && ids !== null && ids.length <= MERGED_MAX
        ? byScopes(db, ids)
        : byRow(db)

  return () => {
    if (ids?.length === 0 || next <= from) return { candidates: [], down_to: null }
    limit = Math.min(PAGE_MAX, limit * 2)
    const { rows, down_to } = list(from, next, limit)
    const candidates = fetchRows(db, rows, tested)
    if (down_to === null || down_to <= from) return { candidates, down_to: null }
    next = down_to
    return { candidates, down_to }
  }
}

/** Lists rows from `from` up to before `until`, newest first. `down_to` as in {@link CandidatePage}. */
type List = (
  from: number,
  until: number,
  limit: number,
) => { rows: number[]; down_to: number | null }

type Range = { from: number; until: number; limit: number }

const toPage = (rows: number[], limit: number): ReturnType<List> => ({
  rows,
  down_to: rows.length < limit ? null : (rows.at(-1) ?? null),
})

function byRow(db: Db): List {
  const query = db.query<{ row: number }, [Range]>(
    'SELECT row FROM items WHERE row >= $from AND row < $until ORDER BY row DESC LIMIT $limit + 0',
  )
  return (from, until, limit) =>
    toPage(
      query.all({ from, until, limit }).map(({ row }) => row),
      limit,
    )
}

/** Merges the rows of some scopes. */
function byScopes(db: Db, ids: readonly number[]): List {
  const query = db.query<{ row: number }, [Range & { scope: number }]>(
    'SELECT row FROM sightings WHERE scope = $scope AND row >= $from AND row < $until ORDER BY row DESC LIMIT $limit + 0',
  )
  return (from, until, limit) => {
    const lists = ids.map((scope) => query.all({ scope, from, until, limit }))
    // Below the end of a list that was cut, rows of that scope are not known.
    const cuts = lists.flatMap((it) => (it.length < limit ? [] : (it.at(-1)?.row ?? [])))
    const down_to = cuts.length === 0 ? null : Math.max(...cuts)
    const rows = lists.flatMap((it) => it.map(({ row }) => row))
    return {
      rows: [...new Set(rows)].filter((row) => row >= (down_to ?? 0)).toSorted((a, b) => b - a),
      down_to,
    }
  }
}

function byWords(db: Db, words: string): List {
  const spans = listSpans(db)
  return (from, until, limit) => {
    const span = spans.find((it) => firstRowOfSpan(it) < until && it >= indexSpanOf(from))
    if (span === undefined) return { rows: [], down_to: null }
    const name = indexOf(span)
    const rows = db
      .query<{ row: number }, [Range & { words: string }]>(
        `SELECT rowid AS row FROM ${name} WHERE ${name} MATCH $words AND rowid >= $from AND rowid < $until
          ORDER BY rowid DESC LIMIT $limit + 0`,
      )
      .all({ words, from, until, limit })
      .map(({ row }) => row)
    const { down_to } = toPage(rows, limit)
    return { rows, down_to: down_to ?? firstRowOfSpan(span) }
  }
}

/** The rows with their items, of those that are in one of the scopes. */
function fetchRows(db: Db, rows: readonly number[], ids: readonly number[] | null): Candidate[] {
  if (rows.length === 0) return []
  const visible =
    ids === null
      ? ''
      : 'AND EXISTS (SELECT 1 FROM sightings s WHERE s.row = i.row AND s.scope IN (SELECT value FROM json_each($ids)))'
  const query = db.query<Candidate, [{ rows: string; ids?: string }]>(
    `SELECT i.row, i.key, i.first_seen_at, i.seen_at, i.item FROM json_each($rows) r CROSS JOIN items i ON i.row = r.value
      WHERE 1 ${visible} ORDER BY i.row DESC`,
  )
  return query.all({ rows: JSON.stringify(rows), ...(ids && { ids: JSON.stringify(ids) }) })
}

const scopeIds = (db: Db, names: readonly string[]): number[] =>
  db
    .query<{ id: number }, [{ names: string }]>(
      'SELECT id FROM scopes WHERE name IN (SELECT value FROM json_each($names))',
    )
    .all({ names: JSON.stringify(names) })
    .map(({ id }) => id)

const countScopes = (db: Db): number =>
  db.query<{ n: number }, []>('SELECT count(*) AS n FROM scopes').get()?.n ?? 0

/** True when the rows of these scopes are so few that no index is needed. */
function isSmall(db: Db, ids: readonly number[]): boolean {
  if (ids.length > MERGED_MAX) return false
  const count = db.query<{ n: number }, [{ scope: number }]>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM sightings WHERE scope = $scope LIMIT ${FEW_ROWS + 1})`,
  )
  let total = 0
  for (const scope of ids) if ((total += count.get({ scope })?.n ?? 0) > FEW_ROWS) return false
  return true
}

/** Scopes that an item was seen in, and the number of its former versions. */
export function contextOf(db: Db, row: number): { scopes: string[]; versions: number } {
  const scopes = db
    .query<{ name: string }, [{ row: number }]>(
      'SELECT c.name FROM sightings s JOIN scopes c ON c.id = s.scope WHERE s.row = $row ORDER BY c.name',
    )
    .all({ row })
    .map(({ name }) => name)
  const { n } = db
    .query<{ n: number }, [{ row: number }]>('SELECT count(*) AS n FROM versions WHERE row = $row')
    .get({ row }) ?? { n: 0 }
  return { scopes, versions: n }
}

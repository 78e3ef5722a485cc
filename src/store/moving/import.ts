import type { Ring } from '../../core/base/secrets.ts'
import { schemaDigest, UnusableFile } from '../../core/moving/file.ts'
import { isUnbalanced } from '../customers/ledger.ts'
import { type Db, transact } from '../db/connection.ts'
import { migrations } from '../db/migrations.ts'
import type { MoveInfo, TableStart, WrittenValue } from './export.ts'
import { type PlacedFeed, placeFeed, resumeFeeds } from './feeds.ts'
import { noteMove } from './freeze.ts'
import type { MoveFile } from './reader.ts'
import { MOVED_TABLES, type MovedTable, type NumberSpace } from './tables.ts'

/** A customer that was taken over. */
export type Imported = {
  customer_id: string
  name: string
  rows: number
  tables: Record<string, number>
  receipt: string
  /** Feeds that other monitors watched here already: what they verified before stays at the former instance. */
  live_feeds: number
}

/** The file cannot be imported here. The message says why, and what to do. */
class ImportRefused extends Error {
  override name = 'ImportRefused'
}

type Deps = { ring: Ring; now: number }
type Wanted = {
  key: Uint8Array
  /** Another name, where the own one is taken. */
  name: string | undefined
  /** Another plan. */
  plan: string | undefined
  /** Plans and further sources of the configuration. */
  plans: readonly string[]
  sources: readonly string[]
  on_progress?: (share: number) => void
}

/**
 * Takes a customer over in one transaction: a kill at any moment leaves all of it or nothing.
 *
 * @throws {UnusableFile} the file is damaged, or the key is another
 * @throws {ImportRefused} this instance has the customer, or lacks what it needs
 */
export function importCustomer(
  db: Db,
  file: MoveFile,
  { ring, now }: Deps,
  wanted: Wanted,
): Imported {
  const { header } = file
  requireSchema(header.schema)
  file.verify()
  refuseKnown(db, header.customer_id, file, wanted.key)
  return transact(db, () => {
    const content = file.lines(wanted.key)
    const info = content.next().value as MoveInfo | undefined
    if (info?.customer === undefined) throw new UnusableFile('the file has no content')
    const name = wanted.name ?? info.customer.name
    const plan = wanted.plan ?? info.customer.plan
    refuseUnfit(db, { name, plan, id: header.customer_id, info, wanted })
    const placed = new Map<number, PlacedFeed>()
    for (const position of info.positions)
      placed.set(Number(position.feed['id']), placeFeed(db, position))
    const renumber = createNumbers(db, info, placed)
    const tables: Record<string, number> = {}
    let insert: ((values: readonly WrittenValue[]) => boolean) | null = null
    let table = ''
    let rows = 0
    for (const line of content) {
      if (Array.isArray(line)) {
        rows += 1
        if (rows % 10_000 === 0) wanted.on_progress?.(rows / header.rows)
        if (insert?.(line) === true) tables[table] = (tables[table] ?? 0) + 1
        continue
      }
      const start = line as TableStart
      table = start.table
      insert = createInsert(db, start, { ring, renumber, placed, chosen: { name, plan } })
    }
    const { customer_id, instance_id } = header
    db.query(
      `UPDATE customers SET blanked_to = 0,
              origin_id = nullif(coalesce(origin_id, $from), (SELECT id FROM instance)) WHERE id = $customer_id`,
    ).run({ customer_id, from: instance_id })
    resumeFeeds(db, { customer_id, positions: info.positions, placed, now })
    if (isUnbalanced(db, customer_id))
      throw new UnusableFile('the balance in the file differs from its payments and costs')
    noteMove(db, {
      kind: 'customer.imported',
      customer_id,
      detail: { from: instance_id, rows, receipt: info.receipt },
      now,
    })
    const live_feeds = [...placed.values()].filter(({ state }) => state === 'live').length
    return { customer_id, name, rows, tables, receipt: info.receipt, live_feeds }
  })
}

function requireSchema(schema: string): void {
  if (schema === schemaDigest(migrations)) return
  throw new ImportRefused(
    `the file was written by a forumd with schema ${schema}, and this one has ${schemaDigest(migrations)}: install the same build on both, and export again`,
  )
}

/**
 * An import that was repeated shows its receipt again, because the first answer may have been lost. The receipt of a file
 * that was written after another freeze is not shown: with it, the former instance would delete what is in that file alone.
 */
function refuseKnown(db: Db, id: string, file: MoveFile, key: Uint8Array): void {
  const known = db
    .query<{ name: string; removed_at: number | null }, [{ id: string }]>(
      'SELECT name, removed_at FROM customers WHERE id = $id',
    )
    .get({ id })
  if (known === null) return
  const info = file.lines(key).next().value as MoveInfo | undefined
  const imports = db
    .query<{ receipt: string | null }, [{ id: string }]>(
      "SELECT detail ->> 'receipt' AS receipt FROM audit WHERE subject = $id AND kind = 'customer.imported'",
    )
    .all({ id })
  const more =
    imports.length === 0
      ? ''
      : imports.some(({ receipt }) => receipt !== null && receipt === info?.receipt)
        ? `. The receipt of this file is ${info?.receipt}`
        : '. It came from another file: this one has no receipt'
  throw new ImportRefused(
    `this instance has the customer already: ${id}, "${known.name}"${known.removed_at === null ? '' : ', removed'}. Nothing was changed${more}`,
  )
}

function refuseUnfit(
  db: Db,
  {
    name,
    plan,
    id,
    info,
    wanted,
  }: { name: string; plan: string; id: string; info: MoveInfo; wanted: Wanted },
): void {
  const other = db
    .query<{ id: string }, [{ name: string }]>('SELECT id FROM customers WHERE name = $name')
    .get({ name })
  if (other !== null)
    throw new ImportRefused(
      `"${name}" is another customer here: ${other.id}, and in the file ${id}. Choose another name with --name`,
    )
  if (!wanted.plans.includes(plan))
    throw new ImportRefused(
      `the plan ${plan} is not in [plans] of this configuration: add it, or choose one with --plan (${wanted.plans.join(', ')})`,
    )
  const missing = info.sources.filter((it) => !wanted.sources.includes(it))
  if (missing.length > 0)
    throw new ImportRefused(
      `its monitors watch ${missing.join(', ')}: add these sources here first (forumd source add, or [[source]] in the configuration)`,
    )
}

/** Numbers of rows here, by the numbers in the file. */
type Renumber = (space: NumberSpace, number: number) => number

/** New numbers follow the highest one here in the order of the file. */
function createNumbers(
  db: Db,
  { lowest }: MoveInfo,
  placed: ReadonlyMap<number, PlacedFeed>,
): Renumber {
  const highest = db
    .query<Record<NumberSpace, number | null>, []>(
      `SELECT (SELECT max(row) FROM deliveries) AS deliveries, (SELECT max(row) FROM match_bodies) AS match_bodies,
              (SELECT max(row) FROM inbox_items) AS inbox_items, (SELECT max(seq) FROM inbox_actions) AS inbox_actions,
              (SELECT max(id) FROM bundles) AS bundles, (SELECT max(id) FROM checks) AS checks`,
    )
    .get()
  return (space, number) =>
    space === 'feeds'
      ? (placed.get(number)?.id ?? 0)
      : (highest?.[space] ?? 0) + 1 + number - (lowest[space] ?? number)
}

type InsertDeps = {
  ring: Ring
  renumber: Renumber
  placed: ReadonlyMap<number, PlacedFeed>
  /** Columns of the customer's row as they are here. */
  chosen: { name: string; plan: string }
}

/** Creates the insertion of one table's rows; false for a row that is not taken. */
function createInsert(
  db: Db,
  { table, columns }: TableStart,
  { ring, renumber, placed, chosen }: InsertDeps,
): (values: readonly WrittenValue[]) => boolean {
  const it = MOVED_TABLES.find((moved) => moved.table === table)
  if (it === undefined) throw new UnusableFile(`the file has the unknown table ${table}`)
  const query = db.query(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ${it.conflict ?? ''}`,
  )
  const feed_at = columns.indexOf('feed_id')
  const kind_at = columns.indexOf('kind')
  const place = createSeal(it, columns, ring)
  // With the row, not after it: the name in the file may be that of another customer here.
  const own: Record<string, string> = table === 'customers' ? chosen : {}
  return (values) => {
    if (feed_at !== -1 && !isTaken(it, placed.get(Number(values[feed_at]))?.state)) return false
    const row = columns.map((column, at) => {
      const value = own[column] ?? values[at] ?? null
      const space = it.numbers?.[column]
      if (space === 'own') return null
      if (space !== undefined && typeof value === 'number')
        return renumber(
          space !== 'by_kind'
            ? space
            : values[kind_at] === 'delivery'
              ? 'deliveries'
              : 'match_bodies',
          value,
        )
      if (typeof value === 'string') return place(column, value, values)
      return typeof value === 'object' && value !== null ? Buffer.from(value.b, 'base64') : value
    })
    try {
      return query.run(...row).changes > 0
    } catch (error) {
      throw explain(error, table, columns, values)
    }
  }
}

/**
 * True for a row that is taken, by the state of its feed. What a live feed has verified is known here better, and its
 * spans would claim the ranges of this instance for times in which the monitor was at the former one.
 */
function isTaken({ table, of_feed }: MovedTable, state: PlacedFeed['state'] | undefined): boolean {
  if (of_feed === true) return state === 'new'
  if (table === 'feed_spans') return state === 'new'
  return true
}

const textOf = (value: WrittenValue | undefined): string => (typeof value === 'string' ? value : '')

/** Seals values again, with the key of this instance. */
function createSeal(it: MovedTable, columns: readonly string[], ring: Ring) {
  return (column: string, value: string, values: readonly WrittenValue[]): string | Uint8Array => {
    const place = it.sealed?.[column]
    if (place === undefined) return value
    return ring.seal(
      place((name) => textOf(values[columns.indexOf(name)])),
      value,
    )
  }
}

/** A row that this instance has already names what is in the way. */
function explain(
  error: unknown,
  table: string,
  columns: readonly string[],
  values: readonly WrittenValue[],
): unknown {
  const is_taken =
    error instanceof Error &&
    'code' in error &&
    /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/.test(String(error.code))
  if (!is_taken) return error
  const id = values[columns.indexOf('id')]
  return new ImportRefused(
    `this instance has a row of the file already, in ${table}${typeof id === 'string' ? `: ${id}` : ''}. Nothing was changed: the customer goes on at the former instance with forumd customer export NAME --undo`,
  )
}

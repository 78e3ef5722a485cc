import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { sourceWords } from '../../config/schema.ts'
import { type ExportFormat, exportHead, exportLine } from '../../core/archive/export.ts'
import { ApiError } from '../../core/base/errors.ts'
import { parseInstant } from '../../core/base/time.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { parseSearchSpec } from '../../core/filter/parse.ts'
import { createNaming } from '../../core/forum/naming.ts'
import { statsOf } from '../../store/archive/erase.ts'
import { ARCHIVE_FILE, openArchive } from '../../store/archive/file.ts'
import { type ArchiveFound, createWorkBudget, searchArchive } from '../../store/archive/search.ts'
import { runNow } from '../../store/db/chunked.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  UsageError,
} from '../command.ts'
import { withInstance } from '../configuration.ts'
import { escapeControl } from '../output.ts'
import { openBar } from '../progress.ts'

const PAGE = 200
const END_OF_TIME = Date.UTC(9999, 0)
const FORMATS: readonly ExportFormat[] = ['ndjson', 'csv']

export const archiveExport = command({
  name: 'archive export',
  summary: 'writes archived items as NDJSON or CSV',
  options: {
    format: { type: 'string', value: 'FORMAT', help: 'ndjson or csv; default: ndjson' },
    output: { type: 'string', value: 'FILE', help: 'file to write; default: standard output' },
    q: { type: 'string', value: 'QUERY', help: 'only items that match, such as "bun OR deno*"' },
    filter: { type: 'string', value: 'JSON', help: 'only items that match this filter_spec' },
    from: { type: 'string', value: 'TIME', help: 'only items created at this time or later' },
    to: { type: 'string', value: 'TIME', help: 'only items created before this time' },
    json: JSON_OPTION,
  },
  examples: [
    'forumd archive export --output items.ndjson',
    "forumd archive export --format csv --q 'title:grinder' --from 2026-10-01 > october.csv",
  ],
  notes:
    'Reads the archive of all customers, newest first, also beside a running daemon. Each line is the item as webhooks get it, with archived: when it was seen, and the monitors that matched it. CSV has one text per item; a cell that a spreadsheet would run as a formula begins with an apostrophe. A file is replaced, and removed if the export fails. --json reports the number of items in the file of --output.',
  async run({ values, ...context }) {
    const format = FORMATS.find((it) => it === (values.format ?? 'ndjson'))
    if (format === undefined)
      throw new UsageError(`--format is "${values.format}": allowed are ${FORMATS.join(', ')}`)
    const from_at = instantOf('--from', values.from) ?? 0
    const to_at = instantOf('--to', values.to) ?? END_OF_TIME
    if (from_at >= to_at) throw new UsageError('--to must be after --from')
    const { dir, words } = await withInstance(context, ({ config }) => ({
      dir: config.storage.dir,
      words: createNaming(config.wire, sourceWords(config)),
    }))
    const spec = specOf(values, words)
    const path = join(dir, ARCHIVE_FILE)
    if (!existsSync(path))
      throw new CommandRefusal(`there is no archive in ${dir}: nothing was archived yet`)
    const items = await exportTo(context, values.output, (write) =>
      exportItems(context, { path, spec, from_at, to_at, format, words, write }),
    )
    if (values.output !== undefined)
      context.stdout.write(
        values.json
          ? `${JSON.stringify({ items, file: values.output })}\n`
          : `${items} items are written to ${escapeControl(values.output)}.\n`,
      )
    return EXIT.done
  },
})

type Export = {
  path: string
  spec: FilterSpec
  from_at: number
  to_at: number
  format: ExportFormat
  words: ReturnType<typeof createNaming>
  write: (text: string) => void
}

async function exportItems(
  { screen }: Pick<CommandContext, 'screen'>,
  { path, spec, from_at, to_at, format, words, write }: Export,
): Promise<number> {
  using db = openArchive(path)
  using bar = openBar(screen)
  const { items: total } = statsOf(db)
  const part = { from_at, to_at, scopes: null, spec, limit: PAGE }
  let before: number | null = null
  let scanned = 0
  let exported = 0
  write(exportHead(format, words.community))
  do {
    const budget = createWorkBudget(() => 0, 1, 1)
    const found: ArchiveFound = runNow(searchArchive(db, { ...part, before }, words, budget))
    write(found.rows.map((it) => exportLine(format, words, it)).join(''))
    exported += found.rows.length
    scanned += found.scanned
    before = found.after
    bar.update(`exporting: ${exported} items`, total === 0 ? null : scanned / total)
    // Lets the terminal and a pipe take what was written.
    await new Promise((resolve) => setImmediate(resolve))
  } while (before !== null)
  return exported
}

async function exportTo(
  { stdout }: Pick<CommandContext, 'stdout'>,
  file: string | undefined,
  work: (write: (text: string) => void) => Promise<number>,
): Promise<number> {
  if (file === undefined) return work((text) => stdout.write(text))
  const fd = openFile(file)
  try {
    return await work((text) => {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    })
  } catch (error) {
    // A part of an export would look like a whole one.
    rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

function openFile(file: string): number {
  try {
    return openSync(file, 'w', 0o600)
  } catch {
    throw new UsageError(`--output: ${file} cannot be written`)
  }
}

function instantOf(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const at = parseInstant(text)
  if (at !== null) return at
  throw new UsageError(`${name} is "${text}": allowed is an ISO 8601 time or a day`)
}

function specOf(
  { q, filter }: { q: string | undefined; filter: string | undefined },
  words: ReturnType<typeof createNaming>,
): FilterSpec {
  const given = filter === undefined ? {} : objectOf(filter)
  if (q !== undefined && Object.hasOwn(given, 'q'))
    throw new UsageError('--q and the q of --filter exclude each other')
  try {
    return parseSearchSpec({ ...given, ...(q !== undefined && { q }) }, words)
  } catch (error) {
    if (error instanceof ApiError)
      throw new UsageError(
        (q === undefined
          ? error.message
          : error.message.replaceAll(/filter_spec\.q\b/g, '--q')
        ).replaceAll('filter_spec', '--filter'),
      )
    throw error
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The sentence below says what is allowed.
  }
  throw new UsageError('--filter must be a JSON object, such as {"include_any":["grinder"]}')
}

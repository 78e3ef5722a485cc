import type { Erasure } from '../../core/forum/purge.ts'
import { keyOfRow } from '../../core/forum/purge.ts'
import type { Db } from '../db/connection.ts'

/** Shorter quoted lines are not searched in the texts of erased items: they may be anybody's words. */
const QUOTE_MIN = 12

/** Lines of the texts of erased items. */
export function noteTexts(
  texts: string[],
  rows: readonly Record<string, unknown>[],
  { items }: Erasure,
): void {
  for (const row of rows) {
    if (!items.has(keyOfRow(row) ?? '')) continue
    const { text, body, title } = row
    for (const it of [text, body, title]) if (typeof it === 'string' && it !== '') texts.push(it)
  }
}

const QUOTED_LINE = /^( *(?:> ?)+)(.*)$/gm
const QUOTE_GONE = '[deleted]'

/** A draft is its customer's text: only lines that it quotes from an erased item are replaced. */
export function eraseQuotes({ db, texts }: { db: Db; texts: string[] }): number {
  if (texts.length === 0) return 0
  const rows = db
    .query<{ id: string; body: string }, []>(
      "SELECT id, body FROM drafts WHERE instr(body, '>') > 0",
    )
    .all()
  const write = db.query('UPDATE drafts SET body = $body WHERE id = $id')
  const all = texts.join('\n')
  const erase = (text: string): string =>
    text.replaceAll(QUOTED_LINE, (line, mark: string, quoted: string) =>
      quoted.trim().length >= QUOTE_MIN && all.includes(quoted.trim()) ? mark + QUOTE_GONE : line,
    )
  let changed = 0
  for (const { id, body } of rows) {
    const left = JSON.stringify(JSON.parse(body), (_, it: unknown) =>
      typeof it === 'string' ? erase(it) : it,
    )
    if (left === JSON.stringify(JSON.parse(body))) continue
    write.run({ id, body: left })
    changed += 1
  }
  return changed
}

import { fstatSync, writeSync } from 'node:fs'

import { errorCode } from '../core/base/errors.ts'

/** Untrusted text without control characters that colour, move the cursor or reverse the text direction. */
export const escapeControl = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

type Cell = string | number | boolean | null

/** Rows as aligned columns under their field names; `none` when there are no rows, a line `below` each row. */
export function table(
  rows: readonly Readonly<Record<string, Cell>>[],
  none: string,
  below: readonly string[] = [],
): string {
  const [first] = rows
  if (first === undefined) return `${none}\n`
  const names = Object.keys(first)
  const lines = [names, ...rows.map((row) => names.map((name) => cellText(row[name] ?? null)))]
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ''))),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
        .join('  ')
        .trimEnd(),
    )
    .flatMap((line, at) => (below[at - 1] === undefined ? [line] : [line, `  ${below[at - 1]}`]))
    .join('\n')
    .concat('\n')
}

const cellText = (cell: Cell): string => {
  if (cell === null) return '-'
  return typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : escapeControl(String(cell))
}

export function card(fields: Readonly<Record<string, Cell>>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields)
    .map(([name, cell]) => `${name.padEnd(width)}  ${cellText(cell)}\n`)
    .join('')
}

const STANDARD_OUT = 1

export type StandardOut = {
  write: (text: string) => void
  /** Writes text of a log; a failed write is ignored. */
  log: (text: string) => void
  /** Waits for everything written; the first error of a write other than a log, or null. */
  end: () => Promise<Error | null>
}

/**
 * Opens standard output of any kind. A file is written synchronously, each write by itself, so that a full disk loses only
 * the lines of that time; a failed stream accepts no further write. A closed reader (`| head`) is not an error.
 */
export const openStandardOut = (stream: NodeJS.WriteStream): StandardOut =>
  isFile(STANDARD_OUT) ? toFile(STANDARD_OUT) : toStream(stream)

function toFile(fd: number): StandardOut {
  let failed: Error | null = null
  return {
    write(text) {
      failed ??= tryWrite(fd, text)
    },
    log: (text) => void tryWrite(fd, text),
    end: () => Promise.resolve(failed),
  }
}

/** Writes all bytes, since a file may accept fewer at once; returns the error, or null. */
function tryWrite(fd: number, text: string): Error | null {
  const bytes = Buffer.from(text)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function toStream(stream: NodeJS.WriteStream): StandardOut {
  let failed: Error | null = null
  let only_log = true
  const { promise: over, resolve } = Promise.withResolvers<void>()
  stream.on('error', (error) => {
    if (errorCode(error) !== 'EPIPE') failed ??= error
    resolve()
  })
  return {
    write(text) {
      only_log = false
      stream.write(text)
    },
    log: (text) => void stream.write(text),
    async end() {
      // A pipe is asynchronous. Only its end waits for earlier writes; an empty write does not.
      stream.end(resolve)
      await over
      return only_log ? null : failed
    },
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

import type { Archive } from '../../archive/archive.ts'
import { type ExportFormat, exportHead, exportLine } from '../../core/archive/export.ts'
import { ApiError } from '../../core/base/errors.ts'
import type { HeldBytes } from '../../core/limits/byte-budget.ts'
import type { RouteContext } from '../context.ts'
import type { Selected } from './query.ts'

/** Items that are read at once; memory holds one such part of each export. */
const PAGE = 100
const SLICE_BYTES = 256 * 1024
const EXPORTS_MAX = 4
const RETRY_S = 30
/** The connection of a client that takes less than a page in this time is closed, ms. */
const WRITE_TIMEOUT_MS = 30_000
const LONGEST_MS = 3_600_000

const TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
}

export type ArchiveExports = {
  /** @throws {ApiError} rate_limited if the customer has another one, or too many are under way */
  start(request: Request, customer_id: string, selected: Selected, format: ExportFormat): Response
}

export function createExports(
  { words, in_flight, clock }: Pick<RouteContext, 'words' | 'in_flight' | 'clock'>,
  archive: Pick<Archive, 'search'>,
): ArchiveExports {
  const running = new Set<string>()
  const encoder = new TextEncoder()

  return {
    start(request, customer_id, selected, format) {
      if (running.has(customer_id) || running.size >= EXPORTS_MAX)
        throw new ApiError('rate_limited', {
          message: running.has(customer_id)
            ? 'another export of this customer is under way; read it to its end, or close it'
            : `at most ${EXPORTS_MAX} exports run at once`,
          retry_after_s: RETRY_S,
        })
      running.add(customer_id)
      const until = clock.mono() + LONGEST_MS
      let before: number | null = null
      let head = exportHead(format, words.community)
      let held: HeldBytes | null = null
      let ended = false

      function end(): void {
        if (ended) return
        ended = true
        running.delete(customer_id)
        held?.release()
      }
      request.signal.addEventListener('abort', end, { once: true })

      /** The next bytes; null at the end. Time may run out in a page without a match. */
      async function nextBytes(): Promise<Uint8Array | null> {
        for (;;) {
          if (head === '' && before === DONE) return null
          const found =
            before === DONE
              ? { rows: [], after: null }
              : await archive.search({ ...selected, before, limit: PAGE })
          before = found.after ?? DONE
          const text = head + found.rows.map((it) => exportLine(format, words, it)).join('')
          head = ''
          if (text !== '') return encoder.encode(text)
        }
      }

      /** Resolves once the client has taken what was written; false if that takes too long. */
      async function isTaken(written: Promise<number>): Promise<boolean> {
        const taken = new AbortController()
        const late = clock.sleep(WRITE_TIMEOUT_MS, taken.signal).then(() => false)
        try {
          return await Promise.race([written.then(() => true), late])
        } finally {
          taken.abort()
        }
      }

      async function writeAll(controller: ReadableStreamDirectController): Promise<void> {
        for (;;) {
          if (clock.mono() > until) throw new Error('the export takes too long')
          const bytes = await nextBytes()
          if (ended || bytes === null) return
          held = in_flight.holdForStream(request, bytes.byteLength)
          if (held === null) throw new Error('too many bytes are in flight')
          for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
            // A number at once if it fits into the socket.
            const written = controller.write(bytes.subarray(at, at + SLICE_BYTES))
            if (typeof written !== 'number' && !(await isTaken(written)))
              throw new Error('the client does not read')
          }
          held.release()
        }
      }

      const stream = new ReadableStream({
        type: 'direct',
        async pull(controller) {
          try {
            await writeAll(controller)
            controller.close()
          } catch (error) {
            // A file that just ended would look complete: the connection is cut.
            controller.close(error instanceof Error ? error : new Error(String(error)))
          } finally {
            end()
          }
        },
        cancel: end,
      })
      return new Response(stream, {
        headers: {
          'content-type': TYPES[format],
          'content-disposition': `attachment; filename="archive.${format}"`,
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        },
      })
    },
  }
}

/** Stands for a cursor behind the last page. */
const DONE = -1

import { ApiError } from '../core/base/errors.ts'
import type { ByteBudget, ExceededLimit, HeldBytes, HeldFor } from '../core/limits/byte-budget.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Bytes } from './http/response.ts'

/** Bytes handed over at once. Only these are copied for a client that reads slowly. */
const SLICE_BYTES = 256 * 1024
/** The connection of a client that takes less than a slice in this time is closed, ms. */
const WRITE_TIMEOUT_MS = 30_000
const RETRY_S = 2
/** Smaller answers fit the system's socket buffers, and are neither counted nor streamed. */
const SMALL_BYTES = 8 * 1024
/** A caller without this many free bytes would be refused the answer of almost any call. */
const LEAST_ANSWER_BYTES = 64 * 1024

/**
 * Accounting of the bytes that calls hold: bodies until the call ends, answers until they are sent.
 */
export type InFlight = {
  /**
   * Checks that a caller could be answered, before any work.
   * @throws {ApiError} overloaded (503)
   */
  admit(request: Request): void
  /**
   * Counts bytes that a call holds during its work, until `end`.
   * @throws {ApiError} overloaded (503) if they do not fit
   */
  holdForRequest(request: Request, bytes: number): void
  /** Counts bytes that a reader of events has not taken yet; null if they do not fit. */
  holdForStream(request: Request, bytes: number): HeldBytes | null
  /** Releases the bytes held during the call's work. */
  end(request: Request): void
  /**
   * Response with these bytes, sent as fast as the client reads.
   * @throws {ApiError} overloaded (503) if they do not fit
   */
  send(request: Request, bytes: Bytes, init?: ResponseInit): Response
}

type Deps = {
  budget: ByteBudget
  clock: Clock
  /** Owner of a call's bytes: its key, or its address without one. */
  ownerOf: (request: Request) => string
  on_refused: (held_for: HeldFor, limit: ExceededLimit) => void
  /** Called after a connection was closed because its client did not read. */
  on_stalled: () => void
}

const MESSAGES: Record<ExceededLimit, string> = {
  owner:
    'this key or address has reached its limit of bytes in flight: read pending answers, and send fewer large calls at once',
  process: 'the service has reached its limit of bytes in flight; try again later',
}

export function createInFlight({ budget, clock, ownerOf, on_refused, on_stalled }: Deps): InFlight {
  const holds = new WeakMap<Request, HeldBytes[]>()

  function refuse(held_for: HeldFor, limit: ExceededLimit): never {
    on_refused(held_for, limit)
    throw new ApiError('overloaded', { message: MESSAGES[limit], retry_after_s: RETRY_S })
  }

  /** Resolves once the client has taken the written bytes; false after the timeout. */
  async function isTaken(written: Promise<number>): Promise<boolean> {
    const taken = new AbortController()
    const timeout = clock.sleep(WRITE_TIMEOUT_MS, taken.signal).then(() => false)
    try {
      return await Promise.race([written.then(() => true), timeout])
    } finally {
      taken.abort()
    }
  }

  return {
    admit(request) {
      const limit = budget.exceeded(ownerOf(request), LEAST_ANSWER_BYTES)
      if (limit !== null) refuse('requests', limit)
    },
    holdForRequest(request, bytes) {
      const hold = budget.take(ownerOf(request), 'requests', bytes)
      if (typeof hold === 'string') refuse('requests', hold)
      const held = holds.get(request)
      if (held) held.push(hold)
      else holds.set(request, [hold])
    },
    holdForStream(request, bytes) {
      const hold = budget.take(ownerOf(request), 'streams', bytes)
      if (typeof hold !== 'string') return hold
      on_refused('streams', hold)
      return null
    },
    end(request) {
      for (const hold of holds.get(request) ?? []) hold.release()
      holds.delete(request)
    },
    send(request, bytes, init) {
      if (bytes.byteLength < SMALL_BYTES) return new Response(bytes, init)
      const owner = ownerOf(request)
      const limit = budget.exceeded(owner, bytes.byteLength)
      if (limit !== null) refuse('answers', limit)
      let hold: HeldBytes | null = null
      let gone = false

      /** Writes until the client has to read, and continues as it does. */
      function writeFrom(
        controller: ReadableStreamDirectController,
        from: number,
      ): undefined | Promise<void> {
        for (let at = from; at < bytes.byteLength; at += SLICE_BYTES) {
          const written = controller.write(bytes.subarray(at, at + SLICE_BYTES))
          if (typeof written !== 'number') return writeRest(controller, written, at + SLICE_BYTES)
        }
        hold?.release()
        controller.close()
        return undefined
      }

      async function writeRest(
        controller: ReadableStreamDirectController,
        written: Promise<number>,
        next: number,
      ): Promise<void> {
        const taken = await isTaken(written)
        if (gone) return
        if (taken) return writeFrom(controller, next)
        hold?.release()
        on_stalled()
        controller.close(new Error('the client does not read'))
      }

      return new Response(
        new ReadableStream({
          type: 'direct',
          // Counted here rather than above: a response that is never pulled ends without a
          // notification.
          pull(controller) {
            const taken = budget.take(owner, 'answers', bytes.byteLength)
            if (typeof taken === 'string') {
              on_refused('answers', taken)
              controller.close(new Error('too many answers are under way'))
              return undefined
            }
            hold = taken
            return writeFrom(controller, 0)
          },
          cancel() {
            gone = true
            hold?.release()
          },
        }),
        init,
      )
    },
  }
}

import * as z from 'zod'

import { ApiError } from '../../core/errors.ts'
import { judgeRepeat } from '../../core/idempotency.ts'
import { once } from '../../core/once.ts'
import { type Ring, SealBroken } from '../../core/seal.ts'
import type { Words } from '../../core/wire.ts'
import type { Clock, Log } from '../../outside.ts'
import { type Db, isStorageError } from '../../store/db.ts'
import {
  claimName,
  findNamedWrite,
  type NamedWrite,
  recordAnswer,
  releaseName,
  type WriteName,
} from '../../store/idempotency.ts'
import type { Together } from '../../store/together.ts'
import { render } from '../errors.ts'

/** A write that its caller named, and what tells its body from another. */
export type Named = WriteName & { body_hash: Uint8Array }

const given_shape = once(() =>
  z.object({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.record(z.string(), z.unknown()),
  }),
)
/** An answer as it is given to a repeat: the first one. */
type Given = z.infer<ReturnType<typeof given_shape>>

/** The body of an answer. */
export type Body = Record<string, unknown>

/** A write at work. It calls `begun` before the platform is asked. */
type Work = (begun: () => void) => Promise<Body>

/**
 * Does a named write once. What it answered, an error too, is kept and given to whoever repeats it; what failed before
 * it began, or is known not to have been done, gives the name back. 409 for another body, and while the first runs.
 */
export type Once = (
  named: Named,
  work: Work,
) => Promise<{ first: true; body: Body } | { first: false; given: Given }>

export type OnceDeps = {
  db: Db
  together: Together
  clock: Clock
  log: Log
  words: Words
  ring: Pick<Ring, 'seal' | 'unseal'>
}

/** Names are claimed in the database before anything is asked, so that not even a crash lets a write happen twice. */
export function createOnce({ db, together, clock, log, words, ring }: OnceDeps): Once {
  /** The writes that this process is at, by their names. A claim without an answer that is not among them is lost. */
  const running = new Map<string, { me: symbol; body_hash: Uint8Array }>()

  /** Takes the name; or tells who has it. */
  const claim = (named: Named, me: symbol): Promise<NamedWrite | null> =>
    together(() => {
      const { body_hash, ...name } = named
      const found = findNamedWrite(db, name, clock.now())
      if (found !== null) return found
      // A claim that a clock set forward has ended is one all the same as long as its write is under way.
      const other = running.get(placeOf(named))
      if (other !== undefined && other.me !== me)
        return { body_hash: other.body_hash, answer: null }
      claimName(db, named, clock.now())
      running.set(placeOf(named), { me, body_hash })
      return null
    })

  function leave(named: Named, me: symbol) {
    if (running.get(placeOf(named))?.me === me) running.delete(placeOf(named))
  }

  /** An answer that cannot be written down is given all the same: the write is done, and its claim stays. */
  async function end(named: Named, write: (name: WriteName) => void): Promise<void> {
    const { body_hash: _, ...name } = named
    try {
      await together(() => write(name))
    } catch (error) {
      if (!isStorageError(error)) throw error
      log('error', 'writes.answer_not_kept', { route: named.route })
    }
  }

  function keep(named: Named, given: Given): Promise<void> {
    const sealed = ring.seal(placeOf(named), JSON.stringify(given))
    return end(named, (name) => recordAnswer(db, name, sealed))
  }

  function repeated(named: Named, { body_hash, answer }: NamedWrite): Given {
    const claimed = {
      body_hash,
      answered: answer !== null,
      running: running.has(placeOf(named)),
    }
    switch (judgeRepeat(claimed, named.body_hash)) {
      case 'mismatch':
        throw new ApiError('IDEMPOTENCY_MISMATCH', {
          message: 'this Idempotency-Key has been used for another body',
        })
      case 'in_progress':
        throw new ApiError('IN_PROGRESS', {
          message: 'the first call of this Idempotency-Key has not been answered yet',
          retry_after_s: RETRY_RUNNING_S,
        })
      case 'replay':
      case 'unknown':
        return (answer && opened(named, answer)) ?? lost()
    }
  }

  function opened(named: Named, answer: Uint8Array): Given | null {
    try {
      return given_shape().parse(JSON.parse(ring.unseal(placeOf(named), answer)))
    } catch (error) {
      // Sealed by a key that is not here any more: it was done, and what came of it cannot be told.
      if (error instanceof SealBroken) return null
      throw error
    }
  }

  const lost = (): Given =>
    render(
      new ApiError('OUTCOME_UNKNOWN', {
        message:
          'the first call of this Idempotency-Key was interrupted: look whether it was done before doing it again',
      }),
      words,
    )

  return async (named, work) => {
    const me = Symbol(named.route)
    let began = false
    try {
      const found = await claim(named, me)
      if (found !== null) return { first: false, given: repeated(named, found) }
      try {
        const body = await work(() => (began = true))
        await keep(named, { status: 200, headers: {}, body })
        return { first: true, body }
      } catch (error) {
        const undone = !began || (error instanceof ApiError && !error.billed)
        if (undone) await end(named, (name) => releaseName(db, name))
        else await keep(named, render(toKnown(error), words))
        throw error
      }
    } finally {
      leave(named, me)
    }
  }
}

const RETRY_RUNNING_S = 2

const toKnown = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError('internal_error')

/** What the sealed answer is bound to; also the name by which a running write is known. */
const placeOf = ({ key_id, route, name }: WriteName): string =>
  `named_writes.answer:${key_id}:${route}:${name}`

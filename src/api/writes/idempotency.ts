import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { type Ring, SealBroken } from '../../core/base/secrets.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { judgeRepeat } from '../../core/limits/idempotency.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import {
  claimName,
  findNamedWrite,
  type NamedWrite,
  recordAnswer,
  releaseName,
  type WriteName,
} from '../../store/customers/idempotency.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import type { GroupCommit } from '../../store/db/group-commit.ts'
import { render } from '../http/errors.ts'

/** Write with an Idempotency-Key, and the hash of its body. */
export type Named = WriteName & { body_hash: Uint8Array }

const given_shape = once(() =>
  z.object({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.record(z.string(), z.unknown()),
  }),
)
/** Stored answer, given again to a repeat. */
type Given = z.infer<ReturnType<typeof given_shape>>

export type Body = Record<string, unknown>

/** Running write. It calls `begun` before the platform is called. */
type Work = (begun: () => void) => Promise<Body>

/**
 * Runs a write once per Idempotency-Key. Its answer, including an error, is stored and given to
 * repeats. A write that failed before it began, or that was certainly not made, releases the key.
 * 409 for a different body, and while the first call runs.
 */
export type Idempotency = (
  named: Named,
  work: Work,
) => Promise<{ first: true; body: Body } | { first: false; given: Given }>

export type IdempotencyDeps = {
  db: Db
  groupCommit: GroupCommit
  clock: Clock
  log: Log
  words: Naming
  ring: Pick<Ring, 'seal' | 'unseal'>
}

/**
 * Creates the idempotency. Keys are claimed in the database before any request, so that even a
 * crash cannot repeat a write.
 */
export function createIdempotency({
  db,
  groupCommit,
  clock,
  log,
  words,
  ring,
}: IdempotencyDeps): Idempotency {
  /**
   * Running writes of this process by key. A claim without an answer and without an entry here was
   * interrupted.
   */
  const running = new Map<string, { me: symbol; body_hash: Uint8Array }>()

  /** Claims the key; returns the existing claim, or null. */
  const claim = (named: Named, me: symbol): Promise<NamedWrite | null> =>
    groupCommit(() => {
      const { body_hash, ...name } = named
      const found = findNamedWrite(db, name, clock.now())
      if (found !== null) return found
      // A claim that expired by a clock change is still valid while its write runs.
      const other = running.get(placeOf(named))
      if (other !== undefined && other.me !== me)
        return { body_hash: other.body_hash, answer: null }
      claimName(db, { ...name, body_hash }, clock.now())
      running.set(placeOf(named), { me, body_hash })
      return null
    })

  function finish(named: Named, me: symbol) {
    if (running.get(placeOf(named))?.me === me) running.delete(placeOf(named))
  }

  /**
   * Stores the answer. If that fails, the answer is returned all the same: the write was made, and
   * its claim stays.
   */
  async function end(named: Named, write: (name: WriteName) => void): Promise<void> {
    const { body_hash: _, ...name } = named
    try {
      await groupCommit(() => write(name))
    } catch (error) {
      if (!isStorageError(error)) throw error
      log('error', 'writes.result_not_stored', { route: named.route })
    }
  }

  function storeAnswer(named: Named, given: Given): Promise<void> {
    const sealed = ring.seal(placeOf(named), JSON.stringify(given))
    return end(named, (name) => recordAnswer(db, name, sealed))
  }

  function answerRepeat(named: Named, { body_hash, answer }: NamedWrite): Given {
    const claimed = {
      body_hash,
      answered: answer !== null,
      running: running.has(placeOf(named)),
    }
    switch (judgeRepeat(claimed, named.body_hash)) {
      case 'mismatch':
        throw new ApiError('IDEMPOTENCY_MISMATCH', {
          message: 'this Idempotency-Key was used with a different body',
        })
      case 'in_progress':
        throw new ApiError('IN_PROGRESS', {
          message: 'the first call with this Idempotency-Key is still running',
          retry_after_s: RETRY_RUNNING_S,
        })
      case 'replay':
      case 'unknown':
        return (answer && decryptAnswer(named, answer)) ?? interruptedAnswer()
    }
  }

  function decryptAnswer(named: Named, answer: Uint8Array): Given | null {
    try {
      return given_shape().parse(JSON.parse(ring.unseal(placeOf(named), answer)))
    } catch (error) {
      // Sealed with a key that is no longer configured: the write was made, and its answer is
      // unreadable.
      if (error instanceof SealBroken) return null
      throw error
    }
  }

  const interruptedAnswer = (): Given =>
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
      if (found !== null) return { first: false, given: answerRepeat(named, found) }
      try {
        const body = await work(() => (began = true))
        await storeAnswer(named, { status: 200, headers: {}, body })
        return { first: true, body }
      } catch (error) {
        const undone = !began || (error instanceof ApiError && !error.billed)
        if (undone) await end(named, (name) => releaseName(db, name))
        else await storeAnswer(named, render(asApiError(error), words))
        throw error
      }
    } finally {
      finish(named, me)
    }
  }
}

const RETRY_RUNNING_S = 2

const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError('internal_error')

/** Associated data of the sealed answer; also the id of a running write. */
const placeOf = ({ key_id, route, name }: WriteName): string =>
  `idempotent_writes.answer:${key_id}:${route}:${name}`

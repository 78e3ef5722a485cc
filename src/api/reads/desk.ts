import type { Infra } from '../infra.ts'
import { createSessions, type SessionDeps, type Sessions } from '../session.ts'
import { type Answer, type AnswerShared, createAnswers, createRows, type Rows } from './answer.ts'
import { createDeepGate, createReadGate, type Gate } from './gate.ts'
import { createShapes } from './shapes.ts'

/** What the reads need to know beside what is read. */
export type ReadsOptions = Omit<SessionDeps, 'words'> & {
  /** `[limits]`, as they are at the moment of a call; 0 is no limit. */
  limits: {
    readonly deep_search_concurrency: number
    readonly degraded_reads_per_key: number
    readonly degraded_waiting_per_key: number
  }
  /** Whether the platform answers badly at the moment. */
  degraded: () => boolean
}

/** What every group of reads works with. */
export type Desk = Pick<Infra, 'words' | 'keyed'> &
  Sessions & {
    answer: Answer
    answerShared: AnswerShared
    rows: Rows
    shapes: ReturnType<typeof createShapes>
    deepGate: Gate
  }

/** Makes it once: the gates count over all groups together. */
export function createDesk({ words, keyed, meter, clock }: Infra, options: ReadsOptions): Desk {
  const { limits } = options
  const room = () => ({
    in_flight: limits.degraded_reads_per_key,
    waiting: limits.degraded_waiting_per_key,
  })
  const readGate = createReadGate(clock, room, options.degraded)
  return {
    words,
    keyed,
    ...createSessions({ words, ...options }),
    ...createAnswers(meter, readGate),
    rows: createRows(words),
    shapes: createShapes(words),
    deepGate: createDeepGate(clock, () => limits.deep_search_concurrency),
  }
}

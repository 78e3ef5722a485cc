import type { Infra } from '../infra.ts'
import { createSessions, type SessionDeps, type Sessions } from '../session.ts'
import { type Answer, createAnswer, createRows, type Rows } from './answer.ts'
import { createDeepGate, createReadGate, type Gate } from './gate.ts'
import { createShapes } from './shapes.ts'

/** What the reads need to know beside what is read. */
export type ReadsOptions = Omit<SessionDeps, 'words'> & {
  /** `[limits]`; 0 is no limit. */
  deep_search_concurrency: number
  degraded_reads_per_key: number
  degraded_waiting_per_key: number
  /** Whether the platform answers badly at the moment. */
  degraded: () => boolean
}

/** What every group of reads works with. */
export type Desk = Pick<Infra, 'words' | 'keyed'> &
  Sessions & {
    answer: Answer
    rows: Rows
    shapes: ReturnType<typeof createShapes>
    deepGate: Gate
  }

/** Makes it once: the gates count over all groups together. */
export function createDesk({ words, keyed, meter, clock }: Infra, options: ReadsOptions): Desk {
  const { degraded_reads_per_key: in_flight, degraded_waiting_per_key: waiting } = options
  const readGate = createReadGate(clock, { in_flight, waiting }, options.degraded)
  return {
    words,
    keyed,
    ...createSessions({ words, ...options }),
    answer: createAnswer(meter, readGate),
    rows: createRows(words),
    shapes: createShapes(words),
    deepGate: createDeepGate(clock, options.deep_search_concurrency),
  }
}

import { createPatternJudge } from '../../src/patterns/judge.ts'
import { createPatternThread } from '../../src/patterns/thread.ts'
import { realClock } from '../../src/runtime/runtime.ts'

/** A judge as the daemon has it; its thread starts with the first pattern and ends soon after the last. */
export const realPatterns = () =>
  createPatternJudge(realClock, createPatternThread(realClock, { idle_ms: 1000 }))

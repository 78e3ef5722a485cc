// The thread in which customers' patterns run. It holds nothing that cannot be lost: the other side ends it whenever an
// answer takes too long.
import { heapSize } from 'bun:jsc'
import { parentPort } from 'node:worker_threads'

import { measurePattern } from '../core/pattern/cost.ts'
import { compilePattern, createPatternCache, NO_PATTERN } from '../core/pattern/evaluate.ts'
import type { Slice, SliceResult, ThreadReply, ThreadRequest } from './protocol.ts'

/** After this much processor time the slice is answered as far as it is, so that other tasks get their turn. */
const SLICE_MS = 20
/** All compiled patterns are dropped above this; one pattern's automaton takes up to 8 MiB. */
const HEAP_MAX_BYTES = 32 * 1024 * 1024

/** Processor time of this thread, in ms: what else runs on the machine is not charged to a customer. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const cache = createPatternCache(() => heapSize() > HEAP_MAX_BYTES)

function evaluate({ patterns, case_sensitive, texts, from_pattern, keep }: Slice): SliceResult {
  const began_ms = cpuMs()
  const indexes: number[] = []
  const compiled = new Map<number, (text: string) => boolean>()
  const testOf = (at: number) => {
    const pattern = patterns[at] ?? ''
    if (keep) return cache.testOf(pattern, case_sensitive)
    let test = compiled.get(at)
    if (test === undefined) compiled.set(at, (test = compilePattern(pattern, case_sensitive)))
    if (heapSize() > HEAP_MAX_BYTES) compiled.clear()
    return test
  }
  let pattern_at = from_pattern
  for (const fields of texts) {
    let index = NO_PATTERN
    for (; pattern_at < patterns.length && index === NO_PATTERN; pattern_at++) {
      if (indexes.length > 0 || pattern_at > from_pattern) {
        const cpu_ms = cpuMs() - began_ms
        if (cpu_ms > SLICE_MS) return { indexes, next_pattern: pattern_at, cpu_ms }
      }
      if (fields.some(testOf(pattern_at))) index = pattern_at
    }
    indexes.push(index)
    pattern_at = 0
  }
  return { indexes, next_pattern: 0, cpu_ms: cpuMs() - began_ms }
}

function reply(request: ThreadRequest): ThreadReply {
  try {
    if ('slice' in request) return evaluate(request.slice)
    const began_ms = cpuMs()
    const { pattern, case_sensitive } = request.cost
    const cost_ms = measurePattern(pattern, case_sensitive, cpuMs)
    return { cost_ms, cpu_ms: cpuMs() - began_ms }
  } catch (error) {
    return { failed: String(error) }
  }
}

parentPort?.on('message', (request: ThreadRequest) => send(reply(request)))
send({ ready: true })

function send(answer: ThreadReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(answer)
}

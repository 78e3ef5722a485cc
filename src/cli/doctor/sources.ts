import type { Config } from '../../config/schema.ts'
import type { Fault } from '../../core/base/result.ts'
import type { PlatformTools, TestedSource } from '../account/platform-tools.ts'
import { faultSentence } from '../account/source.ts'
import { bad, type Check, type CheckResult, doubtful, fine } from './check.ts'

/** Requests each source once. `onClock` receives the lead of the clock of each that answered, in ms. */
export function sourceChecks(
  { source }: Config,
  tools: PlatformTools,
  { onClock }: { onClock: (ahead_ms: number) => void },
): Check[] {
  return source.map(({ name }) => ({
    title: `checking the source ${name}`,
    async run() {
      const tested = await tools.trySources(name)
      return tested.map((it) => {
        if (it.ahead_ms !== null) onClock(it.ahead_ms)
        return answerOf(it)
      })
    },
  }))
}

function answerOf({ name, kind, url, capabilities, answer }: TestedSource): CheckResult {
  if (!answer.ok) return failureOf(name, url, answer.fault)
  const { title, version, notes } = answer.value
  const found = [
    `${title ?? url} (${kind}${version === null ? '' : ` ${version}`}) answers ${capabilities.length} kinds of calls`,
    ...notes,
  ]
  return fine('source', found.join('; '), name)
}

/** Faults of a site that exists and may answer later. */
const PASSING: ReadonlySet<Fault['kind']> = new Set(['throttled', 'blocked', 'timeout'])

function failureOf(name: string, url: string, fault: Fault): CheckResult {
  const found = `${url}: ${faultSentence(fault)}`
  const is_passing =
    PASSING.has(fault.kind) || (fault.kind === 'unavailable' && fault.status !== null)
  return is_passing
    ? doubtful('source', found, `wait, then: forumd source test ${name}`, name)
    : bad('source', found, `check the [[source]] table of ${name}, and the network`, name)
}

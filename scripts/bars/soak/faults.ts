import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import type { SeededRandom } from '../../../sandbox/world/random.ts'

/** Network faults of a response. */
const FAULTS = ['reset', 'truncated', '5xx'] as const
const CHECK_EVERY_MS = 200
/** A due fault strikes after at most this many requests. */
const PASS_MAX = 10

/** Fails this share of the platform requests until it is disposed of. */
export function startFaultInjection(
  sandbox: Sandbox,
  { chance, share }: { chance: SeededRandom; share: number },
): Disposable & { struck(): number } {
  const lastRequest = () => sandbox.requests.at(-1)?.seq ?? 0
  let seen = lastRequest()
  let owed = 0
  let struck = 0
  const timer = setInterval(() => {
    const now = lastRequest()
    owed += (now - seen) * share
    seen = now
    for (; owed >= 1; owed--) {
      struck++
      const skip = chance.whole(0, PASS_MAX)
      sandbox.addFault({ path: '/', fault: chance.pick(FAULTS), times: 1, skip })
    }
  }, CHECK_EVERY_MS)
  return {
    struck: () => struck,
    [Symbol.dispose]() {
      clearInterval(timer)
      sandbox.clearFaults()
    },
  }
}

import type { Sandbox } from '../../sandbox/server/sandbox.ts'
import type { SeededRandom } from '../../sandbox/world/random.ts'

/** What a network does to an answer. */
const FAULTS = ['reset', 'truncated', '5xx'] as const
const CHECK_EVERY_MS = 200
/** So many requests pass at most before a fault that is due strikes. */
const PASS_MAX = 10

/** Lets such a share of the requests to the platform go wrong, until it is disposed of. */
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

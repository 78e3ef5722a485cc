import type { Chance } from '../../src/sandbox/chance.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'

/** What a network does to an answer. */
const FAULTS = ['reset', 'truncated', '5xx'] as const
const LOOK_EVERY_MS = 200
/** So many requests pass at most before a fault that is due strikes. */
const PASS_MAX = 10

/** Lets such a share of the requests to the platform go wrong, until it is disposed of. */
export function startWeather(
  sandbox: Sandbox,
  { chance, share }: { chance: Chance; share: number },
): Disposable & { struck(): number } {
  const asked = () => sandbox.requests.at(-1)?.seq ?? 0
  let seen = asked()
  let owed = 0
  let struck = 0
  const timer = setInterval(() => {
    const now = asked()
    owed += (now - seen) * share
    seen = now
    for (; owed >= 1; owed--) {
      struck++
      const skip = chance.whole(0, PASS_MAX)
      sandbox.weather({ path: '/', fault: chance.pick(FAULTS), times: 1, skip })
    }
  }, LOOK_EVERY_MS)
  return {
    struck: () => struck,
    [Symbol.dispose]() {
      clearInterval(timer)
      sandbox.clearWeather()
    },
  }
}

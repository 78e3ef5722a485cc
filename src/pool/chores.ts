import { loggedCode } from '../core/error-code.ts'
import type { Finding } from '../core/pool.ts'
import type { Clock, Log } from '../outside.ts'
import type { createCare } from './care.ts'
import { choreOf, type Member } from './member.ts'

type ChoresDeps = {
  care: ReturnType<typeof createCare>
  /** The same account as it is held now. */
  current: (it: Member) => Member
  clock: Clock
  log: Log
  /** Wakes the loop that looks for more to do. */
  nudge: () => void
}

const AT_ONCE = 4

/** What is done for accounts beside their reads, one thing at a time for each of them. */
export function createChores({ care, current, clock, log, nudge }: ChoresDeps) {
  const under_way = new Set<Promise<void>>()
  const work = {
    probe: async (it: Member) => void (await care.probe(it)),
    sign_in: care.signIn,
    renew: care.renew,
  }

  function start(it: Member, chore: (it: Member) => Promise<void>): Promise<void> {
    it.busy = true
    const ended = chore(it)
      .catch((error: unknown) => {
        log('error', 'account.chore_failed', { account: it.name, code: loggedCode(error) })
      })
      .finally(() => {
        it.busy = false
        current(it).busy = false
        under_way.delete(ended)
        nudge()
      })
    under_way.add(ended)
    return ended
  }

  return {
    /** Starts what is due, as much of it at once as may be. */
    startDue(members: readonly Member[]) {
      for (const it of members) {
        if (under_way.size >= AT_ONCE) break
        const chore = choreOf(it, clock.now(), clock.mono())
        if (chore !== null) void start(it, work[chore])
      }
    },
    /** Asks the platform who an account is, now; null when there is nothing to ask with. */
    async probe(it: Member): Promise<Finding['kind'] | null> {
      const found: (Finding | null)[] = []
      await start(it, async (member) => void found.push(await care.probe(member)))
      return found[0]?.kind ?? null
    },
    /** Resolves when what was started has ended. */
    async idle() {
      while (under_way.size > 0) await Promise.all(under_way)
    },
  }
}

import type { Clock, Log } from '../../outside.ts'
import type { Launch, Running } from './launch.ts'

/** A running Chromium, for the time of one call. */
export type Borrowed = {
  running: Running
  /** Must be called once. `broken`: it did not do what it was told, so it goes as soon as nobody else uses it. */
  done(broken: boolean): void
}

type Borrowing = { ok: true; borrowed: Borrowed } | { ok: false; why: string }

/** Lends one browser to whoever needs it. */
export type Keeper = {
  borrow(): Promise<Borrowing>
  /** Ends the browser, whoever uses it. Nothing is lent afterwards. */
  close(): Promise<void>
}

type Kept = { running: Running; users: number; uses: number; retired: boolean }

type Deps = {
  launch: Launch
  clock: Clock
  log: Log
  /** After so many calls it makes room for a fresh one: pages leave something behind. */
  uses_max: number
  /** Unused for so long, it goes: it is the largest thing the daemon has in memory. */
  idle_ms: number
}

/** Keeps at most one Chromium for new calls, started when it is wanted and gone when it is not. */
export function createKeeper({ launch, clock, log, uses_max, idle_ms }: Deps): Keeper {
  let current: Kept | null = null
  let starting: Promise<Kept | string> | null = null
  let napping = new AbortController()
  let closed = false
  const all = new Set<Kept>()

  async function start(): Promise<Kept | string> {
    const launched = await launch()
    starting = null
    if (!launched.ok) {
      log('warn', 'browser.unavailable', { reason: launched.why })
      return launched.why
    }
    const { running } = launched
    const kept: Kept = { running, users: 0, uses: 0, retired: false }
    if (closed) {
      await running.kill()
      return 'the daemon is stopping'
    }
    all.add(kept)
    current = kept
    log('info', 'browser.started', {
      pid: running.pid,
      state: running.bare ? 'without_sandbox' : 'sandboxed',
    })
    rest(kept)
    running.chromium.once('disconnected', () => void end(kept, 'gone'))
    return kept
  }

  /** Whoever has nothing to do is let go after a while. */
  function rest(kept: Kept) {
    napping.abort()
    napping = new AbortController()
    const { signal } = napping
    void clock.sleep(idle_ms, signal).then(() => {
      if (!signal.aborted && kept.users === 0) void end(kept, 'idle')
    })
  }

  async function end(kept: Kept, reason: string): Promise<void> {
    if (current === kept) current = null
    if (all.delete(kept)) log('info', 'browser.ended', { pid: kept.running.pid, reason })
    await kept.running.kill()
  }

  function lend(kept: Kept): Borrowed {
    kept.users += 1
    kept.uses += 1
    if (kept.uses >= uses_max) retire(kept)
    let given_back = false
    return {
      running: kept.running,
      done(broken) {
        if (given_back) return
        given_back = true
        kept.users -= 1
        if (broken) retire(kept)
        if (kept.users > 0) return
        if (kept.retired) void end(kept, broken ? 'broken' : 'worn')
        else rest(kept)
      },
    }
  }

  function retire(kept: Kept) {
    kept.retired = true
    if (current === kept) current = null
  }

  return {
    async borrow() {
      // More than one turn only where another call wore out what this one had been waiting for.
      for (;;) {
        if (closed) return { ok: false, why: 'the daemon is stopping' }
        const kept = current ?? (await (starting ??= start()))
        if (typeof kept === 'string') return { ok: false, why: kept }
        if (kept === current) return { ok: true, borrowed: lend(kept) }
      }
    },
    async close() {
      closed = true
      napping.abort()
      await starting
      await Promise.all([...all].map((kept) => end(kept, 'closed')))
    },
  }
}

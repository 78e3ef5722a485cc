import type { Clock, Log } from '../../../runtime/runtime.ts'
import type { Launch, LaunchedBrowser } from './launch.ts'

export type BrowserLease = {
  running: LaunchedBrowser
  /**
   * Must be called once. `broken`: it no longer obeys, so it is ended as soon as no other call uses
   * it.
   */
  done(broken: boolean): void
}

type Borrowing = { ok: true; borrowed: BrowserLease } | { ok: false; why: string }

export type BrowserPool = {
  borrow(): Promise<Borrowing>
  /** Ends the browser and the calls that use it. Nothing is lent afterwards. */
  close(): Promise<void>
}

type PooledBrowser = { running: LaunchedBrowser; users: number; uses: number; retired: boolean }

type Deps = {
  launch: Launch
  clock: Clock
  log: Log
  /** Calls after which a fresh browser replaces it, because pages leave memory behind. */
  uses_max: number
  /**
   * Time unused after which the browser is ended: it is the largest part of the daemon's memory.
   */
  idle_ms: number
}

export function createBrowserPool({ launch, clock, log, uses_max, idle_ms }: Deps): BrowserPool {
  let current: PooledBrowser | null = null
  let starting: Promise<PooledBrowser | string> | null = null
  let napping = new AbortController()
  let closed = false
  const all = new Set<PooledBrowser>()

  async function start(): Promise<PooledBrowser | string> {
    const launched = await launch()
    starting = null
    if (!launched.ok) {
      log('warn', 'browser.unavailable', { reason: launched.why })
      return launched.why
    }
    const { running } = launched
    const browser: PooledBrowser = { running, users: 0, uses: 0, retired: false }
    if (closed) {
      await running.kill()
      return 'the daemon is stopping'
    }
    all.add(browser)
    current = browser
    log('info', 'browser.started', {
      pid: running.pid,
      state: running.bare ? 'without_sandbox' : 'sandboxed',
    })
    rest(browser)
    running.chromium.once('disconnected', () => void end(browser, 'gone'))
    return browser
  }

  function rest(browser: PooledBrowser) {
    napping.abort()
    napping = new AbortController()
    const { signal } = napping
    void clock.sleep(idle_ms, signal).then(() => {
      if (!signal.aborted && browser.users === 0) void end(browser, 'idle')
    })
  }

  async function end(browser: PooledBrowser, reason: string): Promise<void> {
    if (current === browser) current = null
    if (all.delete(browser)) log('info', 'browser.ended', { pid: browser.running.pid, reason })
    await browser.running.kill()
  }

  function lease(browser: PooledBrowser): BrowserLease {
    browser.users += 1
    browser.uses += 1
    if (browser.uses >= uses_max) retire(browser)
    let given_back = false
    return {
      running: browser.running,
      done(broken) {
        if (given_back) return
        given_back = true
        browser.users -= 1
        if (broken) retire(browser)
        if (browser.users > 0) return
        if (browser.retired) void end(browser, broken ? 'broken' : 'worn')
        else rest(browser)
      },
    }
  }

  function retire(browser: PooledBrowser) {
    browser.retired = true
    if (current === browser) current = null
  }

  return {
    async borrow() {
      // Repeats only if another call used up the browser that this one waited for.
      for (;;) {
        if (closed) return { ok: false, why: 'the daemon is stopping' }
        const browser = current ?? (await (starting ??= start()))
        if (typeof browser === 'string') return { ok: false, why: browser }
        if (browser === current) return { ok: true, borrowed: lease(browser) }
      }
    },
    async close() {
      closed = true
      napping.abort()
      await starting
      await Promise.all([...all].map((browser) => end(browser, 'closed')))
    },
  }
}

/** One of a limited number of places. `leave` must be called once. */
type Seat = { leave(): void }

/** Limits the calls at once; further ones wait in order of arrival. */
export type Seats = {
  /** Null if no seat became free before the deadline or the signal. */
  take(deadline_at: number, signal?: AbortSignal): Promise<Seat | null>
}

/** Creates `count` seats, given out in order of arrival. */
export function createSeats(count: number, clock: Clock): Seats {
  let free = count
  const line: (() => void)[] = []

  function seat(): Seat {
    free -= 1
    let left = false
    return {
      leave() {
        if (left) return
        left = true
        free += 1
        line.shift()?.()
      },
    }
  }

  return {
    async take(deadline_at, signal) {
      if (signal?.aborted) return null
      if (free > 0 && line.length === 0) return seat()
      const over = new AbortController()
      const give_up = () => over.abort()
      signal?.addEventListener('abort', give_up)
      let mine: Seat | null = null
      const called = new Promise<void>((resolve) => {
        const call = () => {
          // Taken synchronously, so that no later call can take it in between.
          mine = seat()
          resolve()
        }
        line.push(call)
        over.signal.addEventListener('abort', () => {
          const at = line.indexOf(call)
          if (at !== -1) line.splice(at, 1)
        })
      })
      await Promise.race([called, clock.sleep(deadline_at - clock.now(), over.signal)])
      over.abort()
      signal?.removeEventListener('abort', give_up)
      return mine
    },
  }
}

import { rmSync } from 'node:fs'

import type { BrowserContext } from 'puppeteer-core'

import type { ProxyTrouble } from '../../core/outcome.ts'
import type { Proxy } from '../../core/proxy.ts'
import type { Guard } from '../../net/guard.ts'
import type { Clock, Log, Random, Resolve } from '../../outside.ts'
import type { Eyes } from '../platform.ts'
import { type Bridge, openBridge } from './bridge.ts'
import { createDial } from './dial.ts'
import { createInside } from './inside.ts'
import { type Borrowed, createKeeper } from './keeper.ts'
import { createLaunch } from './launch.ts'
import { createSeats } from './seats.ts'
import { type Guise, openTab, type Tab } from './tab.ts'

/** The ways out that a browser has; others are for what goes over plain HTTP. */
export const BROWSER_SCHEMES: readonly Proxy['scheme'][] = ['http', 'https', 'socks5']

/** One call that needs a browser: from where, by when, as whom. */
type Visiting = Pick<Eyes, 'proxy' | 'whose' | 'lent'> &
  Guise & {
    /** Epoch ms. */
    deadline_at: number
    signal?: AbortSignal | undefined
  }

/**
 * What became of a call: `timeout` no seat or no end in time, `scheme` a proxy that browsers do not know,
 * `unavailable` no browser, `lost` the browser or the way to the platform failed (`trouble`: the proxy's, where it was).
 */
export type VisitFault =
  | { kind: 'timeout' }
  | { kind: 'scheme' }
  | { kind: 'unavailable'; why: string }
  | { kind: 'lost'; trouble: ProxyTrouble | null }

type Visited<T> = { ok: true; value: T } | { ok: false; fault: VisitFault }

/** A real browser, for what only a page can do. */
export type Browser = {
  /**
   * One page with nothing in it but what it is given, closed when `work` ends, whichever way. Whatever `work` throws is
   * `lost`. Never rejects.
   */
  visit<T>(visiting: Visiting, work: (tab: Tab) => Promise<T>): Promise<Visited<T>>
  /** Ends the browser and every call. */
  close(): Promise<void>
}

type Options = {
  /** A path, or a name on PATH; empty: Chromium or Chrome, whichever is found first. */
  executable: string
  sandbox: 'auto' | boolean
  /** Pages open at once; further calls wait. */
  max_pages: number
  /** For the browser's own files. What an earlier run left there is removed, so it belongs to one daemon. */
  folder: string
  /** The platform's address. */
  base_url: string
  /** Put behind the browser's own. */
  user_agent: string
  clock: Clock
  random: Pick<Random, 'bytes'>
  resolve: Resolve
  guard: Guard
  log: Log
  /** The platform's authorities in PEM, instead of the system's; for https proxies, beside the public ones. */
  ca?: string | undefined
  /** 50: calls after which a fresh browser is started. */
  uses_max?: number
  /** 30,000: how long an unused browser stays. */
  idle_ms?: number
}

const USES_MAX = 50
const IDLE_MS = 30_000
/** What does not close in this time is ended with everything around it. */
const CLOSE_MS = 3_000

/** Removes what browsers of an earlier run left in their folder. Never throws: one that is still ending may add to it. */
export function removeLeft(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // It is in nobody's way, and removed with what the next ones leave.
  }
}

/** Makes a browser that is started when it is first wanted. */
export function createBrowser(options: Options): Browser {
  const { clock, log, random, resolve, guard, ca } = options
  const { uses_max = USES_MAX, idle_ms = IDLE_MS } = options
  const home = new URL(options.base_url)
  const seats = createSeats(options.max_pages, clock)
  const inside = ca !== undefined && home.protocol === 'https:' ? createInside(home, ca) : null
  const believed = inside?.fingerprint ?? null
  const launch = createLaunch({ ...options, believed })
  const keeper = createKeeper({ launch, clock, log, uses_max, idle_ms })
  removeLeft(options.folder)

  async function within<T>(
    visiting: Visiting,
    { running, done }: Borrowed,
    over: AbortSignal,
    work: (tab: Tab) => Promise<T>,
  ): Promise<Visited<T>> {
    const { proxy, whose, lent } = visiting
    const guarded = whose === 'caller' && lent === undefined
    let bridge: Bridge | null = null
    let context: BrowserContext | null = null
    try {
      bridge = await openBridge({
        dial: createDial({ resolve, guard, clock, home, ca }, { proxy, guarded }),
        password: Buffer.from(random.bytes(24)).toString('base64url'),
        home,
        inside,
      })
      context = await running.chromium.createBrowserContext({
        proxyServer: `http://127.0.0.1:${bridge.port}`,
        // Without this, what is on the loopback would go past the bridge.
        proxyBypassList: ['<-loopback>'],
        downloadBehavior: { policy: 'deny' },
      })
      const working = openTab(context, bridge, home, visiting).then(work)
      return await Promise.race([
        working.then((value): Visited<T> => ({ ok: true, value })),
        ended(over),
      ])
    } catch {
      const trouble = bridge?.trouble() ?? null
      return failed({ kind: 'lost', trouble: trouble === 'unreached' ? null : trouble })
    } finally {
      bridge?.close()
      done(!(await closed(context)))
    }
  }

  /** Whether a context went when it was told to. */
  async function closed(context: BrowserContext | null): Promise<boolean> {
    const late = new AbortController()
    const going = (context?.close() ?? Promise.resolve()).then(
      () => true,
      () => false,
    )
    const well = await Promise.race([going, clock.sleep(CLOSE_MS, late.signal).then(() => false)])
    late.abort()
    return well
  }

  /** The call in its seat. What is borrowed late is given back at once. */
  async function seated<T>(visiting: Visiting, over: AbortSignal, work: (tab: Tab) => Promise<T>) {
    const lent = await keeper.borrow()
    if (!lent.ok) return failed({ kind: 'unavailable', why: lent.why })
    if (over.aborted) {
      lent.borrowed.done(false)
      return failed({ kind: 'timeout' })
    }
    return within(visiting, lent.borrowed, over, work)
  }

  return {
    async visit(visiting, work) {
      const { proxy, deadline_at, signal } = visiting
      if (proxy !== null && !BROWSER_SCHEMES.includes(proxy.scheme))
        return failed({ kind: 'scheme' })
      const seat = await seats.take(deadline_at, signal)
      if (seat === null) return failed({ kind: 'timeout' })
      const [over, done] = [new AbortController(), new AbortController()]
      const stop = () => over.abort()
      signal?.addEventListener('abort', stop)
      void clock.sleep(deadline_at - clock.now(), done.signal).then(stop)
      const running = seated(visiting, over.signal, work)
      void running.finally(seat.leave)
      // Whoever asked is answered in time; tidying up may take a moment longer, and keeps the seat for it.
      const visited = await Promise.race([running, ended(over.signal)])
      done.abort()
      signal?.removeEventListener('abort', stop)
      return visited
    },
    close: keeper.close,
  }
}

const failed = (fault: VisitFault): { ok: false; fault: VisitFault } => ({ ok: false, fault })

const ended = (over: AbortSignal): Promise<{ ok: false; fault: VisitFault }> =>
  new Promise((resolve) => {
    const tell = () => resolve(failed({ kind: 'timeout' }))
    if (over.aborted) tell()
    else over.addEventListener('abort', tell, { once: true })
  })

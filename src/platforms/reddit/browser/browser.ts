import { rmSync } from 'node:fs'

import type { BrowserContext } from 'puppeteer-core'

import type { Proxy } from '../../../core/forum/proxy.ts'
import type { Guard } from '../../../net/guard.ts'
import type { Clock, Log, Random, Resolve } from '../../../runtime/runtime.ts'
import type { BrowserFault, Identity } from '../../port.ts'
import { createLaunch } from './launch.ts'
import { type BrowserProfile, openTab, type Tab } from './page.ts'
import { type BrowserLease, createBrowserPool, createSeats } from './pool.ts'
import { createDial } from './proxy-dial.ts'
import { type Bridge, openBridge } from './proxy.ts'
import { createProxyTls } from './tls.ts'

/** Proxy schemes that a browser supports; the others serve plain HTTP requests only. */
export const BROWSER_SCHEMES: readonly Proxy['scheme'][] = ['http', 'https', 'socks5']

type TabRequest = Pick<Identity, 'proxy' | 'whose' | 'pool_proxy'> &
  BrowserProfile & {
    deadline_at: number
    signal?: AbortSignal | undefined
  }

type TabResult<T> = { ok: true; value: T } | { ok: false; fault: BrowserFault }

/** A real browser, for actions that only a page can do. */
export type Browser = {
  /**
   * Runs `work` in a fresh page with the given cookies only, and closes the page when `work` ends
   * in any way. An error thrown by `work` is `lost`. Never rejects.
   */
  withTab<T>(request: TabRequest, work: (tab: Tab) => Promise<T>): Promise<TabResult<T>>
  /** Ends the browser and every call. */
  close(): Promise<void>
}

type Options = {
  /** A path, or a name on PATH; empty: Chromium or Chrome, the first one found. */
  executable: string
  sandbox: 'auto' | boolean
  /** Pages open at once; further calls wait. */
  max_pages: number
  /**
   * For the browser's own files. Files of an earlier run are removed, so the folder belongs to one
   * daemon.
   */
  folder: string
  base_url: string
  /** Appended to the browser's own. */
  user_agent: string
  clock: Clock
  random: Pick<Random, 'bytes'>
  resolve: Resolve
  guard: Guard
  log: Log
  /**
   * The platform's certificate authorities in PEM, instead of the system's; for https proxies, in
   * addition to the public ones.
   */
  ca?: string | undefined
  /** Default 50: calls after which a fresh browser is started. */
  uses_max?: number
  /** Default 30,000: time that an unused browser stays. */
  idle_ms?: number
}

const USES_MAX = 50
const IDLE_MS = 30_000
/** A context that does not close in this time is ended together with its browser. */
const CLOSE_MS = 3_000

/** Never throws: a browser that is still ending may add files meanwhile. */
export function removeProfileFiles(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // The remaining files do no harm and are removed at the next start.
  }
}

/** Creates a browser that starts on first use. */
export function createBrowser(options: Options): Browser {
  const { clock, log, random, resolve, guard, ca } = options
  const { uses_max = USES_MAX, idle_ms = IDLE_MS } = options
  const home = new URL(options.base_url)
  const seats = createSeats(options.max_pages, clock)
  const proxy_tls = ca !== undefined && home.protocol === 'https:' ? createProxyTls(home, ca) : null
  const believed = proxy_tls?.fingerprint ?? null
  const launch = createLaunch({ ...options, believed })
  const browsers = createBrowserPool({ launch, clock, log, uses_max, idle_ms })
  removeProfileFiles(options.folder)

  async function within<T>(
    request: TabRequest,
    { running, done }: BrowserLease,
    over: AbortSignal,
    work: (tab: Tab) => Promise<T>,
  ): Promise<TabResult<T>> {
    const { proxy, whose, pool_proxy } = request
    const guarded = whose === 'caller' && pool_proxy === undefined
    let bridge: Bridge | null = null
    let context: BrowserContext | null = null
    try {
      bridge = await openBridge({
        dial: createDial({ resolve, guard, clock, home, ca }, { proxy, guarded }),
        password: Buffer.from(random.bytes(24)).toString('base64url'),
        home,
        proxy_tls,
      })
      context = await running.chromium.createBrowserContext({
        proxyServer: `http://127.0.0.1:${bridge.port}`,
        // Without this, requests to the loopback would bypass the bridge.
        proxyBypassList: ['<-loopback>'],
        downloadBehavior: { policy: 'deny' },
      })
      const working = openTab(context, bridge, home, request).then(work)
      return await Promise.race([
        working.then((value): TabResult<T> => ({ ok: true, value })),
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

  async function closed(context: BrowserContext | null): Promise<boolean> {
    const timer = new AbortController()
    const going = (context?.close() ?? Promise.resolve()).then(
      () => true,
      () => false,
    )
    const well = await Promise.race([going, clock.sleep(CLOSE_MS, timer.signal).then(() => false)])
    timer.abort()
    return well
  }

  /** Runs a call in its seat. A browser that is borrowed too late is returned at once. */
  async function seated<T>(request: TabRequest, over: AbortSignal, work: (tab: Tab) => Promise<T>) {
    const lease = await browsers.borrow()
    if (!lease.ok) return failed({ kind: 'unavailable', why: lease.why })
    if (over.aborted) {
      lease.borrowed.done(false)
      return failed({ kind: 'timeout' })
    }
    return within(request, lease.borrowed, over, work)
  }

  return {
    async withTab(request, work) {
      const { proxy, deadline_at, signal } = request
      if (proxy !== null && !BROWSER_SCHEMES.includes(proxy.scheme))
        return failed({ kind: 'scheme' })
      const seat = await seats.take(deadline_at, signal)
      if (seat === null) return failed({ kind: 'timeout' })
      const [over, done] = [new AbortController(), new AbortController()]
      const stop = () => over.abort()
      signal?.addEventListener('abort', stop)
      void clock.sleep(deadline_at - clock.now(), done.signal).then(stop)
      const running = seated(request, over.signal, work)
      void running.finally(seat.leave)
      // The caller is answered in time; cleaning up may take longer and keeps the seat meanwhile.
      const result = await Promise.race([running, ended(over.signal)])
      done.abort()
      signal?.removeEventListener('abort', stop)
      return result
    },
    close: browsers.close,
  }
}

const failed = (fault: BrowserFault): { ok: false; fault: BrowserFault } => ({ ok: false, fault })

const ended = (over: AbortSignal): Promise<{ ok: false; fault: BrowserFault }> =>
  new Promise((resolve) => {
    const onAbort = () => resolve(failed({ kind: 'timeout' }))
    if (over.aborted) onAbort()
    else over.addEventListener('abort', onAbort, { once: true })
  })

/** The page's only access to the browser's clock, timers, network and storage. */

let ahead_ms = 0
const followers = new Set<() => void>()

/** Epoch ms on the daemon's clock; the browser's clock until the first synchronisation. */
export const now = (): number => Date.now() + ahead_ms

/** Sets the offset to the daemon's clock. `at`: epoch ms. */
export function syncClock(at: number): void {
  ahead_ms = at - Date.now()
  for (const follow of followers) follow()
}

/** Calls back after each clock synchronisation. Returns the unsubscriber. */
export function onTime(follow: () => void): () => void {
  followers.add(follow)
  return () => followers.delete(follow)
}

/** Calls back once after `ms`. Returns the canceller. */
export function runAfter(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms)
  return () => clearTimeout(timer)
}

/** Calls back every `ms` while the page is visible, and when it becomes visible again. Returns the canceller. */
export function runEvery(ms: number, then: () => void): () => void {
  const runIfVisible = () => {
    if (document.visibilityState === 'visible') then()
  }
  const timer = setInterval(runIfVisible, ms)
  document.addEventListener('visibilitychange', runIfVisible)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', runIfVisible)
  }
}

/** Sends a request to the page's own origin with the session cookie. Rejects if there is no response. */
export const request = (path: string, init: RequestInit): Promise<Response> =>
  fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store', redirect: 'error' })

const RECONNECT_MS = 3000

type EventHandlers = { onData: (data: string) => void; down: (broken: boolean) => void }

/**
 * Subscribes to server-sent events of one name. `onData` receives their data, `down` the connection state. Returns the
 * unsubscriber.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function addListener(
  path: string,
  name: string,
  { onData, down }: EventHandlers,
): () => void {
  let source: EventSource | null = null
  let cancelReconnect: (() => void) | null = null
  function open() {
    if (source !== null) return
    const line = new EventSource(path)
    source = line
    line.addEventListener(name, ({ data }: MessageEvent<string>) => onData(data))
    line.addEventListener('open', () => down(false))
    line.addEventListener('error', () => {
      down(true)
      // Browsers reconnect after a network error, but not after an error response, such as a proxy's 502.
      if (line.readyState !== EventSource.CLOSED) return
      close()
      cancelReconnect = runAfter(RECONNECT_MS, open)
    })
  }
  function close() {
    cancelReconnect?.()
    source?.close()
    source = null
  }
  // A page in the back/forward cache would keep its connection; browsers allow only six per host.
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  open()
  return () => {
    removeEventListener('pagehide', close)
    removeEventListener('pageshow', open)
    close()
  }
}

/** Reads a stored value; null if there is none or storage is disabled. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Stores a value; null removes it. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    // Private windows may refuse storage: the choice then lasts until the page is closed.
  }
}

/** A random text that names one call. `crypto.randomUUID` is absent over plain HTTP. */
export const randomName = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((it) => it.toString(16).padStart(2, '0'))
    .join('')

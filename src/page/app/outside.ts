/** What a page takes from the browser it runs in: the time, the network and a small memory. Nothing else asks for them. */

let ahead_ms = 0
const followers = new Set<() => void>()

/** Epoch milliseconds by the daemon's clock, once it has told it: whoever looks at the page may have another time. */
export const now = (): number => Date.now() + ahead_ms

/** Tells what time it is at the daemon. */
export function tellTime(at: number): void {
  ahead_ms = at - Date.now()
  for (const follow of followers) follow()
}

/** Calls back whenever the daemon has told the time; answers what ends it. */
export function onTime(follow: () => void): () => void {
  followers.add(follow)
  return () => followers.delete(follow)
}

/** Calls back once, later; answers what calls it off. */
export function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms)
  return () => clearTimeout(timer)
}

/** Calls back again and again while the page is looked at, and when it is looked at again; answers what ends it. */
export function every(ms: number, then: () => void): () => void {
  const look = () => {
    if (document.visibilityState === 'visible') then()
  }
  const timer = setInterval(look, ms)
  document.addEventListener('visibilitychange', look)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

/** One request to where the page came from, with the cookie of its session. Rejects when nobody answers. */
export const request = (path: string, init: RequestInit): Promise<Response> =>
  fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store', redirect: 'error' })

const LINE_AGAIN_MS = 3000

type Heard = { heard: (data: string) => void; down: (broken: boolean) => void }

/** Listens to events of one name; answers what ends it. `heard` gets their data, `down` whether the line is broken. */
export function listen(path: string, name: string, { heard, down }: Heard): () => void {
  let source: EventSource | null = null
  let later: (() => void) | null = null
  function open() {
    if (source !== null) return
    const line = new EventSource(path)
    source = line
    line.addEventListener(name, ({ data }: MessageEvent<string>) => heard(data))
    line.addEventListener('open', () => down(false))
    line.addEventListener('error', () => {
      down(true)
      // What broke is mended by the browser; what was refused, by a proxy whose daemon is away, it leaves alone.
      if (line.readyState !== EventSource.CLOSED) return
      close()
      later = after(LINE_AGAIN_MS, open)
    })
  }
  function close() {
    later?.()
    source?.close()
    source = null
  }
  // A page that one may come back to is kept, and its line with it: six of those, and the browser has none left.
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  open()
  return () => {
    removeEventListener('pagehide', close)
    removeEventListener('pageshow', open)
    close()
  }
}

/** What this browser was told to remember under a name. A browser that remembers nothing is no error. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Remembers a value under a name; null forgets it. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    // Private windows may refuse: the choice then holds until the page is left.
  }
}

/** What a page takes from the browser it runs in: the time, the network and a small memory. Nothing else asks for them. */

/** Epoch milliseconds, by the clock of whoever looks at the page. */
export const now = (): number => Date.now()

/** Calls back once, later; answers what calls it off. */
export function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms)
  return () => clearTimeout(timer)
}

/** Calls back again and again while the page is looked at; answers what ends it. */
export function every(ms: number, then: () => void): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible') then()
  }, ms)
  return () => clearInterval(timer)
}

/** One request to where the page came from, with the cookie of its session. Rejects when nobody answers. */
export const request = (path: string, init: RequestInit): Promise<Response> =>
  fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store', redirect: 'error' })

/** Listens to events of one name; answers what ends it. `heard` gets their data, `down` whether the line is broken. */
export function listen(
  path: string,
  name: string,
  { heard, down }: { heard: (data: string) => void; down: (broken: boolean) => void },
): () => void {
  const source = new EventSource(path)
  source.addEventListener(name, ({ data }: MessageEvent<string>) => heard(data))
  source.addEventListener('open', () => down(false))
  source.addEventListener('error', () => down(true))
  return () => source.close()
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

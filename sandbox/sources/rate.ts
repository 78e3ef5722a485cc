type WindowUse = { used: number; ends_at: number }

/** Result of one count: requests left, and the wait until the window ends. */
type RateUse = { allowed: boolean; left: number; wait_s: number }

/** Counts uses in fixed windows, by key. */
export type RateWindows = {
  /** Counts one use of at most `most` in `window_s`. A refused use does not count. */
  take(key: string, most: number, window_s: number, now: number): RateUse
}

const MOST_WINDOWS = 10_000

/** Counter of uses in fixed windows. */
export function createRateWindows(): RateWindows {
  const windows = new Map<string, WindowUse>()
  return {
    take(key, most, window_s, now) {
      let window = windows.get(key)
      if (window === undefined || window.ends_at <= now) {
        if (windows.size >= MOST_WINDOWS) windows.clear()
        window = { used: 0, ends_at: now + window_s * 1000 }
        windows.set(key, window)
      }
      const wait_s = Math.max(1, Math.ceil((window.ends_at - now) / 1000))
      if (window.used >= most) return { allowed: false, left: 0, wait_s }
      window.used++
      return { allowed: true, left: most - window.used, wait_s }
    },
  }
}

import type { PlatformHost } from './request.ts'

/** Request and its result. Cookies and fields are logged by name, without values. */
export type LoggedRequest = {
  seq: number
  /** Epoch ms. */
  at: number
  face: PlatformHost
  method: string
  path: string
  /** Begins with `?`; empty if absent. */
  query: string
  /** Names of the form fields. */
  form: string[]
  user_agent: string | null
  cookies: string[]
  /** User of the valid session or token of the request. */
  user: string | null
  status: number
  /** Fault that affected it. */
  fault: string | null
}

/** Log of platform requests, for tests. */
export type RequestLog = {
  /** Oldest first. */
  readonly entries: readonly LoggedRequest[]
  write(entry: Omit<LoggedRequest, 'seq'>): void
}

const LOG_SIZE = 20_000

/** Log that keeps a bounded number of the latest requests. */
export function createRequestLog(): RequestLog {
  const entries: LoggedRequest[] = []
  let next = 1
  return {
    entries,
    write(entry) {
      if (entries.length >= LOG_SIZE * 2) entries.splice(0, LOG_SIZE)
      entries.push({ seq: next++, ...entry })
    },
  }
}

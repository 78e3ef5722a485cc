import type { Face } from './ask.ts'

/** One request and what became of it. Cookies and fields are named, their values are not kept. */
export type Entry = {
  seq: number
  /** Epoch ms. */
  at: number
  face: Face
  method: string
  path: string
  /** With its question mark; empty where there was none. */
  query: string
  /** Names of the form's fields. */
  form: string[]
  user_agent: string | null
  cookies: string[]
  /** The user whose living session or token came with it. */
  user: string | null
  status: number
  /** The weather that befell it. */
  fault: string | null
}

/** What was asked of the platform, kept for tests to look at. */
export type Journal = {
  /** Oldest first. */
  readonly entries: readonly Entry[]
  write(entry: Omit<Entry, 'seq'>): void
}

const KEPT = 20_000

/** The last requests, as many as are worth keeping. */
export function createJournal(): Journal {
  const entries: Entry[] = []
  let next = 1
  return {
    entries,
    write(entry) {
      if (entries.length >= KEPT * 2) entries.splice(0, KEPT)
      entries.push({ seq: next++, ...entry })
    },
  }
}

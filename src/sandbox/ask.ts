import type { Chance } from './chance.ts'
import type { FormCode } from './form-errors.ts'
import type { Memory } from './memory.ts'
import type { Thing, World } from './model.ts'
import type { Viewer } from './viewer.ts'
import type { Verdict } from './weather.ts'

/** How the weather bends the answer to one request. */
export type Twist = {
  /** Things newer than these do not exist yet: a page from an old cache. */
  stale: { serials: { post: number; comment: number }; until_s: number } | null
  /** How many of the newest rows have vanished. */
  vanished: number
  /** How many rows of a page come twice. */
  repeated: number
  /** Why every place on this path refuses. */
  refuse: 'private' | 'quarantined' | null
  /** How signing in ends, whatever was typed, and with which status. */
  verdict: Verdict | null
  status: number | null
  /** Why every form call is refused. */
  refuse_form: { code: FormCode } | { wait_s: number; worded: boolean } | null
  /** A new comment is taken away before anybody else sees it. */
  filtered: boolean
  /** How the chat refuses. */
  chat: 'forbidden' | 'existing_room' | 'rate' | null
}

/** Weather that changes nothing. */
export const FAIR: Twist = {
  stale: null,
  vanished: 0,
  repeated: 0,
  refuse: null,
  verdict: null,
  status: null,
  refuse_form: null,
  filtered: false,
  chat: null,
}

/** The platform's three faces: pages and calls with cookies, the same under a bearer, chat. */
export type Face = 'www' | 'bearer' | 'chat'

/** A file that came with a form. */
export type UploadedFile = { name: string; type: string; bytes: Uint8Array }

/** One request, read. */
export type Ask = {
  world: World
  memory: Memory
  /** What differs from answer to answer and means nothing. */
  noise: Chance
  face: Face
  /** The host that was asked: `https://host:port`, without a slash at the end. */
  origin: string
  method: string
  /** Without the `.json` and without a slash at the end. */
  path: readonly string[]
  /** What was asked in the address and in a form, together, as the platform reads it. */
  query: URLSearchParams
  /** As it came, where it is text. */
  body: string
  /** Files of the form, by field. */
  files: ReadonlyMap<string, UploadedFile>
  headers: Headers
  cookies: ReadonlyMap<string, string>
  /** Whose cookies it sets; null: of the very host. */
  cookie_domain: string | null
  viewer: Viewer
  twist: Twist
  /** What to do with a private place among several (the platform has been seen to do both). */
  private_in_multi: 'refuse' | 'drop'
}

/** Whether a thing existed when this answer was made. */
export function existed({ stale }: Twist, thing: Thing): boolean {
  if (stale === null) return true
  const limit = thing.kind === 't3' ? stale.serials.post : stale.serials.comment
  return thing.serial < limit && thing.created_s <= stale.until_s
}

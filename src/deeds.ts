import type { Deeds } from './api/writes/writes.ts'
import type { Config } from './config/schema.ts'
import { IMAGE_BYTES_MAX } from './core/image-kind.ts'
import { linkHosts } from './core/permalink.ts'
import { createSignIn } from './gateway/act-login.ts'
import { createActing } from './gateway/act.ts'
import type { EyesOf } from './gateway/looking.ts'
import { createDownload } from './net/download.ts'
import type { Guard } from './net/guard.ts'
import type { Outside } from './outside.ts'
import { BROWSER_SCHEMES } from './platform/browser/browser.ts'
import type { createUpstream } from './upstream.ts'

/** A page takes longer than a request: a browser has to start, to open it, and to type. */
const BROWSER_DEADLINE_MS = 60_000

const browserDeadline = (deadline_ms: number) => Math.max(deadline_ms, BROWSER_DEADLINE_MS)

/** How long a call may take at the platform, in seconds: the longest is one over HTTP that is done again in a browser. */
export const longestAtPlatform = ({
  read_deadline_s,
}: Pick<Config['platform'], 'read_deadline_s'>): number =>
  read_deadline_s + browserDeadline(read_deadline_s * 1000) / 1000

type Around = {
  /** Approves what callers name as their pictures. */
  guard: Guard
  upstream: ReturnType<typeof createUpstream>
  /** Whose ways out a caller's session may borrow. */
  eyes_of: Pick<EyesOf, 'lease' | 'own' | 'way'>
}

/** What the configured platform lets a caller's own account do, and the ways to a session of one. */
export function createDeeds(
  { platform: at }: Config,
  outside: Outside,
  { guard, upstream, eyes_of }: Around,
): Deeds {
  const { platform, login, browser_login, browser_comment } = upstream
  const deadline_ms = at.read_deadline_s * 1000
  const within = {
    eyes_of,
    clock: outside.clock,
    deadline_ms,
    browser_deadline_ms: browserDeadline(deadline_ms),
  }
  return {
    acting: createActing({
      ...within,
      acts: platform.acts,
      browser_comment,
      hosts: linkHosts(at),
    }),
    signIn: createSignIn({ ...within, login, browser_login, browser_schemes: BROWSER_SCHEMES }),
    loadPicture: createDownload({
      ...outside,
      guard,
      user_agent: at.user_agent,
      timeout_ms: at.timeout_s * 1000,
      bytes_max: IMAGE_BYTES_MAX,
    }),
  }
}

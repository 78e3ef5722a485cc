import type { BrowserLogin, CookieJars, Login } from '../port.ts'
import { unsupported, withUnsupported } from '../source.ts'
import type { Forum } from './adapter.ts'

const refuse = (capability: string) => async () => unsupported(capability)
const noSession = refuse('session')
const signIn = async () => ({ ok: false, code: 'UPSTREAM_ERROR' }) as const
const problem = 'there is no source to which an account could belong'

/** Takes the place of a source with accounts where there is none: requests nothing, and refuses every call. */
export const ABSENT: {
  platform: Forum
  jars: CookieJars
  login: Login
  browser_login: BrowserLogin
} = {
  platform: {
    ...withUnsupported({}),
    feed: refuse('home'),
    states: refuse('states'),
    me: noSession,
    blocked: noSession,
    acts: {
      comment: noSession,
      vote: noSession,
      send: noSession,
      threads: noSession,
      messages: noSession,
      profile: noSession,
      picture: noSession,
      readBack: noSession,
      resolveShare: noSession,
    },
    commentOf() {
      throw new Error('an absent platform has no comments')
    },
    headroom: () => ({ requests: 0, until_ms: 0 }),
    budget: () => null,
    isDown: () => false,
    state() {
      throw new Error('an absent platform has no state')
    },
    left_out: () => null,
    isClockKnown: () => false,
    clock_offset_ms: () => 0,
    clock_measured_ms: () => 0,
  },
  jars: {
    empty() {
      throw new Error(problem)
    },
    open: () => null,
    import: () => ({ ok: false, problems: [problem] }),
  },
  login: signIn,
  browser_login: signIn,
}

import { describe } from 'bun:test'

import { createAllowed } from '../../src/core/address.ts'
import type { Proxy } from '../../src/core/proxy.ts'
import { createGuard } from '../../src/net/guard.ts'
import { createOutside, realClock } from '../../src/outside.ts'
import { createBrowser } from '../../src/platform/browser/browser.ts'
import { createBrowserComment } from '../../src/platform/browser/comment.ts'
import { findChromium } from '../../src/platform/browser/launch.ts'
import { createBrowserLogin } from '../../src/platform/browser/login.ts'
import { createJars } from '../../src/platform/cookies.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'

/** Where a real browser has to be, and why it is not. */
const there = findChromium('') !== null
if (!there && !process.env['CI']) console.log('no Chromium on PATH: tests in a browser are skipped')

/** Tests that need a browser: left out where there is none, but never in CI. */
export const inBrowser = describe.skipIf(!there && !process.env['CI'])

/** Longer than any of them takes on a busy machine. */
export const TEST_MS = 120_000
const CALL_MS = 30_000

const PASSWORD = 'open-sesame 3'
export const SECRET = 'JBSWY3DPEHPK3PXP'

type Choice = {
  executable?: string
  max_pages?: number
  idle_ms?: number
  uses_max?: number
  base_url?: string
  ca?: string
  /** The platform listens under TLS, with this. */
  tls?: Certificate
  /** Where the browser's files go, in a folder of that name under it. */
  folder?: string
}

/** The platform, a browser that is to be used on it, and what is done in it. */
export async function startStage({ folder: given, tls, ...choice }: Choice = {}) {
  await using stack = new AsyncDisposableStack()
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: realClock.now,
      ...(tls && { tls }),
    }),
  )
  sandbox.user({ name: 'ann', password: PASSWORD, email: 'ann@mail.example' })
  sandbox.user({ name: 'bea', password: PASSWORD, totp_secret: SECRET })
  sandbox.user({ name: 'cal', password: PASSWORD, sso: true })
  sandbox.subforum({ name: 'bread' })

  const events: { event: string; fields: Record<string, unknown> }[] = []
  const outside = createOutside((_level, event, fields = {}) => events.push({ event, fields }))
  const base_url = choice.base_url ?? sandbox.url
  const folder = given ?? stack.use(tempFolder()).path
  const browser = createBrowser({
    executable: '',
    sandbox: 'auto',
    max_pages: 2,
    folder: `${folder}/browser`,
    user_agent: 'forumd/1.0',
    ...outside,
    guard: createGuard({
      resolve: outside.resolve,
      clock: realClock,
      allowed: createAllowed({ allow_targets: ['127.0.0.1'], allow_http: true }),
      timeout_ms: CALL_MS,
    }),
    ...choice,
    base_url,
  })
  stack.defer(() => browser.close())
  const { session_cookie } = sandbox
  const jars = createJars({ base_url, session_cookie, clock: realClock })
  const login = createBrowserLogin({ browser, jars, clock: realClock, base_url, session_cookie })
  const comment = createBrowserComment({ browser, clock: realClock, base_url, session_cookie })
  const owned = stack.move()
  return {
    sandbox,
    browser,
    folder,
    events,
    /** A call through a browser, as somebody in Vienna would make it. */
    visiting: (proxy: Proxy | null = null, ms = CALL_MS) => ({
      proxy,
      whose: 'pool' as const,
      locale: 'de-AT',
      timezone: 'Europe/Vienna',
      cookies: [],
      deadline_at: realClock.now() + ms,
    }),
    signIn: (
      username: string,
      more: { password?: string; totp_secret?: string; proxy?: Proxy; ms?: number } = {},
    ) =>
      login({
        username,
        password: more.password ?? PASSWORD,
        totp_secret: more.totp_secret ?? null,
        proxy: more.proxy ?? null,
        whose: 'pool',
        deadline_at: realClock.now() + (more.ms ?? CALL_MS),
        locale: 'de-AT',
        timezone: 'Europe/Vienna',
      }),
    /** Answers a post (`t3_…`) or a comment (`t1_…` under it) with the session of somebody. */
    answer(
      username: string | null,
      at: { post: string; comment?: string },
      more: { text?: string; proxy?: Proxy; ms?: number } = {},
    ) {
      const cookies = username === null ? {} : sandbox.session({ username }).cookies
      const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
      return comment(
        {
          place: { post_id: at.post.slice(3), comment_id: at.comment?.slice(3) ?? null },
          text: more.text ?? 'Well said.',
          locale: 'de-AT',
          timezone: 'Europe/Vienna',
        },
        {
          eyes: {
            id: 'caller:1',
            whose: 'caller',
            cookie: pairs.join('; ') || 'loid=1',
            bearer: null,
            proxy: more.proxy ?? null,
          },
          deadline_at: realClock.now() + (more.ms ?? CALL_MS),
        },
      )
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

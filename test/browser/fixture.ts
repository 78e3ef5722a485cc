import { describe } from 'bun:test'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createAllowed } from '../../src/core/base/address.ts'
import type { Proxy } from '../../src/core/forum/proxy.ts'
import { createGuard } from '../../src/net/guard.ts'
import { createBrowser } from '../../src/platforms/reddit/browser/browser.ts'
import { createBrowserComment } from '../../src/platforms/reddit/browser/comment.ts'
import { findChromium } from '../../src/platforms/reddit/browser/launch.ts'
import { createBrowserLogin } from '../../src/platforms/reddit/browser/login.ts'
import { createJars } from '../../src/platforms/reddit/login/cookie-jar.ts'
import { createRuntime, realClock } from '../../src/runtime/runtime.ts'
import type { Certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'

/** The path of a real browser, or the reason why there is none. */
const there = findChromium('') !== null
if (!there && !process.env['CI']) console.log('no Chromium on PATH: tests in a browser are skipped')

/** A group of tests that need a browser; skipped without one, except in CI. */
export const inBrowser = describe.skipIf(!there && !process.env['CI'])

/** Timeout of a browser test on a busy machine. */
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
  /** TLS options of the platform; omitted: plain HTTP. */
  tls?: Certificate
  /** Parent of the folder with the browser's files. */
  folder?: string
}

/** The platform, a browser, and the actions in it. */
export async function startBrowserFixture({ folder: given, tls, ...choice }: Choice = {}) {
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
  const runtime = createRuntime((_level, event, fields = {}) => events.push({ event, fields }))
  const base_url = choice.base_url ?? sandbox.url
  const folder = given ?? stack.use(tempFolder()).path
  const browser = createBrowser({
    executable: '',
    sandbox: 'auto',
    max_pages: 2,
    folder: `${folder}/browser`,
    user_agent: 'forumd/1.0',
    ...runtime,
    guard: createGuard({
      resolve: runtime.resolve,
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
    /** A browser call with the locale and time zone of a user in Vienna. */
    tabOptions: (proxy: Proxy | null = null, ms = CALL_MS) => ({
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
    /** Replies to a post (`t3_…`) or to a comment (`t1_…` under it) with a user's session. */
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
          identity: {
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

export type BrowserFixture = Awaited<ReturnType<typeof startBrowserFixture>>

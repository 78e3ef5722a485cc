import { Elysia } from 'elysia'
import * as z from 'zod'

import { bodyObject, readProxy, refuseProxies } from '../../core/body-session.ts'
import { ApiError } from '../../core/errors.ts'
import { iso } from '../../core/instant.ts'
import { once } from '../../core/once.ts'
import { PROXY_SCHEMES } from '../../core/proxy.ts'
import { base32 } from '../../core/totp.ts'
import { whyNoBrowser } from '../../gateway/act-browser.ts'
import { LOGIN_METHODS, type SignedIn, type SignIn } from '../../gateway/act-login.ts'
import { PROXY } from '../faults.ts'
import { closed } from '../fields.ts'
import { answers, refuses } from '../openapi.ts'
import type { WriteDesk } from './desk.ts'
import { proxyField, standing, textOf } from './fields.ts'
import { ADVICE, blocked, noBrowser, privateProxy } from './refused.ts'

type Failed = Exclude<SignedIn['result'], { ok: true }>
type Ended = Extract<SignedIn['result'], { ok: true }>

const NAME_MAX = 254
const PASSWORD_MAX = 1024
const secretSentence = 'totp_secret must be the base32 secret of the second factor'

const fields = once(() => ({
  username: textOf('username', { max: NAME_MAX }).meta({ description: 'A name, or an e-mail.' }),
  password: textOf('password', { max: PASSWORD_MAX }),
  totp_secret: z
    .string({ error: secretSentence })
    .nullish()
    .transform((text) => text || null)
    .refine((text) => text === null || base32(text) !== null, secretSentence)
    .meta({ description: 'Base32; only where the account has a second factor.' }),
  method: z
    .enum(LOGIN_METHODS, { error: `method must be one of ${LOGIN_METHODS.join(', ')}` })
    .default('http'),
  proxy: proxyField(PROXY_SCHEMES),
  ...standing(),
}))

/** Signing an account in, for the cookies that make its session. Nothing of it is kept. */
export function login(desk: WriteDesk, signIn: (ask: SignIn) => Promise<SignedIn>) {
  const { words, keyed, shapes, log, browser_schemes, session_cookie } = desk

  /** The jar by the names of the wire. */
  function bodyOf({ jar, name, link_karma, comment_karma }: Ended, method: SignedIn['method']) {
    const cookies = jar.cookies().map((it) => ({
      ...it,
      name: it.name === session_cookie ? words.session : it.name,
    }))
    return {
      success: true,
      method,
      username: name,
      link_karma,
      comment_karma,
      cookies: Object.fromEntries(cookies.map((it) => [it.name, it.value])),
      expires: Object.fromEntries(cookies.map((it) => [it.name, iso(it.expires_at)])),
    }
  }

  function toLoginError(failed: Failed, whose: SignedIn['whose']): ApiError {
    if (failed.code === null) return noBrowser(whyNoBrowser(failed.fault))
    const { code, trouble, retry_after_s } = failed
    if (trouble !== undefined && whose === 'caller')
      return trouble === 'refused'
        ? privateProxy()
        : new ApiError('PROXY_ERROR', { message: PROXY[trouble] })
    if (code === 'UPSTREAM_BLOCKED') {
      log('warn', 'act.blocked', { act: 'login' })
      return blocked()
    }
    return new ApiError(code, {
      message: SENTENCES[code],
      ...(retry_after_s !== undefined && { retry_after_s: Math.max(1, Math.ceil(retry_after_s)) }),
    })
  }

  return new Elysia({ name: 'writes.login', prefix: words.api }).use(keyed).post(
    '/login',
    async ({ holder, set, request, body: { proxy, ...who } }) => {
      const schemes = who.method === 'http' ? PROXY_SCHEMES : browser_schemes
      const scheme_required = who.method === 'http'
      const asked = readProxy(proxy, { schemes, scheme_required })
      const way = await desk.guardProxy(asked)
      const call = { request, holder, set, tier: 'write', act: 'login' } as const
      return desk.metered(call, async () => {
        const { result, method, whose } = await signIn({ ...who, proxy: way })
        if (!result.ok) throw toLoginError(result, whose)
        return bodyOf(result, method)
      })
    },
    {
      transform: ({ body }) => refuseProxies(bodyObject(body), Object.keys(fields())),
      body: closed(fields, {
        examples: [{ username: 'example_user', password: 'correct horse battery staple' }],
      }),
      detail: {
        summary: "Sign in, for the cookies of an account's session",
        description: `Nothing of it is kept. A sign-in over HTTP whose answer cannot be read is tried again in a browser. Where the platform wants to see a person, ${ADVICE}.`,
        tags: ['Writes'],
        operationId: 'login',
        ...answers(() => shapes().login, {
          success: true,
          method: 'http',
          username: 'example_user',
          link_karma: 10,
          comment_karma: 25,
          cookies: { [words.session]: 'eyJhbGciOi…', loid: '000000000000abc12.2.1600000000000' },
          expires: { [words.session]: '2027-05-20T07:30:00.000Z', loid: null },
        }),
        ...refuses(...VERDICTS, 'UNKNOWN', 'UPSTREAM_ERROR', 'browser_unavailable'),
      },
    },
  )
}

const VERDICTS = ['AUTH_FAILED', 'TWO_FACTOR_REQUIRED', 'TWO_FACTOR_INVALID'] as const

const SENTENCES = {
  AUTH_FAILED: 'the platform does not accept this name and password',
  TWO_FACTOR_REQUIRED: 'the account has a second factor: send its totp_secret',
  TWO_FACTOR_INVALID: 'the platform does not accept the code of this totp_secret',
  UNKNOWN: 'the platform gave an answer in which no verdict can be read',
  UPSTREAM_ERROR: 'the platform could not be reached, or asks to wait',
} as const

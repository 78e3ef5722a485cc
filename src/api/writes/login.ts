import { Elysia } from 'elysia'
import * as z from 'zod'

import { base32 } from '../../core/accounts/totp.ts'
import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { bodyObject, readProxy, refuseProxies } from '../../core/forum/body-session.ts'
import { PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import { refuseProxyHeader } from '../../core/forum/session.ts'
import { LOGIN_METHODS, type LoginSuccess, type SignInRequest } from '../../gateway/login.ts'
import { whyNoBrowser } from '../../gateway/writes.ts'
import { PROXY } from '../http/errors.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { browserFields, proxyField, textField, type WriteContext } from './context.ts'
import { ADVICE, blocked, noBrowser, privateProxy } from './errors.ts'

type Failed = Exclude<LoginSuccess['result'], { ok: true }>
type Ended = Extract<LoginSuccess['result'], { ok: true }>

const NAME_MAX = 254
const PASSWORD_MAX = 1024
const secretSentence = 'totp_secret must be the base32 secret of the second factor'

const fields = once(() => ({
  username: textField('username', { max: NAME_MAX }).describe('A name, or an e-mail.'),
  password: textField('password', { max: PASSWORD_MAX }),
  totp_secret: z
    .string({ error: secretSentence })
    .nullish()
    .transform((text) => text || null)
    .refine((text) => text === null || base32(text) !== null, secretSentence)
    .describe('Base32; only where the account has a second factor.'),
  method: z
    .enum(LOGIN_METHODS, { error: `method must be one of ${LOGIN_METHODS.join(', ')}` })
    .default('http'),
  proxy: proxyField(PROXY_SCHEMES),
  ...browserFields(),
}))

export function loginWrite(
  context: WriteContext,
  signIn: (input: SignInRequest) => Promise<LoginSuccess>,
) {
  const { words, keyed, shapes, log, browser_schemes, session_cookie } = context

  function bodyOf({ jar, name, link_karma, comment_karma }: Ended, method: LoginSuccess['method']) {
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

  function toLoginError(failed: Failed, proxy_owner: LoginSuccess['whose']): ApiError {
    if (failed.code === null) return noBrowser(whyNoBrowser(failed.fault))
    const { code, trouble, retry_after_s } = failed
    if (trouble !== undefined && proxy_owner === 'caller')
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
    async ({ holder, set, request, body: { proxy, ...credentials } }) => {
      if (credentials.method === 'browser') context.require('browser')
      if (proxy != null) context.require('proxy')
      const schemes = credentials.method === 'http' ? PROXY_SCHEMES : browser_schemes
      const scheme_required = credentials.method === 'http'
      const requested_proxy = readProxy(proxy, { schemes, scheme_required })
      const guarded_proxy = await context.guardProxy(requested_proxy)
      const call = { request, holder, set, tier: 'write', act: 'login' } as const
      return context.metered(call, async () => {
        const {
          result,
          method,
          whose: proxy_owner,
        } = await signIn({ ...credentials, proxy: guarded_proxy })
        if (!result.ok) throw toLoginError(result, proxy_owner)
        return bodyOf(result, method)
      })
    },
    {
      transform: ({ request, body }) => {
        context.require('login')
        refuseProxyHeader(words, request.headers)
        refuseProxies(bodyObject(body), Object.keys(fields()))
      },
      body: bodySchema(fields, {
        examples: [{ username: 'example_user', password: 'correct horse battery staple' }],
      }),
      detail: {
        summary: "Sign in, for the cookies of an account's session",
        description: `Nothing is stored. A login over HTTP with an unreadable answer is repeated in a browser. If the platform requires a human check, ${ADVICE}.`,
        tags: ['Writes'],
        operationId: 'login',
        ...answers(() => shapes().login),
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

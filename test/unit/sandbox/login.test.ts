import { expect, test } from 'bun:test'

import type { FaultRuleInput } from '../../../sandbox/faults/rules.ts'
import { codeAt } from '../../../sandbox/routes/login.ts'
import { fetchPath, NOON, open } from './fetch-path.ts'

const CSRF = '0123456789abcdef0123456789abcdef'
const SECRET = 'JBSW Y3DP ehpk 3pxp===='

/** Platform on which ann logs in with a password, and bea also with a code. */
async function guarded() {
  const sandbox = await open()
  sandbox.user({ name: 'ann', password: 'open-sesame', email: 'ann@mail.example' })
  sandbox.user({ name: 'bea', password: 'open-sesame', totp_secret: SECRET })
  const call = async (step: string, fields: Record<string, string>, csrf = CSRF) => {
    const response = await fetch(`${sandbox.url}/svc/shreddit/account/login${step}`, {
      method: 'POST',
      headers: { cookie: `csrf_token=${CSRF}` },
      body: new URLSearchParams({ ...fields, csrf_token: csrf }),
    })
    return {
      status: response.status,
      text: await response.text(),
      cookies: response.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? ''),
    }
  }
  const opened = ({ cookies }: Awaited<ReturnType<typeof call>>) =>
    cookies.some((it) => it.startsWith('reddit_session='))
  return { sandbox, call, opened }
}

test('the login page sets the cookies of a visitor, and the token of its form', async () => {
  await using sandbox = await open()

  const { status, headers, text } = await fetchPath(sandbox, '/login/')

  const cookies = new Map(
    headers.getSetCookie().map((it) => [it.split('=')[0], it.split(/[=;]/)[1]] as const),
  )
  expect(status).toBe(200)
  expect([...cookies.keys()]).toEqual(
    expect.arrayContaining(['csrf_token', 'loid', 'edgebucket', 'csv', 'session_tracker']),
  )
  expect(cookies.get('csrf_token')).toMatch(/^[0-9a-f]{32}$/)
  expect(text).toContain(`name="csrf_token" type="hidden" value="${cookies.get('csrf_token')}"`)
})

test.each(['ann', 'ANN', 'ann@mail.example'])(
  '%s and the password open a session',
  async (username) => {
    const { sandbox, call } = await guarded()
    await using _ = sandbox

    const { status, cookies } = await call('', { username, password: 'open-sesame' })
    const me = await fetchPath(sandbox, '/api/me.json', { cookie: cookies.join('; ') })

    expect(status).toBe(200)
    expect(cookies.map((it) => it.split('=')[0])).toEqual([
      'reddit_session',
      'token_v2',
      'loid',
      'csrf_token',
      'edgebucket',
      'csv',
      'pc',
      'session_tracker',
    ])
    expect(me.json.data.name).toBe('ann')
  },
)

test.each([
  ['ann', 'open-sesam'],
  ['ann', ''],
  ['no_such_user', 'open-sesame'],
])('%s with %p gets no session, with status 200', async (username, password) => {
  const { sandbox, call, opened } = await guarded()
  await using _ = sandbox

  const answer = await call('', { username, password })

  expect(answer.status).toBe(200)
  expect(answer.text).toContain('message="Invalid username or password."')
  expect(opened(answer)).toBe(false)
})

test.each([
  ['the current code', 0, 200],
  ['the previous code', -30, 200],
  ['the next code', 30, 200],
  ['a code of two minutes ago', -120, 400],
])(
  'with a second factor, %s answers the second step with its status',
  async (_, drift_s, status) => {
    const { sandbox, call, opened } = await guarded()
    await using _sandbox = sandbox
    const who = { username: 'bea', password: 'open-sesame' }

    const first = await call('', who)
    const second = await call('/otp', { ...who, appOtp: codeAt(SECRET, NOON / 1000 + drift_s) })

    expect([first.status, opened(first)]).toEqual([202, false])
    expect([second.status, opened(second)]).toEqual([status, status === 200])
  },
)

test('a code alone opens no session', async () => {
  const { sandbox, call, opened } = await guarded()
  await using _ = sandbox

  const appOtp = codeAt(SECRET, NOON / 1000)
  const answer = await call('/otp', { username: 'bea', password: 'guessed', appOtp })

  expect(answer.text).toContain('Invalid username or password.')
  expect(opened(answer)).toBe(false)
})

// RFC 6238, appendix B: the vectors for SHA-1, last six digits.
test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_234_567_890, '005924'],
  [20_000_000_000, '353130'],
])('at %i s the code is %s', (at_s, code) => {
  expect(codeAt('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', at_s)).toBe(code)
})

test('a token that differs from the cookie’s is refused at every step', async () => {
  const { sandbox, call, opened } = await guarded()
  await using _ = sandbox

  for (const step of ['', '/otp']) {
    const answer = await call(step, { username: 'ann', password: 'open-sesame' }, 'f'.repeat(32))
    expect([answer.status, opened(answer)]).toEqual([403, false])
  }
})

test('a user of a third-party login has no password', async () => {
  const { sandbox, call, opened } = await guarded()
  await using _ = sandbox
  sandbox.user({ name: 'ann', sso: true })
  const postUsername = async (userIdentifier: string): Promise<unknown> => {
    const response = await fetch(
      `${sandbox.url}/svc/shreddit/account/login/check_is_oidc_required`,
      {
        method: 'POST',
        headers: { cookie: `csrf_token=${CSRF}`, 'content-type': 'application/json' },
        body: JSON.stringify({ userIdentifier, csrf_token: CSRF }),
      },
    )
    return response.json()
  }

  expect(await postUsername('ann')).toEqual({ is_sso: true })
  expect(await postUsername('bea')).toEqual({ is_sso: false })
  expect(opened(await call('', { username: 'ann', password: 'open-sesame' }))).toBe(false)
})

test.each<[Partial<FaultRuleInput>, number, string]>([
  [{ verdict: 'wrong', status: 401 }, 401, 'Invalid username or password.'],
  [{ verdict: '2fa' }, 202, ''],
  [{ verdict: '2fa_bad' }, 400, 'Invalid verification code'],
  [{ verdict: 'captcha' }, 400, 'Something went wrong logging in. Please try again.'],
  [{ verdict: 'rate' }, 429, 'RATELIMIT'],
  [{ verdict: 'html' }, 403, 'blocked by network security'],
  [{ verdict: 'html', status: 200 }, 200, 'Please wait for verification'],
  [{}, 400, 'Something went wrong'],
])(
  'with the fault %j a correct password is answered with %i',
  async (fault_rule, status, words) => {
    const { sandbox, call, opened } = await guarded()
    await using _ = sandbox
    sandbox.addFault({ path: '/svc/shreddit/account/login', fault: 'login_verdict', ...fault_rule })

    const answer = await call('', { username: 'ann', password: 'open-sesame' })

    expect([answer.status, opened(answer)]).toEqual([status, false])
    expect(answer.text).toContain(words)
  },
)

test('the old pages log in with a form call, the code after the password', async () => {
  const { sandbox } = await guarded()
  await using _ = sandbox
  const login = async (user: string, passwd: string) => {
    const form = { user, passwd, api_type: 'json' }
    return (await fetchPath(sandbox, '/api/login', { form })).json.json
  }

  expect((await login('ann', 'wrong')).errors).toEqual([
    ['WRONG_PASSWORD', 'wrong password', 'passwd'],
  ])
  expect(await login('ann', 'open-sesame')).toMatchObject({
    errors: [],
    data: { modhash: expect.stringMatching(/^.{50}$/), need_https: true },
  })
  expect((await login('bea', 'open-sesame')).data).toEqual({ details: 'TWO_FA_REQUIRED' })
  const { data } = await login('bea', `open-sesame:${codeAt(SECRET, NOON / 1000)}`)
  const cookie = `reddit_session=${data.cookie}`
  expect((await fetchPath(sandbox, '/api/me.json', { cookie })).json.data.name).toBe('bea')
})

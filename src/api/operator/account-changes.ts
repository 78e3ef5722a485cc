import { Elysia } from 'elysia'
import * as z from 'zod'

import {
  type AccountResult,
  newStatus,
  type StateReason,
  unsigned,
} from '../../core/accounts/status.ts'
import { base32 } from '../../core/accounts/totp.ts'
import { ApiError, checkAll, invalid } from '../../core/base/errors.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import type { Random } from '../../runtime/runtime.ts'
import {
  type AccountSecrets,
  changeAccount,
  type CredentialsCheck,
  findAccountByName,
  insertAccount,
  listAccounts,
  openAccount,
  removeAccount,
  type StoredJar,
} from '../../store/accounts/accounts.ts'
import { findProxyByName, openProxy } from '../../store/accounts/proxies.ts'
import { transact } from '../../store/db/connection.ts'
import { bodySchema, type SchemaOutput } from '../http/fields.ts'
import type { OperatorPoolDeps } from './accounts.ts'
import type { RecordAction } from './actions.ts'
import { accountOf, poolName, toAccount } from './actions/pool.ts'

const ACCOUNTS_MAX = 1000
const SECRET_MAX = 4096
const JAR_MAX = 512 * 1024
const JAR_RULE = `the text of a cookies.txt, a JSON export or a Cookie header, at most ${JAR_MAX / 1024} KiB`
const SECRET_RULE = `one line of 1 to ${SECRET_MAX} characters`
const TOTP_RULE = 'the base32 secret of the second factor: letters A to Z and digits 2 to 7'

type ToCheck = {
  secrets: AccountSecrets
  jar: StoredJar | null
  username: string | null
  proxy: Proxy | null
}

/** Reads exported cookies, and checks credentials at the platform. Stores nothing. */
type SessionCheck = {
  readJar(text: string): { ok: true; jar: StoredJar } | { ok: false; problems: string[] }
  verify(given: ToCheck): Promise<CredentialsCheck>
}

export type AccountChangeDeps = OperatorPoolDeps & {
  random: Random
  /** Checks at the named source, undefined: the first with accounts; null: there is none. By its name or key. */
  checkOf: (source: string | undefined) => SourceCheck | null
}

/** `oauth`: it has the addresses for applications. */
type SourceCheck = SessionCheck & { key: string; name: string; oauth: boolean }

/** A secret of one line; the message never repeats it. Null is as absent. */
const maybeSecret = (name: string) => {
  const sentence = `${name} must be ${SECRET_RULE}, or null`
  return z
    .string(sentence)
    .max(SECRET_MAX, sentence)
    .regex(/^[^\r\n\0]+$/, sentence)
    .nullable()
    .optional()
}

export const maybeTotp = () => {
  const sentence = `totp_secret must be ${TOTP_RULE}, or null`
  return z
    .string(sentence)
    .refine((text) => base32(text) !== null, sentence)
    .nullable()
    .optional()
}

const signInFields = () => ({
  jar: z
    .string(`jar must be ${JAR_RULE}, or null`)
    .max(JAR_MAX, `jar must be ${JAR_RULE}`)
    .nullable()
    .optional(),
  username: maybeSecret('username'),
  password: maybeSecret('password'),
  totp_secret: maybeTotp(),
  client_secret: maybeSecret('client_secret'),
  refresh_token: maybeSecret('refresh_token'),
})

export const addBody = bodySchema(() => ({
  name: poolName(),
  kind: z.enum(['session', 'oauth'], 'kind must be session or oauth').default('session'),
  ...signInFields(),
  client_id: maybeSecret('client_id'),
  proxy: z.string('proxy must be the name of a proxy, or null').nullable().optional(),
  source: z.string('source must be the name of a source of the kind reddit').optional(),
  untested: z.boolean('untested must be true or false').default(false),
}))

const loginBody = bodySchema(signInFields)

type Given = SchemaOutput<typeof loginBody> & { client_id?: string | null | undefined }

const SESSION_FIELDS = ['jar', 'username', 'password', 'totp_secret'] as const
const OAUTH_FIELDS = ['client_id', 'client_secret', 'refresh_token'] as const

/** Refuses fields of the other kind of account. */
const fieldsOf = (given: Given, kind: AccountSecrets['kind']) =>
  (kind === 'oauth' ? SESSION_FIELDS : OAUTH_FIELDS).map((field) => () => {
    if ((given[field] ?? null) !== null)
      throw invalid(field, `${field} must be left out: an account of kind ${kind} has none`)
  })

/** Requires the credentials of a kind of account. */
const neededOf = (given: Given, kind: AccountSecrets['kind']) =>
  (kind === 'oauth' ? (['client_id', 'client_secret'] as const) : (['password'] as const)).map(
    (field) => () => {
      const by_jar = kind === 'session' && (given.jar ?? null) !== null
      if (by_jar || (given[field] ?? null) !== null) return
      const or = kind === 'session' ? ', or a jar' : ''
      throw invalid(field, `${field} is required${or}: ${SECRET_RULE}`)
    },
  )

/** Fields and messages of definite refusals. A jar is checked by its session, a password by a sign-in. */
const REFUSALS: Readonly<Partial<Record<StateReason, readonly [keyof Given, string]>>> = {
  logged_out: [
    'jar',
    'jar is not of a session that the platform recognises: sign in with your browser and export its cookies again',
  ],
  wrong_credentials: ['password', 'password must be one that the platform accepts for username'],
  second_factor_required: [
    'totp_secret',
    `totp_secret is required, because the account has a second factor: ${TOTP_RULE}`,
  ],
  second_factor_refused: [
    'totp_secret',
    'totp_secret must give a code that the platform accepts: check it, and the clock of this machine',
  ],
  token_refused: [
    'client_secret',
    'client_secret must be one that the platform accepts with client_id and refresh_token',
  ],
}

type Checked = Extract<CredentialsCheck, { ok: true }>

const toStore = ({ secrets, jar, username, status }: Checked) => ({
  secrets,
  jar,
  username,
  status,
})

const toAnswer = ({ id, name }: { id: string; name: string }, it: Checked) => ({
  id,
  name,
  username: it.username,
  status: it.status.state,
  reason: it.status.state_reason,
  verdict: it.finding,
  remark: remarkOf(it),
})

const LATER = 'the daemon checks again'
const REMARKS: Readonly<Partial<Record<AccountResult['kind'], string>>> = {
  suspended: 'the platform has suspended it; no requests are sent through it',
  locked: 'the platform requires a new password for it; no requests are sent through it',
  blocked: `the platform answers with a block page; ${LATER}`,
  throttled: `the platform limits its rate; ${LATER}`,
  unclear: `the platform gave no readable answer; ${LATER}`,
}
const NAMES_MAX = 5

/** A warning about users whom an account has blocked; null: there are none. */
export const explainBlocked = (names: readonly string[]): string | null =>
  names.length === 0
    ? null
    : `it has blocked ${names.slice(0, NAMES_MAX).join(', ')}${names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ''}, and receives none of their items: unblock them on the platform`

function remarkOf({ secrets, jar, finding, reason, blocked = [] }: Checked): string | null {
  if (jar !== null || secrets.kind === 'oauth')
    return (finding && REMARKS[finding]) ?? explainBlocked(blocked)
  return reason === 'human_check'
    ? 'not signed in yet: the platform requires a human check: sign in with your own browser, export its cookies, and pass them as the jar'
    : `not signed in yet: the platform gave no readable answer; ${LATER}`
}

const uncheckedOf = (given: Omit<ToCheck, 'proxy'>, now: number): Checked => ({
  ok: true,
  ...given,
  status: given.jar !== null || given.secrets.kind === 'oauth' ? newStatus(now) : unsigned(now),
  finding: null,
  reason: null,
})

/** Secrets of an existing account with the given ones in their place. */
function renewed(current: AccountSecrets, given: Given): AccountSecrets {
  if (current.kind === 'oauth')
    return {
      ...current,
      client_secret: given.client_secret ?? current.client_secret,
      refresh_token: given.refresh_token ?? current.refresh_token,
    }
  return {
    ...current,
    password: given.password ?? current.password,
    totp_secret: given.totp_secret ?? current.totp_secret,
  }
}

function readJar(at: SessionCheck, text: string | null): StoredJar | null {
  if (text === null) return null
  const read = at.readJar(text)
  if (read.ok) return read.jar
  throw invalid('jar', `jar is not usable: ${read.problems.join('; ')}`)
}

function toSecrets(at: SourceCheck, given: Given, kind: AccountSecrets['kind']): AccountSecrets {
  const { password = null, totp_secret = null } = given
  const { client_id, client_secret, refresh_token = null } = given
  if (kind === 'session') return { kind, password, totp_secret }
  if (!at.oauth)
    throw invalid(
      'kind',
      'kind must be session: the source has no token_url and api_url for an oauth application',
    )
  return { kind, client_id: client_id ?? '', client_secret: client_secret ?? '', refresh_token }
}

/**
 * Routes with which an operator adds accounts by cookies, password or OAuth application, signs them in
 * again and removes them, as `forumd account` does. No answer repeats a credential.
 */
export function accountChanges(deps: AccountChangeDeps, record: RecordAction) {
  const { db, ring, pool, clock, random, checkOf } = deps
  /** Names of accounts that are checked now: the platform counts failed sign-ins. */
  const checking = new Set<string>()

  function platform(source: string | undefined): SourceCheck {
    const found = checkOf(source)
    if (found !== null) return found
    if (source !== undefined)
      throw invalid('source', 'source must be the name of a source of the kind reddit')
    throw new ApiError('NOT_FOUND', {
      message: 'the configuration has no source of the kind reddit, to which accounts belong',
    })
  }

  function proxyNamed(name: string | null) {
    if (name === null) return null
    const proxy = findProxyByName(db, name)
    const address = proxy && openProxy(db, ring, proxy.id)
    if (proxy && address) return { id: proxy.id, address }
    throw invalid('proxy', 'proxy must be the name of a proxy of the pool, or null')
  }

  function mustBeFree(name: string) {
    if (findAccountByName(db, name) !== null)
      throw invalid('name', 'name must be one that no account of the pool has')
    if (listAccounts(db).length >= ACCOUNTS_MAX)
      throw invalid('name', `the pool may have at most ${ACCOUNTS_MAX} accounts: remove one`)
  }

  async function check(at: SessionCheck, name: string, given: ToCheck) {
    if (checking.has(name))
      throw new ApiError('IN_PROGRESS', {
        message: 'this account is being checked: wait for the result',
      })
    checking.add(name)
    try {
      const checked = await at.verify(given)
      if (checked.ok) return checked
      const [field, sentence] = REFUSALS[checked.reason ?? 'wrong_credentials'] ?? [
        'password' as const,
        'the platform does not accept these credentials',
      ]
      // Stored credentials were refused: there is no field of the request to correct.
      throw invalid(field, sentence)
    } finally {
      checking.delete(name)
    }
  }

  return new Elysia({ name: 'operator account', prefix: '/operator', detail: { hide: true } })
    .post(
      '/accounts',
      async ({ body, request }) => {
        const { name, kind, source, jar: text = null } = body
        const at = platform(source)
        await checkAll(() => mustBeFree(name), ...fieldsOf(body, kind), ...neededOf(body, kind))
        const secrets = toSecrets(at, body, kind)
        const proxy = proxyNamed(body.proxy ?? null)
        const by_name = (body.password ?? null) === null ? null : name
        const given = { secrets, jar: readJar(at, text), username: body.username ?? by_name }
        const checked = body.untested
          ? uncheckedOf(given, clock.now())
          : await check(at, name, { ...given, proxy: proxy?.address ?? null })
        const row = { id: `acc_${random.uuid()}`, name, source: at.key }
        transact(db, () => {
          // Another call may have taken the name during the check.
          mustBeFree(name)
          const stored = toStore(checked)
          const proxy_id = proxy?.id ?? null
          insertAccount(db, ring, { ...row, ...stored, proxy_id, created_at: clock.now() })
          record(request, {
            action: 'account.added',
            subject: row.id,
            subject_name: name,
            detail: {
              kind,
              username: checked.username,
              state: checked.status.state,
              ...(source !== undefined && { source }),
            },
          })
        })
        pool.adopt()
        return toAnswer(row, checked)
      },
      { body: addBody },
    )
    .post(
      '/accounts/:id/login',
      async ({ params, body, request }) => {
        const account = accountOf(db, params.id)
        const { id } = account
        const at = platform(account.source)
        const opened = openAccount(db, ring, id)
        if (opened === null)
          throw new ApiError('NOT_FOUND', { message: 'there is no such account' })
        await checkAll(...fieldsOf(body, account.kind))
        const secrets = renewed(opened.secrets, body)
        const jar = readJar(at, body.jar ?? null)
        if (secrets.kind === 'session' && secrets.password === null && jar === null)
          throw invalid(
            'password',
            `password or jar is required: none is stored for ${account.name}`,
          )
        const username = body.username ?? account.username ?? account.name
        const proxy = account.proxy_id === null ? null : openProxy(db, ring, account.proxy_id)
        const checked = await check(at, account.name, { secrets, jar, username, proxy })
        transact(db, () => {
          const { name } = accountOf(db, id)
          const { jar: signed, ...stored } = toStore(checked)
          changeAccount(db, ring, id, { ...stored, ...(signed && { jar: signed }) })
          record(request, {
            action: 'account.signed_in',
            subject: id,
            subject_name: name,
            detail: { username: checked.username, state: checked.status.state },
          })
        })
        pool.adopt()
        return toAnswer(account, checked)
      },
      { body: loginBody },
    )
    .post('/pool/:account/test', async ({ params }) => {
      const { id, state } = accountOf(db, params.account)
      const verdict = state === 'paused' ? 'paused' : await pool.probe(id)
      return {
        ok: verdict === 'alive',
        verdict: verdict ?? 'no_session',
        account: toAccount(deps, accountOf(db, id)),
      }
    })
    .post('/accounts/:id/remove', ({ params, request }) => {
      const { id, name } = transact(db, () => {
        const account = accountOf(db, params.id)
        removeAccount(db, account.id)
        record(request, {
          action: 'account.removed',
          subject: account.id,
          subject_name: account.name,
        })
        return account
      })
      pool.adopt()
      return { id, name, removed: true }
    })
}

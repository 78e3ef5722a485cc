import { Elysia } from 'elysia'
import * as z from 'zod'

import { type AccountResult, statusOfAdded } from '../../core/accounts/status.ts'
import { ApiError, invalid } from '../../core/base/errors.ts'
import { isPoolName, POOL_NAME_RULE } from '../../core/base/text.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import {
  type AccountSecrets,
  findAccountByName,
  insertAccount,
  listAccounts,
  type StoredJar,
} from '../../store/accounts/accounts.ts'
import { findProxyByName, openProxy } from '../../store/accounts/proxies.ts'
import { transact } from '../../store/db/connection.ts'
import { bodySchema } from '../http/fields.ts'
import type { OperatorPoolDeps } from './accounts.ts'
import type { RecordAction } from './actions.ts'

const ACCOUNTS_MAX = 1000
const JAR_MAX = 512 * 1024
const JAR_RULE = `the text of a cookies.txt, a JSON export or a Cookie header, at most ${JAR_MAX / 1024} KiB`

/** Reads exported cookies and checks sessions at the platform. Stores nothing. */
type SessionCheck = {
  readJar(text: string): { ok: true; jar: StoredJar } | { ok: false; problems: string[] }
  test(account: { secrets: AccountSecrets; jar: string | null; proxy: Proxy | null }): Promise<{
    finding: AccountResult
    username: string | null
    jar?: StoredJar
  }>
}

export type JarUploadDeps = Pick<OperatorPoolDeps, 'db' | 'ring' | 'pool'> & {
  clock: Clock
  random: Random
  /** Null: there is no platform to which accounts belong. */
  session_check: SessionCheck | null
}

const addBody = bodySchema(() => ({
  name: z
    .string({
      error: ({ input }) =>
        input === undefined
          ? `name is required: ${POOL_NAME_RULE}`
          : `name must be ${POOL_NAME_RULE}`,
    })
    .refine(isPoolName, `name must be ${POOL_NAME_RULE}`),
  jar: z
    .string({
      error: ({ input }) =>
        input === undefined ? `jar is required: ${JAR_RULE}` : `jar must be ${JAR_RULE}`,
    })
    .max(JAR_MAX, `jar must be ${JAR_RULE}`),
  proxy: z.string('proxy must be the name of a proxy, or null').nullable().optional(),
}))

const SESSION: AccountSecrets = { kind: 'session', password: null, totp_secret: null }

/**
 * `POST /operator/accounts`: adds an account by the cookies of its owner's browser, as
 * `forumd account add --jar` does. The answer never repeats a part of the cookies.
 */
export function jarUpload(
  { db, ring, pool, clock, random, session_check }: JarUploadDeps,
  record: RecordAction,
) {
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
  }

  return new Elysia({ name: 'operator account', prefix: '/operator', detail: { hide: true } }).post(
    '/accounts',
    async ({ body, request }) => {
      const { name } = body
      if (session_check === null)
        throw new ApiError('NOT_FOUND', {
          message: 'the configuration has no [platform], to which accounts belong',
        })
      mustBeFree(name)
      if (listAccounts(db).length >= ACCOUNTS_MAX)
        throw invalid('name', `the pool may have at most ${ACCOUNTS_MAX} accounts: remove one`)
      const proxy = proxyNamed(body.proxy ?? null)
      const read = session_check.readJar(body.jar)
      if (!read.ok) throw invalid('jar', `jar is not usable: ${read.problems.join('; ')}`)
      const tested = await session_check.test({
        secrets: SESSION,
        jar: read.jar.text,
        proxy: proxy?.address ?? null,
      })
      if (tested.finding.kind === 'logged_out')
        throw invalid(
          'jar',
          'jar is not of a session that the platform recognises: sign in with your browser and export its cookies again',
        )
      const id = `acc_${random.uuid()}`
      const now = clock.now()
      const status = statusOfAdded(tested.finding, now)
      transact(db, () => {
        // Another call may have taken the name during the check.
        mustBeFree(name)
        insertAccount(db, ring, {
          id,
          name,
          username: tested.username,
          secrets: SESSION,
          jar: tested.jar ?? read.jar,
          proxy_id: proxy?.id ?? null,
          status,
          created_at: now,
        })
        record(request, {
          action: 'account.added',
          subject: id,
          subject_name: name,
          detail: { username: tested.username, state: status.state },
        })
      })
      pool.adopt()
      return {
        id,
        name,
        username: tested.username,
        status: status.state,
        verdict: tested.finding.kind,
      }
    },
    { body: addBody },
  )
}

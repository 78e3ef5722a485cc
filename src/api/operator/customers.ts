import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { apiKey } from '../../core/base/ids.ts'
import { iso, parseInstant } from '../../core/base/time.ts'
import {
  DEFAULT_SCOPES,
  insertKey,
  listKeys,
  revokeKey,
  SCOPES,
} from '../../store/customers/keys.ts'
import { transact } from '../../store/db/connection.ts'
import { bodySchema } from '../http/fields.ts'
import type { ActionDeps } from './action.ts'
import type { RecordAction } from './actions.ts'
import { customerOf, maybeText } from './actions/customers.ts'

const KEY_BYTES = 32
const KEY_NAME_MAX = 100
const KEYS_MAX = 100

const SCOPES_RULE = `scopes must be a list of ${SCOPES.join(', ')}`
const keyBody = bodySchema(() => ({
  name: maybeText('name', KEY_NAME_MAX),
  scopes: z
    .array(z.enum(SCOPES, SCOPES_RULE), SCOPES_RULE)
    .min(1, SCOPES_RULE)
    .max(SCOPES.length, SCOPES_RULE)
    .optional(),
  expires_at: z
    .string('expires_at must be an ISO 8601 timestamp such as 2027-01-31T12:00:00Z, or null')
    .nullable()
    .optional(),
}))

/**
 * Routes with which an operator creates and revokes keys of customers. Each change is recorded with its operator in the same
 * transaction.
 */
export function customerKeys({ db, clock, random, plans }: ActionDeps, record: RecordAction) {
  function expiryOf(text: string | null | undefined): number | null {
    if (text === null || text === undefined) return null
    const at = parseInstant(text)
    if (at === null)
      throw invalid(
        'expires_at',
        'expires_at must be an ISO 8601 timestamp such as 2027-01-31T12:00:00Z, or null',
      )
    if (at <= clock.now()) throw invalid('expires_at', 'expires_at must be in the future')
    return at
  }

  return new Elysia({ name: 'operator keys', prefix: '/operator', detail: { hide: true } })
    .get('/plans', () => {
      const { names, default_plan } = plans()
      return { plans: names, default_plan }
    })
    .post(
      '/customers/:customer/keys',
      ({ params: { customer: id }, body, request }) => {
        const expires_at = expiryOf(body.expires_at)
        return transact(db, () => {
          const customer = customerOf(db, id)
          const now = clock.now()
          const valid = listKeys(db, id).filter(
            (it) => it.revoked_at === null && (it.expires_at ?? Infinity) > now,
          )
          if (valid.length >= KEYS_MAX)
            throw invalid('name', `a customer may have at most ${KEYS_MAX} valid keys: revoke one`)
          const token = apiKey('customer', random.bytes(KEY_BYTES))
          const key_id = `key_${random.uuid()}`
          const wanted: readonly string[] = body.scopes ?? DEFAULT_SCOPES
          const scopes = SCOPES.filter((it) => wanted.includes(it))
          const name = body.name === '' || body.name === undefined ? null : body.name
          const row = { id: key_id, customer_id: id, name, scopes, created_at: now, expires_at }
          insertKey(db, { ...row, token })
          record(request, {
            action: 'key.created',
            subject: key_id,
            subject_name: name,
            detail: { customer: customer.name, scopes: scopes.join(' ') },
          })
          return { key: token, key_id, name, scopes, expires_at: iso(expires_at) }
        })
      },
      { body: keyBody },
    )
    .post('/customers/:customer/keys/:key/revoke', ({ params: { customer: id, key }, request }) =>
      transact(db, () => {
        const customer = customerOf(db, id)
        const found = listKeys(db, id).find((it) => it.id === key)
        if (found === undefined || !revokeKey(db, key, clock.now()))
          throw new ApiError('NOT_FOUND', { message: 'this customer has no such valid key' })
        record(request, {
          action: 'key.revoked',
          subject: key,
          subject_name: found.name,
          detail: { customer: customer.name },
        })
        return { key_id: key, revoked: true }
      }),
    )
}

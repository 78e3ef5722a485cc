import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { apiKey } from '../../core/base/ids.ts'
import { CUSTOMER_NAME_RULE, isCustomerName } from '../../core/base/text.ts'
import { iso, parseInstant } from '../../core/base/time.ts'
import { bodyHash, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../../core/limits/idempotency.ts'
import { parseUsd, toUsd, USD_RULE } from '../../core/limits/price.ts'
import type { Clock, Random } from '../../runtime/runtime.ts'
import {
  type Customer,
  findCustomer,
  findCustomerByName,
  insertCustomer,
  setPlan,
} from '../../store/customers/customers.ts'
import { claimName, findNamedWrite } from '../../store/customers/idempotency.ts'
import {
  DEFAULT_SCOPES,
  insertKey,
  listKeys,
  revokeKey,
  SCOPES,
} from '../../store/customers/keys.ts'
import { insertPayment } from '../../store/customers/ledger.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import type { Operators } from '../http/auth.ts'
import { bodySchema } from '../http/fields.ts'
import type { RecordAction } from './actions.ts'

const KEY_BYTES = 32
const NOTE_MAX = 200
const KEY_NAME_MAX = 100
const KEYS_MAX = 100

export type CustomerActionDeps = {
  db: Db
  clock: Clock
  random: Random
  plans: () => { names: string[]; default_plan: string }
  starting_credit_micros: number
}

const textField = (name: string, rule: string) =>
  z.string({
    error: ({ input }) =>
      input === undefined ? `${name} is required: ${rule}` : `${name} must be ${rule}`,
  })

const maybeText = (name: string, max: number) => {
  const sentence = `${name} must be text of at most ${max} characters, or null`
  return z.string({ error: sentence }).trim().max(max, sentence).nullable().optional()
}

const createBody = bodySchema(() => ({
  name: textField('name', CUSTOMER_NAME_RULE).refine(
    isCustomerName,
    `name must be ${CUSTOMER_NAME_RULE}`,
  ),
  plan: textField('plan', 'the name of a plan').optional(),
}))

const planBody = bodySchema(() => ({ plan: textField('plan', 'the name of a plan') }))

const creditBody = bodySchema(() => ({
  usd: z
    .union([z.string(), z.number()], {
      error: ({ input }) =>
        input === undefined ? `usd is required: ${USD_RULE}` : `usd must be ${USD_RULE}`,
    })
    .transform((given, context) => {
      const micros = parseUsd(String(given).trim())
      if (micros !== null) return micros
      context.addIssue(`usd must be ${USD_RULE}`)
      return z.NEVER
    }),
  note: maybeText('note', NOTE_MAX),
}))

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

const toRow = ({ id, name, plan, balance_micros, unlimited, created_at }: Customer) => ({
  id,
  name,
  plan,
  credits_remaining: toUsd(balance_micros),
  unlimited,
  created_at: iso(created_at),
})

/**
 * Routes with which an operator creates customers and keys, adds credits and changes plans, as the
 * command line does. Each change is recorded with its operator in the same transaction.
 */
export function customerActions(
  { db, clock, random, plans, starting_credit_micros }: CustomerActionDeps,
  record: RecordAction,
  operatorOf: Operators['of'],
) {
  function planNamed(name: string): string {
    const { names } = plans()
    if (names.includes(name)) return name
    throw invalid('plan', `plan must be one of ${names.join(', ')}`)
  }

  function customerOf(id: string): Customer {
    const customer = findCustomer(db, id)
    if (customer) return customer
    throw new ApiError('NOT_FOUND', { message: 'there is no such customer' })
  }

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

  return new Elysia({ name: 'operator actions', prefix: '/operator', detail: { hide: true } })
    .get('/plans', () => {
      const { names, default_plan } = plans()
      return { plans: names, default_plan }
    })
    .post(
      '/customers',
      ({ body: { name, plan }, request }) =>
        transact(db, () => {
          const plan_name = planNamed(plan ?? plans().default_plan)
          if (findCustomerByName(db, name) !== null)
            throw invalid('name', 'name must be one that no customer has')
          const customer = insertCustomer(db, {
            id: `cus_${random.uuid()}`,
            name,
            plan: plan_name,
            created_at: clock.now(),
            starting_credit_micros,
            payment_id: `pay_${random.uuid()}`,
          })
          record(request, {
            action: 'customer.created',
            subject: customer.id,
            subject_name: name,
            detail: { plan: plan_name },
          })
          return toRow(customer)
        }),
      { body: createBody },
    )
    .post(
      '/customers/:id/plan',
      ({ params: { id }, body: { plan }, request }) =>
        transact(db, () => {
          const before = customerOf(id)
          if (planNamed(plan) !== before.plan) {
            setPlan(db, id, plan)
            record(request, {
              action: 'plan.changed',
              subject: id,
              subject_name: before.name,
              detail: { from: before.plan, to: plan },
            })
          }
          return toRow(customerOf(id))
        }),
      { body: planBody },
    )
    .post(
      '/customers/:id/credits',
      ({ params: { id }, body: { usd: amount_micros, note = null }, request, set }) => {
        const name = readIdempotencyKey(request.headers.get(IDEMPOTENCY_HEADER))
        // Without a name, a request that is sent twice would be booked twice.
        if (name === null)
          throw invalid(
            IDEMPOTENCY_HEADER,
            `${IDEMPOTENCY_HEADER} is required: a text that a repeat of this call has again`,
          )
        const write = {
          key_id: operatorOf(request).key.id,
          route: 'operator credits',
          name,
          body_hash: bodyHash({ id, amount_micros, note }),
        }
        return transact(db, () => {
          const { body_hash, ...named } = write
          const repeated = findNamedWrite(db, named, clock.now())
          if (repeated !== null) {
            if (!Buffer.from(repeated.body_hash).equals(body_hash))
              throw new ApiError('IDEMPOTENCY_MISMATCH', {
                message: 'this Idempotency-Key was used with a different body',
              })
            // The name is stored in the transaction of the payment: a stored name is a made payment.
            set.headers['idempotent-replayed'] = 'true'
            return toRow(customerOf(id))
          }
          const customer = customerOf(id)
          claimName(db, write, clock.now())
          insertPayment(db, {
            id: `pay_${random.uuid()}`,
            customer_id: id,
            kind: 'top_up',
            amount_micros,
            note: note === '' ? null : note,
            created_at: clock.now(),
          })
          record(request, {
            action: 'credits.added',
            subject: id,
            subject_name: customer.name,
            detail: { usd: toUsd(amount_micros) },
          })
          return toRow(customerOf(id))
        })
      },
      { body: creditBody },
    )
    .post(
      '/customers/:id/keys',
      ({ params: { id }, body, request }) => {
        const expires_at = expiryOf(body.expires_at)
        return transact(db, () => {
          const customer = customerOf(id)
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
    .post('/customers/:id/keys/:key/revoke', ({ params: { id, key }, request }) =>
      transact(db, () => {
        const customer = customerOf(id)
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

import { createMeter, type Metering, type MoneyEvent } from '../../../src/api/billing.ts'
import type { Holder } from '../../../src/api/http/auth.ts'
import type { Fault } from '../../../src/core/base/result.ts'
import { updateCustomer } from '../../../src/store/customers/customers.ts'
import { createGroupCommit } from '../../../src/store/db/group-commit.ts'
import { addCustomer } from '../../support/customers.ts'
import { memoryDb } from '../../support/memory-db.ts'

/** Price of a call, in micro-dollars. */
export const PRICE = 2000
/** Initial balance of the customer. */
export const CREDIT = 10 * PRICE
/** Same price for each tier. */
export const PRICES = { read: PRICE, deep_search: PRICE, vote: PRICE, write: PRICE, dm: PRICE }

/** Creates a meter over the accounts of one customer. */
export function metered({ credit = CREDIT, unlimited = false, billed = true } = {}) {
  const db = memoryDb()
  const customer = addCustomer(db, 'cus_1', { credits_micros: credit })
  updateCustomer(db, 'cus_1', { unlimited })
  const moved: MoneyEvent[] = []
  const counted: boolean[] = []
  let holds_created = 0
  const meter = createMeter({
    db,
    groupCommit: createGroupCommit(db),
    clock: { now: () => 0, mono: () => 0, sleep: () => Promise.resolve() },
    random: {
      uuid: () => `hold_${++holds_created}`,
      fraction: () => 0.5,
      bytes: (count) => new Uint8Array(count),
    },
    faults: { failed: () => {}, succeeded: () => {} },
    billing: { enabled: billed, prices: PRICES },
    on_money: (event) => moved.push(event),
    on_call: (_, paid) => counted.push(paid),
  })
  const holder: Holder = {
    customer: { ...customer, unlimited },
    key: {
      id: 'key_1',
      customer_id: 'cus_1',
      prefix: '',
      name: null,
      scopes: [],
      created_at: 0,
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
    },
  }
  let work_calls = 0
  /** One call whose work returns 1 or this fault; for a cached answer, the cached value. */
  const call = (
    metering: Metering<number> & { fault?: Fault } = {},
    headers: Record<string, string | number> = {},
  ) =>
    meter(
      'read',
      holder,
      headers,
      () => {
        work_calls += 1
        const { fault } = metering
        return Promise.resolve(fault ? { ok: false, fault } : { ok: true, value: 1 })
      },
      metering,
    )
  const books = () =>
    db
      .query<{ balance: number; holds: number; calls: number }, []>(
        `SELECT balance_micros AS balance, (SELECT count(*) FROM holds) AS holds,
                (SELECT coalesce(sum(calls), 0) FROM usage_hours) AS calls FROM customers`,
      )
      .get()
  return { db, meter, holder, call, books, moved, counted, workCalls: () => work_calls }
}

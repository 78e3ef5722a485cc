import { expect, test } from 'bun:test'

import { type Db, openDb } from '../../../src/store/db.ts'
import { confirmTarget } from '../../../src/store/mail-targets.ts'
import {
  deleteWebhook,
  findWebhook,
  forgetOldSecrets,
  insertWebhook,
  rotateSecret,
  updateWebhook,
} from '../../../src/store/webhooks.ts'
import { putTarget } from '../../support/target-row.ts'

const OVER_AT = 1000

function opened(): Db {
  const db = openDb(':memory:', { create: true })
  putTarget(db)
  return db
}

test('the secret before the last is kept until its overlap is over, and no longer', () => {
  using db = opened()
  rotateSecret(db, 'cus_1', { id: 'wh_1', secret: new Uint8Array(2), until: OVER_AT })
  const kept = (now: number) => {
    forgetOldSecrets(db, now)
    return db.query<{ n: number | null }, []>('SELECT length(old_secret) AS n FROM webhooks').get()
      ?.n
  }

  expect([kept(OVER_AT - 1), kept(OVER_AT)]).toEqual([1, null])
})

test('what is changed of a target that waits for its yes does not switch it off for good', () => {
  using db = opened()
  insertWebhook(db, {
    id: 'wh_mail',
    customer_id: 'cus_1',
    kind: 'email',
    url: 'mailto:ann@example.com',
    secret: new Uint8Array(1),
    created_at: 0,
    awaits_confirmation: true,
  })
  updateWebhook(db, 'cus_1', 'wh_mail', { name: 'ann' })
  confirmTarget(db, 'wh_mail')

  expect(findWebhook(db, 'cus_1', 'wh_mail')).toMatchObject({ name: 'ann', active: true })
})

test('a target is removed by its customer and by nobody else', () => {
  using db = opened()
  expect(deleteWebhook(db, 'cus_2', 'wh_1', 1)).toBe(false)
  expect(findWebhook(db, 'cus_1', 'wh_1')).not.toBeNull()
})

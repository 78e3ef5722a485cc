import { expect, test } from 'bun:test'

import type { Db } from '../../../../src/store/db/connection.ts'
import { confirmTarget } from '../../../../src/store/delivery/targets.ts'
import {
  deleteWebhook,
  findWebhook,
  forgetOldSecrets,
  insertWebhook,
  rotateSecret,
  updateWebhook,
} from '../../../../src/store/delivery/webhooks.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

const OVER_AT = 1000

function opened(): Db {
  const db = memoryDb()
  putTarget(db)
  return db
}

test('the previous secret is stored until its overlap ends', () => {
  using db = opened()
  rotateSecret(db, 'cus_1', { id: 'wh_1', secret: new Uint8Array(2), until: OVER_AT, now: 1 })
  const countRetained = (now: number) => {
    forgetOldSecrets(db, now)
    return db.query<{ n: number | null }, []>('SELECT length(old_secret) AS n FROM webhooks').get()
      ?.n
  }

  expect([countRetained(OVER_AT - 1), countRetained(OVER_AT)]).toEqual([1, null])
})

test('changing an unconfirmed target does not switch it off permanently', () => {
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

test('a target can only be removed by its own customer', () => {
  using db = opened()
  expect(deleteWebhook(db, 'cus_2', 'wh_1', 1)).toBe(false)
  expect(findWebhook(db, 'cus_1', 'wh_1')).not.toBeNull()
})

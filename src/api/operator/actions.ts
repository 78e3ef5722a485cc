import { Elysia } from 'elysia'

import { iso } from '../../core/base/time.ts'
import type { Clock } from '../../runtime/runtime.ts'
import {
  insertAction,
  listActions,
  type OperatorAction,
} from '../../store/customers/operator-actions.ts'
import type { Db } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import { limit, maybeInteger, PAGE, querySchema } from '../http/fields.ts'

const PAGE_MAX = 100

type What = Pick<OperatorAction, 'action' | 'subject' | 'subject_name'> & {
  /** Without secrets. */
  detail?: Record<string, string | number | boolean | null>
}

/** Records an action with its operator, in the transaction of the change. */
export type RecordAction = (request: Request, what: What) => void

export const createRecorder =
  ({
    db,
    clock,
    operatorOf,
  }: { db: Db; clock: Clock } & Pick<RouteContext, 'operatorOf'>): RecordAction =>
  (request, { detail = {}, ...what }) => {
    const { key, address } = operatorOf(request)
    insertAction(db, {
      ...what,
      at: clock.now(),
      key_id: key.id,
      key_name: key.name,
      key_prefix: key.prefix,
      address,
      detail: JSON.stringify(detail),
    })
  }

const auditQuery = querySchema(() => ({
  cursor: maybeInteger('cursor', { min: 1, max: 999_999_999_999 }),
  limit: limit(PAGE_MAX, PAGE),
}))

/** `GET /operator/audit`: actions of operators, newest first. */
export const auditList = (db: Db) =>
  new Elysia({ name: 'operator audit', prefix: '/operator', detail: { hide: true } }).get(
    '/audit',
    ({ query: { cursor = null, limit: rows_max } }) => {
      const rows = listActions(db, { before: cursor, limit: rows_max + 1 })
      const page = rows.slice(0, rows_max)
      return {
        actions: page.map((row) => ({
          id: row.seq,
          at: iso(row.at),
          action: row.action,
          subject: { id: row.subject, name: row.subject_name },
          key: { id: row.key_id, name: row.key_name, prefix: row.key_prefix },
          address: row.address,
          detail: JSON.parse(row.detail),
        })),
        count: page.length,
        limit: rows_max,
        next_cursor: rows.length > rows_max ? String(page.at(-1)?.seq) : null,
      }
    },
    { query: auditQuery },
  )

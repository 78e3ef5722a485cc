import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import {
  endOtherWebSessions,
  endWebSession,
  listWebSessions,
  sessionId,
} from '../../store/customers/web-sessions.ts'
import type { Db } from '../../store/db/connection.ts'
import { bodySchema } from '../http/fields.ts'
import type { DashboardSession } from './session.ts'

const ID = 'id must be that of a session in the list: 16 hexadecimal digits'
const OTHERS = 'others must be true, or be left out'
const endBody = bodySchema(() => ({
  id: z
    .string(ID)
    .regex(/^[0-9a-f]{16}$/, ID)
    .optional(),
  others: z.literal(true, OTHERS).optional(),
}))

type Deps = { db: Db; clock: Clock; log: Log; signed_in: DashboardSession }

/**
 * `/dashboard/session/list` and `/dashboard/session/end`: the browser sessions of the signed-in key. Those of other keys are
 * not shown, because a key with few scopes must not sign out the holder of another.
 */
export const webSessions = ({ db, clock, log, signed_in }: Deps) =>
  new Elysia({ name: 'web sessions', prefix: '/dashboard/session', detail: { hide: true } })
    .get('/list', ({ request, server }) => {
      const { key, hash } = signed_in.require(request, server?.requestIP(request)?.address)
      const current = sessionId(hash)
      return {
        sessions: listWebSessions(db, key.id, clock.now()).map((it) => ({
          id: it.id,
          current: it.id === current,
          browser: it.browser,
          address: it.address,
          created_at: iso(it.created_at),
          last_used_at: iso(it.last_used_at),
        })),
      }
    })
    .post(
      '/end',
      ({ request, server, body: { id, others } }) => {
        const session = signed_in.require(request, server?.requestIP(request)?.address)
        if ((id === undefined) === (others === undefined))
          throw invalid('id', 'id or others is required, not both')
        const ended =
          id === undefined
            ? endOtherWebSessions(db, session)
            : Number(endWebSession(db, session.key.id, id))
        if (id !== undefined && ended === 0)
          throw new ApiError('NOT_FOUND', {
            message: 'there is no such session; it may have ended',
          })
        log('info', 'dashboard.sessions_ended', { key_id: session.key.id, count: ended })
        return { ended }
      },
      { body: endBody },
    )

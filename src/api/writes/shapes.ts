import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import { CHANNELS, DIRECTIONS } from '../../core/forum/writes.ts'
import { LOGIN_METHODS } from '../../gateway/login.ts'
import { rowShapes } from '../reads/row-shapes.ts'

/** Response schemas of the writes in the wire's words, created at the first call. */
export const createWriteShapes = (words: Naming) =>
  once(() => {
    const { text, maybe, whole, flag, comment } = rowShapes()
    const success = z.literal(true)
    const instant = text.meta({ format: 'date-time', description: 'ISO 8601, UTC.' })
    const channel = z.enum(CHANNELS)
    const waits = {
      pending: z
        .literal(true)
        .optional()
        .describe(
          'Present if a source has accepted this and shows it once a moderator has approved it. Do not send it again.',
        ),
      pending_id: maybe
        .optional()
        .describe('Its number among those that wait; null if the source names none.'),
    }
    return {
      login: z.looseObject({
        success,
        method: z.enum(LOGIN_METHODS).describe('Method that succeeded.'),
        username: text,
        link_karma: whole.nullable(),
        comment_karma: whole.nullable(),
        cookies: z
          .record(text, text)
          .describe(`The whole jar; ${words.session} and loid make a session.`),
        expires: z
          .record(text, instant.nullable())
          .describe('Expiry of each cookie; null: a session cookie.'),
      }),
      comment: z.looseObject({
        success,
        comment_id: maybe.describe('t1_ and the id; null while it waits.'),
        permalink: maybe.describe('Absolute.'),
        comment: z
          .looseObject(toWire(words, comment))
          .nullable()
          .describe('Read back; null where that failed.'),
        transport: z.enum(LOGIN_METHODS),
        ...waits,
      }),
      vote: z.looseObject({ success, id: text, direction: z.enum(DIRECTIONS) }),
      sent: z.looseObject({ success, id: maybe, thread_id: maybe, channel, ...waits }),
      threads: z.looseObject({
        threads: z.array(
          z.looseObject({
            id: text,
            with: maybe,
            subject: maybe,
            unread: flag,
            message_count: whole,
            last_message_at: instant.nullable(),
            last_message: text,
            channel,
          }),
        ),
        after: maybe,
        missing: z.array(channel).describe('Message types that could not be read.'),
      }),
      messages: z.looseObject({
        messages: z.array(
          z.looseObject({
            id: text,
            thread_id: text,
            from: maybe,
            to: maybe,
            subject: maybe,
            body: text,
            created: instant,
            unread: flag,
          }),
        ),
        after: maybe,
      }),
      description: z.looseObject({ success, description: text }),
      display_name: z.looseObject({ success, display_name: text }),
      picture: z.looseObject({ success, url: text }),
    }
  })

import { Elysia } from 'elysia'
import * as z from 'zod'

import { FOLDERS } from '../../core/acting.ts'
import { SUBFORUM_NAME, USER_NAME } from '../../core/names.ts'
import { once } from '../../core/once.ts'
import { PROXY_SCHEMES } from '../../core/proxy.ts'
import { readThreadsCursor } from '../../core/threads-cursor.ts'
import type { Acting } from '../../gateway/act.ts'
import { closed } from '../fields.ts'
import { answers } from '../openapi.ts'
import type { WriteDesk } from './desk.ts'
import { exampleBody } from './document.ts'
import { count, cursor, readAs, sessionShape, textOf } from './fields.ts'

const SUBJECT_MAX = 100
const TEXT_MAX = 10_000
const TO = /^(?:\/?u\/)?([^/#]+)$/
const TO_PLACE = /^(?:#|\/?r\/)([^/#]+)$/
const THREAD_ID = /^(?:t4_[a-z0-9]{1,13}|![\x21-\x7e]{1,254})$/
// Whatever the platform uses to go on: it must only not be able to be anything else.
const MESSAGES_CURSOR = /^[\w!$:.~=+-]{1,512}$/

/** A person by name, or a place as `#name`; null for what is neither. */
function recipient(text: string): string | null {
  const person = TO.exec(text)?.[1]
  if (person !== undefined) return USER_NAME.test(person) ? person : null
  const place = TO_PLACE.exec(text)?.[1]
  return place !== undefined && SUBFORUM_NAME.test(place) ? `#${place}` : null
}

const paged = { min: 1, max: 100, fallback: 25 }
const folderSentence = `folder must be one of ${FOLDERS.join(', ')}`

const sending = once(() => ({
  to: readAs('to', "a user's name, or # and a community's", recipient),
  subject: textOf('subject', { max: SUBJECT_MAX }).meta({
    description: 'Chat has none: there it is the first line.',
  }),
  text: textOf('text', { max: TEXT_MAX }),
}))
const listing = once(() => ({
  folder: z.enum(FOLDERS, { error: folderSentence }).default('all'),
  limit: count('limit', paged),
  after: cursor('a cursor of an earlier page of threads', (it) => readThreadsCursor(it) !== null),
}))
const reading = once(() => ({
  thread_id: readAs('thread_id', 'the id of a thread, such as t4_abc123', (text) =>
    THREAD_ID.test(text) ? text : null,
  ),
  limit: count('limit', paged),
  after: cursor('a cursor of an earlier page of messages', (it) => MESSAGES_CURSOR.test(it)),
}))

const tags = ['Direct messages']

/** Direct messages: sending one, and reading them, by mail and by chat. */
export function messages(desk: WriteDesk, acting: Acting) {
  const { words, keyed, shapes } = desk
  const session = once(() => sessionShape(words, PROXY_SCHEMES))
  const reads = (fields: () => object) =>
    desk.reads(fields, { forwards: false, schemes: PROXY_SCHEMES })

  return new Elysia({ name: 'writes.messages', prefix: words.api })
    .use(keyed)
    .post(
      '/dm',
      ({ request, holder, set, body: { to, subject, text } }) =>
        desk.perform({ request, holder, set, tier: 'dm', act: 'message' }, async (hands) => {
          const sent = await hands.ask(() => acting.send({ to, subject, text }, hands.session))
          return { success: true, ...sent }
        }),
      {
        transform: reads(sending),
        body: closed(
          () => ({ ...session(), ...sending() }),
          exampleBody(words, { to: 'example_user', subject: 'Beans', text: 'They came today.' }),
        ),
        detail: {
          summary: 'Send a message; by chat where the recipient takes no mail',
          tags,
          operationId: 'dm',
          ...answers(() => shapes().sent, {
            success: true,
            id: 't4_2abcde',
            thread_id: 't4_2abcde',
            channel: 'mail',
          }),
        },
      },
    )
    .post(
      '/dm/threads',
      ({ request, holder, set, body: { folder, limit, after } }) =>
        desk.perform({ request, holder, set, tier: 'dm', act: 'look at messages' }, (hands) =>
          hands.ask(() => acting.threads({ folder, limit, after }, hands.session)),
        ),
      {
        transform: reads(listing),
        body: closed(
          () => ({ ...session(), ...listing() }),
          exampleBody(words, { folder: 'unread' }),
        ),
        detail: {
          summary: 'Your conversations, the last spoken in first',
          tags,
          operationId: 'dmThreads',
          ...answers(() => shapes().threads, {
            threads: [
              {
                id: 't4_2abcde',
                with: 'example_user',
                subject: 'Beans',
                unread: true,
                message_count: 2,
                last_message_at: '2026-11-20T07:30:00.000Z',
                last_message: 'They came today.',
                channel: 'mail',
              },
            ],
            after: null,
            missing: [],
          }),
        },
      },
    )
    .post(
      '/dm/messages',
      ({ request, holder, set, body: { thread_id, limit, after } }) =>
        desk.perform({ request, holder, set, tier: 'dm', act: 'look at messages' }, (hands) =>
          hands.ask(() => acting.messages({ thread_id, limit, after }, hands.session)),
        ),
      {
        transform: reads(reading),
        body: closed(
          () => ({ ...session(), ...reading() }),
          exampleBody(words, { thread_id: 't4_2abcde' }),
        ),
        detail: {
          summary: 'The messages of a conversation, newest first',
          tags,
          operationId: 'dmMessages',
          ...answers(() => shapes().messages, {
            messages: [
              {
                id: 't4_2abcdf',
                thread_id: 't4_2abcde',
                from: 'example_user',
                to: 'you',
                subject: 're: Beans',
                body: 'They came today.',
                created: '2026-11-20T07:30:00.000Z',
                unread: true,
              },
            ],
            after: null,
          }),
        },
      },
    )
}

import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import { FOLDERS, readThreadsCursor } from '../../core/forum/writes.ts'
import type { AccountWrites } from '../../gateway/writes.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, exampleBody } from '../openapi/route-docs.ts'
import { count, cursor, readAs, sessionShape, textField, type WriteContext } from './context.ts'

const SUBJECT_MAX = 100
const TEXT_MAX = 10_000
const THREAD_ID = /^(?:t4_[a-z0-9]{1,13}|![\x21-\x7e]{1,254})$/
// The platform's opaque cursor: restricted to characters that cannot break the request.
const MESSAGES_CURSOR = /^[\w!$:.~=+-]{1,512}$/

const paged = { min: 1, max: 100, fallback: 25 }
const folderSentence = `folder must be one of ${FOLDERS.join(', ')}`

const contentFields = once(() => ({
  subject: textField('subject', { max: SUBJECT_MAX }).describe(
    'In chat, which has no subject, it becomes the first line.',
  ),
  text: textField('text', { max: TEXT_MAX }),
}))
const listFields = once(() => ({
  folder: z.enum(FOLDERS, { error: folderSentence }).default('all'),
  limit: count('limit', paged),
  after: cursor('a cursor of an earlier page of threads', (it) => readThreadsCursor(it) !== null),
}))
const readFields = once(() => ({
  thread_id: readAs('thread_id', 'the id of a thread, such as t4_abc123', (text) =>
    THREAD_ID.test(text) ? text : null,
  ),
  limit: count('limit', paged),
  after: cursor('a cursor of an earlier page of messages', (it) => MESSAGES_CURSOR.test(it)),
}))

const tags = ['Direct messages']

export function messageWrites(context: WriteContext, acting: AccountWrites) {
  const { words, keyed, shapes } = context
  const session = once(() => sessionShape(words, PROXY_SCHEMES))
  const reads = (fields: () => object, capability: string) =>
    context.reads(fields, { forwards: false, schemes: PROXY_SCHEMES, capability })
  const sendFields = once(() => ({
    to: readAs('to', "a user's name, or # and a community's", acting.recipient),
    ...contentFields(),
  }))

  return new Elysia({ name: 'writes.messages', prefix: words.api })
    .use(keyed)
    .post(
      '/dm',
      ({ request, holder, set, body: { to, subject, text } }) =>
        context.perform({ request, holder, set, tier: 'dm', act: 'message' }, async (writer) => {
          const sent = await writer.run(() => acting.send({ to, subject, text }, writer.session))
          return { success: true, ...sent }
        }),
      {
        transform: reads(sendFields, 'message'),
        body: bodySchema(
          () => ({ ...session(), ...sendFields() }),
          exampleBody(words, { to: 'example_user', subject: 'Beans', text: 'They came today.' }),
        ),
        detail: {
          summary: 'Send a message; by chat if the recipient takes no mail',
          tags,
          operationId: 'dm',
          ...answers(() => shapes().sent),
        },
      },
    )
    .post(
      '/dm/threads',
      ({ request, holder, set, body: { folder, limit, after } }) =>
        context.perform({ request, holder, set, tier: 'dm', act: 'read messages' }, (writer) =>
          writer.run(() => acting.threads({ folder, limit, after }, writer.session)),
        ),
      {
        transform: reads(listFields, 'inbox'),
        body: bodySchema(
          () => ({ ...session(), ...listFields() }),
          exampleBody(words, { folder: 'unread' }),
        ),
        detail: {
          summary: 'Your conversations, most recently active first',
          tags,
          operationId: 'dmThreads',
          ...answers(() => shapes().threads),
        },
      },
    )
    .post(
      '/dm/messages',
      ({ request, holder, set, body: { thread_id, limit, after } }) =>
        context.perform({ request, holder, set, tier: 'dm', act: 'read messages' }, (writer) =>
          writer.run(() => acting.messages({ thread_id, limit, after }, writer.session)),
        ),
      {
        transform: reads(readFields, 'inbox'),
        body: bodySchema(
          () => ({ ...session(), ...readFields() }),
          exampleBody(words, { thread_id: 't4_2abcde' }),
        ),
        detail: {
          summary: 'The messages of a conversation, newest first',
          tags,
          operationId: 'dmMessages',
          ...answers(() => shapes().messages),
        },
      },
    )
}

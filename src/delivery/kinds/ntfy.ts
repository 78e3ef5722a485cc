import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { fitBytes, headline, linkOf, PLAIN, textBelow } from '../push-text.ts'
import { bearer, jsonOf, type Kind, tokenHints } from './kind.ts'

// ntfy turns a message above 4,096 bytes into an attachment, and refuses JSON above twice that.
// @see https://docs.ntfy.sh/publish/#limitations
const MESSAGE_BYTES = 3600
const TITLE_MAX = 200
const CLICK_MAX = 1000

const published = once(() => z.object({ id: z.string() }))

export const ntfy: Kind = {
  name: 'ntfy',
  label: 'ntfy',
  example_url: 'https://ntfy.sh/your-topic',
  note: 'with a topic of 1 to 64 letters, digits, _ or -',
  credential: { label: 'Access token', hint: 'Empty for a topic that is open to all.' },
  isSecret: (_url, has_credentials) => !has_credentials,
  check(url) {
    const path = /^((?:\/[^/]+)*)\/([A-Za-z0-9_-]{1,64})$/.exec(url.pathname)
    return path && url.search === '' ? { url: url.href } : null
  },
  send({ to, id, credentials, message: read }, { post }) {
    const message = read()
    const [, server = '', topic = ''] = /^(.*\/)([^/]+)$/.exec(to.url) ?? []
    const link = message.items.length === 1 ? linkOf(message.items[0]) : null
    const click = link !== null && link.length <= CLICK_MAX ? link : null
    return post({
      url: server,
      headers: bearer(credentials),
      body: {
        topic,
        title: headline(message, TITLE_MAX),
        message: fitBytes(MESSAGE_BYTES, (max) => textBelow(message, max, PLAIN, click !== null)),
        // A later message of the same sequence replaces the earlier one, since version 2.16 of the server.
        sequence_id: id,
        ...(click !== null && { click }),
      },
    })
  },
  verdict: {
    accepts: (body) => published().safeParse(jsonOf(body)).success,
    hints: {
      ...tokenHints('under Account of the web app or with ntfy token add'),
      http_401: 'the topic needs an access token, or the stored one was revoked; store a new one',
    },
  },
}

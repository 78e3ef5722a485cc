import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { HTML, PLAIN, text } from '../push-text.ts'
import { bearer, decoded, jsonOf, type Kind, tokenHints } from './kind.ts'

// An event has at most 65,536 bytes; a character takes up to three, and a quotation mark two.
// @see https://spec.matrix.org/latest/client-server-api/#size-limits
const BODY_MAX = 5000
const HTML_MAX = 10_000

const shapes = once(() => ({
  sent: z.object({ event_id: z.string() }),
  limit: z.object({ retry_after_ms: z.number().nonnegative() }),
}))

export const matrix: Kind = {
  name: 'matrix',
  label: 'Matrix',
  example_url: 'https://matrix.example.com/!room:example.com',
  note: 'by the id of the room and not its alias',
  credential: {
    label: 'Access token',
    hint: 'Of an account that has joined the room.',
    required: 'the access token of an account that is in the room',
  },
  check(url) {
    const [, before, room] =
      /^(|\/.*?)\/(?:_matrix\/client\/v3\/rooms\/)?((?:!|%21)[^/]+)(?:\/send\/m\.room\.message)?\/?$/.exec(
        url.pathname,
      ) ?? []
    const id = room === undefined ? null : decoded(room)
    if (id === null || id.length > 255 || url.search !== '') return null
    return {
      url: `${url.origin}${before}/_matrix/client/v3/rooms/${encodeURIComponent(id)}/send/m.room.message`,
    }
  },
  send({ to, id, credentials, message: read }, { post }) {
    const message = read()
    return post({
      // A transaction id that this account has used for this request returns the event of the first one.
      url: `${to.url}/${encodeURIComponent(id)}`,
      method: 'PUT',
      headers: bearer(credentials),
      body: {
        msgtype: 'm.text',
        body: text(message, BODY_MAX, PLAIN),
        format: 'org.matrix.custom.html',
        formatted_body: text(message, HTML_MAX, { ...HTML, line_break: '<br>' }),
        // No name in a title may notify anyone.
        'm.mentions': {},
      },
    })
  },
  verdict: {
    accepts: (body) => shapes().sent.safeParse(jsonOf(body)).success,
    waitS(body) {
      const ms = shapes().limit.safeParse(body).data?.retry_after_ms
      return ms === undefined ? ms : ms / 1000
    },
    hints: {
      ...tokenHints('of an account that is in the room; logging it out ends its token'),
      http_403: 'the account is not in the room, or may not send there; invite it and let it join',
    },
  },
}

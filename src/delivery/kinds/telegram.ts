import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { HTML, text } from '../push-text.ts'
import { decoded, jsonOf, type Kind, tokenHints } from './kind.ts'

/** Replaces the token in the path of an address. */
const HIDDEN = '***'
// Telegram counts after its markup is parsed; the limit here includes it.
// @see https://core.telegram.org/bots/api#sendmessage
const TEXT_MAX = 4096

/** Telegram makes mentions of such words itself, and notifies the members. */
const STYLE = {
  ...HTML,
  escape: (character: string) => (character === '@' ? '@\u200b' : HTML.escape(character)),
}

const shapes = once(() => ({
  sent: z.object({ ok: z.literal(true) }),
  limit: z.object({ parameters: z.object({ retry_after: z.number().nonnegative() }) }),
}))

export const telegram: Kind = {
  name: 'telegram',
  label: 'Telegram',
  example_url: `https://api.telegram.org/bot${HIDDEN}/sendMessage?chat_id=-100123`,
  note: 'optionally with message_thread_id',
  infers: /^https:\/\/api\.telegram\.org\/bot/,
  credential: {
    label: 'Bot token',
    hint: 'From BotFather. Not needed if the URL contains it.',
    required: 'the token of a bot, as BotFather gives it',
    form: [
      /^\d{1,20}:[A-Za-z0-9_-]{20,100}$/,
      'must be that of a bot: digits, a colon and at least 20 characters',
    ],
  },
  check(url) {
    const [, before, token = ''] =
      /^(|\/.*)\/bot([^/]+)(?:\/sendMessage)?\/?$/.exec(url.pathname) ?? []
    const chat = url.searchParams.get('chat_id') ?? ''
    const thread = url.searchParams.get('message_thread_id')
    const named = [...url.searchParams.keys()].every((it) =>
      ['chat_id', 'message_thread_id'].includes(it),
    )
    if (before === undefined || !named || !/^(-?\d{1,20}|@[A-Za-z0-9_]{3,64})$/.test(chat))
      return null
    if (thread !== null && !/^\d{1,20}$/.test(thread)) return null
    const query = thread === null ? '' : `&message_thread_id=${thread}`
    return {
      url: `${url.origin}${before}/bot${HIDDEN}/sendMessage?chat_id=${chat}${query}`,
      ...(token !== HIDDEN && { token: decoded(token) ?? token }),
    }
  },
  send({ to, credentials, message }, { post }) {
    const address = new URL(to.url)
    const thread = address.searchParams.get('message_thread_id')
    const path = address.pathname.replace(`/bot${HIDDEN}/`, `/bot${credentials?.token ?? ''}/`)
    return post({
      url: `${address.origin}${path}`,
      body: {
        chat_id: address.searchParams.get('chat_id'),
        ...(thread !== null && { message_thread_id: Number(thread) }),
        text: text(message(), TEXT_MAX, STYLE),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      },
    })
  },
  verdict: {
    accepts: (body) => shapes().sent.safeParse(jsonOf(body)).success,
    waitS: (body) => shapes().limit.safeParse(body).data?.parameters.retry_after,
    hints: {
      ...tokenHints('as BotFather gives it'),
      http_400:
        'check chat_id; a group that became a supergroup has a new id, which the answer names',
      http_403: 'the bot was removed from the chat, or the user has not written to it yet',
      http_404: 'Telegram knows no bot with this token; store the one that BotFather shows',
    },
  },
}

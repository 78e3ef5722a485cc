import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { headline, linkOf, PLAIN, textBelow } from '../push-text.ts'
import { jsonOf, type Kind, tokenHints } from './kind.ts'

// Gotify documents no limit; a phone shows no more.
const TITLE_MAX = 200
const TEXT_MAX = 8000

const created = once(() => z.object({ id: z.number() }))

export const gotify: Kind = {
  name: 'gotify',
  label: 'Gotify',
  example_url: 'https://gotify.example.com/message',
  credential: {
    label: 'Application token',
    hint: 'From the page Apps of the server.',
    required: 'the token of an application',
  },
  check(url) {
    if ([...url.searchParams.keys()].some((it) => it !== 'token')) return null
    const token = url.searchParams.get('token')
    const path = url.pathname.replace(/\/+$/, '')
    return {
      url: `${url.origin}${path.endsWith('/message') ? path : `${path}/message`}`,
      ...(token !== null && { token }),
    }
  },
  send({ to, credentials, message: read }, { post }) {
    const message = read()
    const click = message.items.length === 1 ? linkOf(message.items[0]) : null
    return post({
      url: to.url,
      headers: { 'x-gotify-key': credentials?.token ?? '' },
      body: {
        title: headline(message, TITLE_MAX),
        message: textBelow(message, TEXT_MAX, PLAIN, click !== null),
        ...(click !== null && { extras: { 'client::notification': { click: { url: click } } } }),
      },
    })
  },
  verdict: {
    accepts: (body) => created().safeParse(jsonOf(body)).success,
    hints: {
      ...tokenHints('of an application, from the page Apps of the server'),
      http_400: 'the token may be that of a client: create an application on the page Apps',
    },
  },
}

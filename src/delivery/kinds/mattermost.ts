import { MARKDOWN, text } from '../push-text.ts'
import { jsonOf, type Kind } from './kind.ts'

// Mattermost takes 16,383 characters, Rocket.Chat 5,000 unless it is configured otherwise.
const TEXT_MAX = 4500

/** Incoming webhooks of Mattermost, and of Rocket.Chat, which takes the same text. */
export const mattermost: Kind = {
  name: 'mattermost',
  label: 'Mattermost, Rocket.Chat',
  example_url: 'https://chat.example.com/hooks/…',
  note: 'the address of an incoming webhook',
  isSecret: () => true,
  send: ({ to, message }, { post }) =>
    post({ url: to.url, body: { text: text(message(), TEXT_MAX, MARKDOWN) } }),
  verdict: {
    accepts: (body) => body.trim() === 'ok' || Object(jsonOf(body)).success === true,
    hints: { http_404: 'the incoming webhook was removed, or incoming webhooks are switched off' },
  },
}

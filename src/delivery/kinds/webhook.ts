import { signDelivery } from '../../core/delivery/signature.ts'
import type { Kind } from './kind.ts'

export const webhook: Kind = {
  name: 'webhook',
  label: 'webhook',
  example_url: 'https://example.com/hook',
  note: 'an address of your own, not the incoming-webhook address of a chat service (omit kind for those)',
  takes_events: true,
  isSecret: (url) => url.includes('?'),
  send({ to, id, body, started_at }, tools) {
    // Receivers reject timestamps that are 300 s off, so an error of the local clock must not reach the signature.
    const timestamp_s = Math.floor(started_at / 1000)
    const headers = signDelivery(tools, to, { id, body, timestamp_s, now: tools.now() })
    return tools.post({ url: to.url, headers, body })
  },
  verdict: {
    hints: {
      http_401: 'the receiver requires credentials; have it verify the signature headers instead',
      http_403:
        'the receiver, or a firewall before it, refuses the request; check its rules and its signature check',
      http_413: 'configure the receiver to accept bodies of up to 256 KiB',
    },
  },
}

import { parseMailto } from '../../core/delivery/target.ts'
import type { Kind } from './kind.ts'

export const email: Kind = {
  name: 'email',
  label: 'email',
  example_url: 'mailto:ann@example.com',
  schemes: ['mailto:'],
  infers: /^mailto:/,
  check({ href }) {
    const address = parseMailto(href)
    return address === null ? null : { url: `mailto:${address}` }
  },
  // A mail server that was removed from the configuration may come back before the retry schedule ends.
  send: async ({ to, body }, tools) => ({
    attempt: await (tools.email?.deliver(to, body) ?? { kind: 'failed', error: 'connect_failed' }),
    excerpt: null,
  }),
  verdict: {
    hints: {
      tls_failed:
        "the mail server's certificate is not trusted; the operator of this service trusts it by [delivery].ca_file",
    },
  },
}

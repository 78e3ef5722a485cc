export const WEBHOOK_KINDS = ['webhook', 'slack', 'discord', 'email'] as const
/** What a target understands: our own signed body, the body of a chat service, or a mail. */
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]

const SLACK_HOST = 'hooks.slack.com'
const DISCORD_HOSTS = ['discord.com', 'discordapp.com', 'ptb.discord.com', 'canary.discord.com']

/** The one kind of body that an address takes, told by its scheme, host and path. */
export function kindOfUrl(url: URL): WebhookKind {
  if (url.protocol === 'mailto:') return 'email'
  if (url.hostname === SLACK_HOST && url.pathname.startsWith('/services/')) return 'slack'
  if (DISCORD_HOSTS.includes(url.hostname) && url.pathname.startsWith('/api/webhooks/'))
    return 'discord'
  return 'webhook'
}

/** What an address of each kind looks like, for whoever gave another. */
export const KIND_FORMS: Record<WebhookKind, string> = {
  webhook:
    'an https:// address of your own, not the incoming-webhook address of a chat service (leave kind out for those)',
  slack: `https://${SLACK_HOST}/services/…`,
  discord: `https://${DISCORD_HOSTS[0]}/api/webhooks/…`,
  email: 'mailto:somebody@example.com',
}

/** The kinds of targets there are. */
export const WEBHOOK_KINDS = ['webhook', 'slack', 'discord', 'email'] as const
/** What a target understands: our own signed body, the body of a chat service, or a mail. */
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]

/** The chat services, told by host and path. Whoever knows such an address may post there. */
const CHATS = {
  slack: { hosts: ['hooks.slack.com'], path: '/services/' },
  discord: {
    hosts: ['discord.com', 'discordapp.com', 'ptb.discord.com', 'canary.discord.com'],
    path: '/api/webhooks/',
  },
} as const satisfies Partial<Record<WebhookKind, { hosts: readonly string[]; path: string }>>
type ChatKind = keyof typeof CHATS

/** Whether a kind is a chat service, whose addresses are secrets. */
export const isChat = (kind: WebhookKind): kind is ChatKind => kind in CHATS

/** The one kind of body that an address takes, told by its scheme, host and path. */
export function kindOfUrl(url: URL): WebhookKind {
  if (url.protocol === 'mailto:') return 'email'
  const isAt = ({ hosts, path }: { hosts: readonly string[]; path: string }) =>
    hosts.includes(url.hostname) && url.pathname.startsWith(path)
  return WEBHOOK_KINDS.find((kind) => isChat(kind) && isAt(CHATS[kind])) ?? 'webhook'
}

/** What an address of each kind looks like, for whoever gave another. */
export const KIND_FORMS: Record<WebhookKind, string> = {
  webhook:
    'an https:// address of your own, not the incoming-webhook address of a chat service (leave kind out for those)',
  slack: formOf(CHATS.slack),
  discord: formOf(CHATS.discord),
  email: 'mailto:somebody@example.com',
}

function formOf({ hosts: [host], path }: (typeof CHATS)[ChatKind]): string {
  return `https://${host}${path}…`
}

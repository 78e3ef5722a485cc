import { TextField } from '../../components/base/field.tsx'
import type { Webhook } from '../../lib/types.ts'

type Kind = Webhook['kind']

export const KIND_NAMES: Record<Kind, string> = {
  webhook: 'webhook',
  slack: 'Slack',
  discord: 'Discord',
  email: 'email',
  ntfy: 'ntfy',
  telegram: 'Telegram',
  gotify: 'Gotify',
  matrix: 'Matrix',
  mqtt: 'MQTT',
}

type Service = {
  url: string
  token: string
  token_hint: string
  username?: true
}

const SERVICES: Partial<Record<Kind, Service>> = {
  ntfy: {
    url: 'https://ntfy.sh/your-topic',
    token: 'Access token',
    token_hint: 'Empty for a topic that is open to all.',
  },
  telegram: {
    url: 'https://api.telegram.org/bot***/sendMessage?chat_id=123456789',
    token: 'Bot token',
    token_hint: 'From BotFather. Not needed if the URL contains it.',
  },
  gotify: {
    url: 'https://gotify.example.com/message',
    token: 'Application token',
    token_hint: 'From the page Apps of the server.',
  },
  matrix: {
    url: 'https://matrix.example.com/!room:example.com, by the id of the room',
    token: 'Access token',
    token_hint: 'Of an account that has joined the room.',
  },
  mqtt: {
    url: 'mqtts://broker.example.com:8883/your/topic',
    token: 'Password',
    token_hint: 'Empty for a broker without users.',
    username: true,
  },
}

export type CredentialInput = { token: string; username: string }

/** Example of the URL of a kind; undefined for kinds that the general hint covers. */
export const urlHint = (kind: string): string | undefined => serviceOf(kind)?.url

/** The credentials to send with a URL of this kind; blank fields are left out. */
export function typedCredentials(
  kind: string,
  { token, username }: CredentialInput,
): Partial<CredentialInput> {
  const service = serviceOf(kind)
  if (service === undefined) return {}
  return {
    ...(token.trim() !== '' && { token: token.trim() }),
    ...(service.username && username.trim() !== '' && { username: username.trim() }),
  }
}

type ServiceFieldsProps = {
  kind: string
  typed: CredentialInput
  change: (typed: CredentialInput) => void
  errorOf: (field: string) => string | null
  /** True for a webhook that exists: empty fields leave its credentials as they are. */
  stored?: boolean
}

/** Token, or user and password, of a kind that takes them; nothing for other kinds. */
export function ServiceFields({ kind, typed, change, errorOf, stored }: ServiceFieldsProps) {
  const service = serviceOf(kind)
  if (service === undefined) return null
  return (
    <>
      {service.username && (
        <TextField
          label="User"
          error={errorOf('username')}
          value={typed.username}
          spellcheck={false}
          autocapitalize="none"
          change={(username) => change({ ...typed, username })}
        />
      )}
      <TextField
        label={service.token}
        hint={stored ? UNCHANGED : service.token_hint}
        error={errorOf('token')}
        masked
        value={typed.token}
        change={(token) => change({ ...typed, token })}
      />
    </>
  )
}

const UNCHANGED = 'Empty: unchanged. A new one replaces what is stored, which is never shown.'

function serviceOf(kind: string): Service | undefined {
  const known = Object.entries(SERVICES).find(([name]) => name === kind)
  return known?.[1]
}

/** The kind that the daemon will probably detect from a URL; null: unknown. */
export function guessKind(url: string): Kind | null {
  const text = url.trim()
  if (/^mailto:/i.test(text)) return 'email'
  if (/^mqtts?:/i.test(text)) return 'mqtt'
  const host = URL.parse(text)?.hostname ?? ''
  if (host === 'hooks.slack.com') return 'slack'
  if (host === 'api.telegram.org') return 'telegram'
  if (host === 'discord.com' || host.endsWith('.discord.com') || host === 'discordapp.com')
    return 'discord'
  return host === '' ? null : 'webhook'
}

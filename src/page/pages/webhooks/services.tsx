import { TextField } from '../../components/base/field.tsx'
import type { KindForm } from '../../lib/types.ts'

export type CredentialInput = { token: string; username: string }

/** The credentials to send with a URL of this kind; blank fields are left out. */
export function typedCredentials(
  kind: KindForm | undefined,
  { token, username }: CredentialInput,
): Partial<CredentialInput> {
  if (!kind?.credential) return {}
  return {
    ...(token.trim() !== '' && { token: token.trim() }),
    ...(kind.credential.with_username && username.trim() !== '' && { username: username.trim() }),
  }
}

type ServiceFieldsProps = {
  kind: KindForm | undefined
  typed: CredentialInput
  change: (typed: CredentialInput) => void
  errorOf: (field: string) => string | null
  /** True for a webhook that exists: empty fields leave its credentials as they are. */
  stored?: boolean
}

/** Token, or user and password, of a kind that takes them; nothing for other kinds. */
export function ServiceFields({ kind, typed, change, errorOf, stored }: ServiceFieldsProps) {
  const service = kind?.credential
  if (!service) return null
  return (
    <>
      {service.with_username && (
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
        label={service.label}
        hint={stored ? UNCHANGED : service.hint}
        error={errorOf('token')}
        masked
        value={typed.token}
        change={(token) => change({ ...typed, token })}
      />
    </>
  )
}

const UNCHANGED = 'Empty: unchanged. A new one replaces what is stored, which is never shown.'

/** The kind that the daemon will detect from a URL; undefined: unknown. */
export function guessKind(url: string, kinds: readonly KindForm[]): KindForm | undefined {
  const href = URL.parse(url.trim())?.href
  if (href === undefined) return undefined
  return (
    kinds.find(({ infers }) => infers !== null && new RegExp(infers).test(href)) ??
    kinds.find(({ name }) => name === 'webhook')
  )
}

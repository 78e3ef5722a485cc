import { useEffect, useRef, useState } from 'preact/hooks'

import { Field } from '../components/base/field.tsx'
import { ErrorNotice, Notice } from '../components/base/notice.tsx'
import { useAction } from '../hooks/use-action.ts'
import { type Failure, requestSession } from '../lib/api.ts'
import { isExposed } from '../lib/format.ts'
import type { UserSession } from '../lib/types.ts'

type SignInProps = {
  ended: boolean
  /** Failure of a sign-in link before; null: none. */
  refused: Failure | null
  onSignIn: (user: UserSession) => void
}

/** The sign-in form. The key is sent once; the browser then holds an HttpOnly cookie instead. */
export function SignInPage({ ended, refused, onSignIn: signedIn }: SignInProps) {
  const [key, setKey] = useState('')
  const [missing, setMissing] = useState(false)
  const action = useAction()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = 'Sign in · forumd'
    input.current?.focus()
  }, [])

  async function signIn(event: Event) {
    event.preventDefault()
    setMissing(key.trim() === '')
    if (key.trim() === '') return
    const answer = await action.run(() =>
      requestSession<UserSession>({ method: 'POST', body: { key: key.trim() } }),
    )
    if (answer.ok) signedIn(answer.value)
    else input.current?.select()
  }

  const { failure } = action
  const wrong =
    failure?.code === 'invalid_token'
      ? 'The key is unknown, revoked or expired.'
      : failure && failure.field === 'key'
        ? failure.message
        : missing
          ? 'Enter an API key. It starts with fk_ or fo_.'
          : null
  return (
    <main class="sign-in" id="main">
      <form onSubmit={(event) => void signIn(event)} noValidate>
        <h1>
          <Logo /> forumd
        </h1>
        {ended && <Notice tone="plain">Your session has ended. Sign in again to continue.</Notice>}
        {refused !== null && (
          <Notice tone="plain">
            This sign-in link was used or has expired. Get another one on the daemon's host:{' '}
            <code>forumd key sign-in-link</code>
          </Notice>
        )}
        {/* Password managers need a user name to store the key. */}
        <input name="username" autocomplete="username" value="forumd" readOnly hidden />
        <Field
          label="API key"
          hint="The key that forumd init printed, or another one: fk_… or fo_…."
          error={wrong}
        >
          {(attributes) => (
            <input
              {...attributes}
              ref={input}
              type="password"
              name="key"
              autocomplete="current-password"
              spellcheck={false}
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          )}
        </Field>
        {wrong === null && <ErrorNotice failure={failure} />}
        <button type="submit" class="main" disabled={action.busy}>
          {action.busy ? 'Signing in …' : 'Sign in'}
        </button>
        {isExposed(location) && (
          <p class="quiet small-text">
            This page was loaded over plain HTTP: anyone on the network path can read the key. Set
            up TLS first.
          </p>
        )}
        <p class="quiet small-text">
          No key at hand? On the daemon's host, <code>forumd key sign-in-link</code> prints a link
          that signs in.
        </p>
      </form>
    </main>
  )
}

type LinkProps = {
  token: string
  onSignIn: (user: UserSession) => void
  /** The link is no longer valid, or the person prefers a key. */
  onDrop: (why: Failure | null) => void
}

/**
 * Asks before a sign-in link is used: a link from another person must not sign a browser in unseen, and programs that open
 * links in advance must not use it up.
 */
export function SignInLinkPage({ token, onSignIn: signedIn, onDrop: drop }: LinkProps) {
  const action = useAction()
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    document.title = 'Sign in · forumd'
    button.current?.focus()
  }, [])

  async function signIn(event: Event) {
    event.preventDefault()
    const answer = await action.run(() =>
      requestSession<UserSession>({ method: 'POST', body: { link: token } }),
    )
    if (answer.ok) signedIn(answer.value)
    else if (answer.failure.code === 'invalid_token') drop(answer.failure)
  }

  return (
    <main class="sign-in" id="main">
      <form onSubmit={(event) => void signIn(event)}>
        <h1>
          <Logo /> forumd
        </h1>
        <p>
          This link signs this browser in, once. Use it only if you created it, or trust the person
          who did.
        </p>
        <ErrorNotice failure={action.failure} />
        <button type="submit" class="main" ref={button} disabled={action.busy}>
          {action.busy ? 'Signing in …' : 'Sign in'}
        </button>
        <button type="button" onClick={() => drop(null)}>
          Sign in with a key instead
        </button>
      </form>
    </main>
  )
}

export const Logo = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M7 18h4l3-8 4 13 3-8h4" />
  </svg>
)

import { useEffect, useRef, useState } from 'preact/hooks'

import { session } from '../api.ts'
import { useDeed } from '../deed.ts'
import type { Who } from '../own-types.ts'
import { Field } from '../parts/field.tsx'
import { Notice, Trouble } from '../parts/notice.tsx'

type SignInProps = { ended: boolean; signedIn: (who: Who) => void }

/** Asks for a key. It goes to the daemon once; the browser keeps a cookie in its place that no script can read. */
export function SignIn({ ended, signedIn }: SignInProps) {
  const [key, setKey] = useState('')
  const [missing, setMissing] = useState(false)
  const deed = useDeed()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = 'Sign in · forumd'
    input.current?.focus()
  }, [])

  async function signIn(event: Event) {
    event.preventDefault()
    setMissing(key.trim() === '')
    if (key.trim() === '') return
    const answer = await deed.run(() => session<Who>({ method: 'POST', body: { key: key.trim() } }))
    if (answer.ok) signedIn(answer.value)
    else input.current?.select()
  }

  const { failure } = deed
  const wrong =
    failure?.code === 'invalid_token'
      ? 'This key is not known here, was revoked or has expired.'
      : failure && failure.field === 'key'
        ? failure.message
        : missing
          ? 'A key is needed: it begins with fk_ or fo_.'
          : null
  return (
    <main class="sign-in" id="main">
      <form onSubmit={(event) => void signIn(event)} noValidate>
        <h1>
          <Mark /> forumd
        </h1>
        {ended && <Notice tone="plain">Your session has ended. Sign in again to go on.</Notice>}
        {/* What keeps passwords wants a name to keep them under. */}
        <input name="username" autocomplete="username" value="forumd" readOnly hidden />
        <Field
          label="API key"
          hint="The key of a customer (fk_…), or the operator's (fo_…)."
          error={wrong}
        >
          {(tied) => (
            <input
              {...tied}
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
        {wrong === null && <Trouble failure={failure} />}
        <button type="submit" class="main" disabled={deed.busy}>
          {deed.busy ? 'Signing in …' : 'Sign in'}
        </button>
        {location.protocol === 'http:' && (
          <p class="quiet small-text">
            This page came over plain http. On this very machine that is fine; from elsewhere,
            whoever is on the way can read the key: put TLS in front first.
          </p>
        )}
        <p class="quiet small-text">
          No key yet? On the machine of the daemon: <code>forumd key create --customer NAME</code>,
          or <code>forumd key create --operator</code>
        </p>
      </form>
    </main>
  )
}

/** The mark of the house. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M7 18h4l3-8 4 13 3-8h4" />
  </svg>
)

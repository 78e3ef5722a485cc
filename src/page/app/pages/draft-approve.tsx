import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { useDeed } from '../deed.ts'
import type { Pool } from '../own-types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { sentence, Trouble } from '../parts/notice.tsx'
import { say } from '../say.ts'

type DraftApproveProps = { path: string; close: () => void; again: () => void }

/** Agrees to a draft: with an account of the pool, or with a session of one's own that is kept nowhere. */
export function DraftApprove({ path, close, again }: DraftApproveProps) {
  const { role, words } = useWho()
  const cookie = `${words.platform}_session`
  const [account, setAccount] = useState('')
  const [session, setSession] = useState('')
  const [loid, setLoid] = useState('')
  const deed = useDeed()
  const operator = role === 'operator'

  async function approve(event: Event) {
    event.preventDefault()
    const answer = await deed.run(() =>
      send(
        `${path}/approve`,
        operator ? { account } : { [cookie]: session.trim(), loid: loid.trim() },
      ),
    )
    // What was refused may have ended it.
    again()
    if (!answer.ok) return
    say('Approved: it was written.')
    close()
  }
  const { failure } = deed
  const errorOf = (field: string) => (failure?.field === field ? sentence(failure.message) : null)
  const placed = [cookie, 'loid', 'account'].includes(failure?.field ?? '')
  return (
    <Dialog title="Approve this draft?" close={close}>
      <form onSubmit={(event) => void approve(event)} noValidate>
        {operator ? (
          <AccountField account={account} setAccount={setAccount} error={errorOf('account')} />
        ) : (
          <>
            <p>
              It is written as the account whose session you give. The session is used for this once
              and kept nowhere.
            </p>
            <Field label={cookie} error={errorOf(cookie)}>
              {(tied) => (
                <input
                  {...tied}
                  type="password"
                  autocomplete="off"
                  value={session}
                  onInput={(event) => setSession(event.currentTarget.value)}
                />
              )}
            </Field>
            <Field label="loid" error={errorOf('loid')}>
              {(tied) => (
                <input
                  {...tied}
                  type="password"
                  autocomplete="off"
                  value={loid}
                  onInput={(event) => setLoid(event.currentTarget.value)}
                />
              )}
            </Field>
          </>
        )}
        <Trouble failure={placed ? null : failure} />
        <div class="actions">
          <button type="submit" class="main" disabled={deed.busy || (operator && account === '')}>
            {deed.busy ? 'Writing …' : 'Approve and write'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

type AccountFieldProps = {
  account: string
  setAccount: (account: string) => void
  error: string | null
}

function AccountField({ account, setAccount, error }: AccountFieldProps) {
  const { value } = useAsk<Pool>('/operator/pool')
  const usable = value?.accounts.filter((it) => !it.paused && !it.needs_login) ?? []
  return (
    <Field label="Write it as" hint="Accounts of the pool that are signed in." error={error}>
      {(tied) => (
        <Choice<string>
          {...tied}
          value={account}
          options={[['', 'choose an account'], ...usable.map((it) => [it.name, it.name] as const)]}
          change={setAccount}
        />
      )}
    </Field>
  )
}

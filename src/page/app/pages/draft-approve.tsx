import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { useDeed } from '../deed.ts'
import type { Pool } from '../own-types.ts'
import { Choice, Field, TextField } from '../parts/field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { placed } from '../parts/notice.tsx'
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

  async function approve() {
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
  const { errorOf, rest } = placed(deed.failure, [cookie, 'loid', 'account'])
  return (
    <FormDialog
      title="Approve this draft?"
      does="Approve and write"
      doing="Writing …"
      busy={deed.busy}
      ready={!operator || account !== ''}
      failure={rest}
      submit={approve}
      close={close}
    >
      {operator ? (
        <AccountField account={account} setAccount={setAccount} error={errorOf('account')} />
      ) : (
        <>
          <p>
            It is written as the account whose cookies you give, out of your own browser. They are
            used for this once and kept nowhere.
          </p>
          <TextField
            label={cookie}
            error={errorOf(cookie)}
            veiled
            value={session}
            change={setSession}
          />
          <TextField label="loid" error={errorOf('loid')} veiled value={loid} change={setLoid} />
        </>
      )}
    </FormDialog>
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

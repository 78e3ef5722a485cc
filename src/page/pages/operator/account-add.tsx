import { useState } from 'preact/hooks'

import { FormDialog } from '../../components/base/dialog.tsx'
import { Choice, Field, LinesField, TextField } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { assignErrors } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { words as inWords } from '../../lib/format.ts'
import type { Pool } from '../../lib/types.ts'

const JAR_MAX = 512 * 1024

type Props = { proxies: Pool['proxies']; again: () => void }

/** The button that adds an account by exported cookies, with its dialog. */
export function AddAccount(props: Props) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        <Icon name="plus" /> Add account
      </button>
      {open && <AddAccountDialog {...props} close={() => setOpen(false)} />}
    </>
  )
}

function AddAccountDialog({ proxies, again, close }: Props & { close: () => void }) {
  const [name, setName] = useState('')
  const [jar, setJar] = useState('')
  const [proxy, setProxy] = useState<string>('')
  const action = useAction()
  async function add() {
    const answer = await action.run(() =>
      postJson<{ username: string | null; status: string }>('/operator/accounts', {
        name: name.trim(),
        jar,
        proxy: proxy === '' ? null : proxy,
      }),
    )
    if (!answer.ok) return
    notify(`${name.trim()} is in the pool: ${inWords(answer.value.status).toLowerCase()}.`)
    close()
    again()
  }
  const { errorOf, rest } = assignErrors(action.failure, ['name', 'jar', 'proxy'])
  return (
    <FormDialog
      title="Add an account"
      does="Check and add"
      doing="Checking …"
      busy={action.busy}
      failure={rest}
      submit={add}
      close={close}
    >
      <p>
        Sign in to the platform with your own browser and export its cookies. They are checked, then
        stored encrypted, and never shown again.
      </p>
      <TextField
        label="Account name"
        hint="Your name for it: letters, digits, dots, _ and -."
        error={errorOf('name')}
        value={name}
        maxLength={64}
        spellcheck={false}
        autocapitalize="none"
        change={setName}
      />
      <Field label="Cookie file" hint="A cookies.txt or a JSON export. Or paste it below.">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".txt,.json,text/plain,application/json"
            onChange={({ currentTarget }) => {
              const file = currentTarget.files?.[0]
              // One character more than allowed, so that the daemon names the limit.
              if (file)
                void file
                  .slice(0, JAR_MAX + 1)
                  .text()
                  .then(setJar)
            }}
          />
        )}
      </Field>
      <LinesField
        label="Cookies"
        error={errorOf('jar')}
        value={jar}
        rows={4}
        maxLength={JAR_MAX + 1}
        change={setJar}
      />
      {proxies.length > 0 && (
        <Field label="Proxy" error={errorOf('proxy')}>
          {(attributes) => (
            <Choice<string>
              {...attributes}
              value={proxy}
              options={[['', 'direct'], ...proxies.map((it) => [it.name, it.name] as const)]}
              change={setProxy}
            />
          )}
        </Field>
      )}
    </FormDialog>
  )
}

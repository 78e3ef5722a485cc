import { useState } from 'preact/hooks'

import { CallDialog } from '../../components/base/dialog.tsx'
import { TextField } from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useQuery } from '../../hooks/use-query.ts'
import { postJson } from '../../lib/api.ts'
import { Link } from '../../lib/route.tsx'
import { Menu } from './filters.tsx'
import { fromBody, inboxPath, type ListFilter, toBody } from './state/filter.ts'
import type { NamedView, Views } from './state/types.ts'

type ViewsProps = { base: string; filter: ListFilter; now: () => number }

/** A menu of the saved views, which every key of the customer shares, and of saving the present one. */
export function ViewsMenu({ base, filter, now }: ViewsProps) {
  const views = useQuery<Views>(`${base}/views`)
  const [saving, setSaving] = useState(false)
  const all = views.value?.views ?? []
  const here = inboxPath(filter)
  async function remove({ id, name }: NamedView) {
    const answer = await postJson(`${base}/views/delete`, { id })
    if (!answer.ok) return notify(answer.failure.message)
    notify(`Deleted the view ${name}.`)
    views.again()
  }
  return (
    <>
      <Menu icon="menu" label="Views">
        {(close) => (
          <>
            {all.length === 0 && (
              <p class="quiet small-text">
                No saved views. Choose filters and save them under a name; your team sees them too.
              </p>
            )}
            <ul class="views">
              {all.map((it) => {
                const to = inboxPath(fromBody(it.filter))
                return (
                  <li key={it.id} onClick={close}>
                    <Link to={to} current={to === here}>
                      {it.name}
                    </Link>
                    <button
                      type="button"
                      class="plain small"
                      aria-label={`Delete the view ${it.name}`}
                      title="Delete"
                      onClick={() => void remove(it)}
                    >
                      <Icon name="close" />
                    </button>
                  </li>
                )
              })}
            </ul>
            <button
              type="button"
              class="small"
              onClick={() => {
                close()
                setSaving(true)
              }}
            >
              <Icon name="plus" /> Save this view
            </button>
          </>
        )}
      </Menu>
      {saving && (
        <SaveDialog
          base={base}
          body={toBody({ ...filter, within: '' }, now())}
          close={() => setSaving(false)}
          saved={views.again}
        />
      )}
    </>
  )
}

type SaveProps = { base: string; body: object; close: () => void; saved: () => void }

function SaveDialog({ base, body, close, saved }: SaveProps) {
  const [name, setName] = useState('')
  return (
    <CallDialog<NamedView>
      title="Save this view"
      does="Save"
      doing="Saving …"
      fields={['name']}
      close={close}
      call={() => postJson<NamedView>(`${base}/views/save`, { name: name.trim(), filter: body })}
      done={(view) => {
        notify(`Saved the view ${view.name}.`)
        saved()
        close()
      }}
    >
      {(errorOf) => (
        <TextField
          label="Name"
          hint="Such as “Unread questions”. It is shared by all keys of this account; a period is not part of it."
          error={errorOf('name')}
          value={name}
          maxLength={64}
          change={setName}
        />
      )}
    </CallDialog>
  )
}

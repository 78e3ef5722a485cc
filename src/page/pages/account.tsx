import { useState } from 'preact/hooks'

import { Badge } from '../components/base/badge.tsx'
import { Confirm } from '../components/base/dialog.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { DataTable } from '../components/base/table.tsx'
import { Time } from '../components/base/time.tsx'
import { notify } from '../components/base/toast.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { many } from '../lib/format.ts'
import type { BrowserSession } from '../lib/types.ts'

const REFRESH_MS = 30_000

export function AccountPage() {
  const { customer, key } = useCurrentUser()
  return (
    <PageLayout title="Account" lead={`Signed in as ${customer?.name ?? 'operator'}.`}>
      <section aria-labelledby="key">
        <h2 id="key">API key</h2>
        <Facts
          rows={[
            ['Name', key.name ?? 'none'],
            ['Starts with', <code>{key.prefix}…</code>],
            ['Scopes', key.scopes.length > 0 ? key.scopes.join(', ') : 'operator'],
          ]}
        />
      </section>
      <Sessions />
    </PageLayout>
  )
}

function Sessions() {
  const { value, failure, again } = useQuery<{ sessions: BrowserSession[] }>(
    '/dashboard/session/list',
    { every_ms: REFRESH_MS },
  )
  const [ending, setEnding] = useState<BrowserSession | 'others' | null>(null)
  const rows = value?.sessions
  const others = rows?.filter((it) => !it.current) ?? []
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Browser sessions</h2>
      <p class="quiet">
        Browsers that are signed in with this key. A session ends 7 days after its last use, or with
        its key.
      </p>
      <ErrorNotice failure={failure} again={again} />
      {rows === undefined && failure === null && <Skeleton rows={2} />}
      {rows && (
        <DataTable<BrowserSession>
          caption="Browser sessions, the last used first"
          keyOf={(it) => it.id}
          rows={rows}
          columns={[
            {
              title: 'Browser',
              kind: 'main',
              cell: (it) => (
                <>
                  {nameOf(it)} {it.current && <Badge tone="good">This one</Badge>}
                </>
              ),
            },
            { title: 'Address', cell: (it) => it.address },
            { title: 'Signed in', cell: (it) => <Time at={it.created_at} full /> },
            { title: 'Last used', cell: (it) => <Time at={it.last_used_at} /> },
            {
              title: 'Actions',
              kind: 'actions',
              cell: (it) =>
                !it.current && (
                  <button type="button" class="small" onClick={() => setEnding(it)}>
                    End
                  </button>
                ),
            },
          ]}
        />
      )}
      {others.length > 0 && (
        <button type="button" onClick={() => setEnding('others')}>
          End all other sessions
        </button>
      )}
      {ending !== null && (
        <EndDialog of={ending} others={others.length} close={() => setEnding(null)} again={again} />
      )}
    </section>
  )
}

type EndDialogProps = {
  of: BrowserSession | 'others'
  others: number
  close: () => void
  again: () => void
}

function EndDialog({ of, others, close, again }: EndDialogProps) {
  const every = of === 'others'
  return (
    <Confirm
      title={every ? `End ${many(others, 'other session')}?` : 'End this session?'}
      does={every ? 'End the others' : 'End session'}
      run={() =>
        postJson<{ ended: number }>(
          '/dashboard/session/end',
          every ? { others: true } : { id: of.id },
        )
      }
      close={close}
      done={() => {
        notify(every ? 'Only this browser is signed in.' : `${nameOf(of)} is signed out.`)
        again()
      }}
    >
      <p>
        {every
          ? 'Every other browser needs the key or a sign-in link again. Unused sign-in links of this key no longer work.'
          : `${nameOf(of)} at ${of.address} needs the key or a sign-in link again.`}{' '}
        Anyone who has the key can sign in with it: if it has leaked, revoke it.
      </p>
    </Confirm>
  )
}

const nameOf = ({ browser }: BrowserSession): string => browser ?? 'Unknown browser'

import { useState } from 'preact/hooks'

import { Badge } from '../components/base/badge.tsx'
import { Confirm, FormDialog } from '../components/base/dialog.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ChoiceField, TextField } from '../components/base/field.tsx'
import { assignErrors, EmptyState, ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { Time } from '../components/base/time.tsx'
import { notify } from '../components/base/toast.tsx'
import { Outward } from '../components/item.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { usePaged, useQuery } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import type { DraftList, DraftView, Pool } from '../lib/types.ts'

type DraftApproveProps = {
  path: string
  source: string | null
  close: () => void
  again: () => void
}

/** Approves a draft with an account of the pool (operator) or with session cookies that are not stored (customer). */
function DraftApprove({ path, source, close, again }: DraftApproveProps) {
  const { role, words } = useCurrentUser()
  const cookie = `${words.platform}_session`
  const [account, setAccount] = useState(source ?? '')
  const [session, setSession] = useState('')
  const [loid, setLoid] = useState('')
  const action = useAction()
  const operator = role !== 'customer'

  async function approve() {
    const answer = await action.run(() =>
      postJson(
        `${path}/approve`,
        operator
          ? { account }
          : { [cookie]: session.trim(), ...(source === null && { loid: loid.trim() }) },
      ),
    )
    // A failed approval may have closed the draft.
    again()
    if (!answer.ok) return
    notify('Approved and sent.')
    close()
  }
  const { errorOf, rest } = assignErrors(action.failure, [cookie, 'loid', 'account'])
  return (
    <FormDialog
      title="Approve this draft?"
      does="Approve and send"
      doing="Sending …"
      busy={action.busy}
      ready={!operator || account !== ''}
      failure={rest}
      submit={approve}
      close={close}
    >
      {operator && source !== null ? (
        <p>Sent as your account at {source}.</p>
      ) : operator ? (
        <AccountField account={account} setAccount={setAccount} error={errorOf('account')} />
      ) : (
        <>
          <p>
            {source === null
              ? 'Sent as the platform account of these session cookies, which you copy from your browser. The cookies are used once and not stored.'
              : `Sent as your account at ${source}. Its credential is used once and not stored.`}
          </p>
          <TextField
            label={cookie}
            error={errorOf(cookie)}
            masked
            value={session}
            change={setSession}
          />
          {source === null && (
            <TextField label="loid" error={errorOf('loid')} masked value={loid} change={setLoid} />
          )}
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
  const { value } = useQuery<Pool>('/operator/pool')
  const usable = value?.accounts.filter((it) => !it.paused && !it.needs_login) ?? []
  return (
    <ChoiceField<string>
      label="Send as"
      hint="Accounts that are signed in."
      error={error}
      value={account}
      options={[['', 'choose an account'], ...usable.map((it) => [it.name, it.name] as const)]}
      change={setAccount}
    />
  )
}

const REFRESH_MS = 15_000
const TONES: { [status: string]: Tone } = {
  waiting: 'plain',
  approved: 'good',
  declined: 'quiet',
  expired: 'quiet',
  failed: 'bad',
}

export function Drafts() {
  const { role } = useCurrentUser()
  const at = role === 'customer' ? '/drafts' : '/operator/drafts'
  const list = usePaged<DraftList>(`${at}?limit=25`, { every_ms: REFRESH_MS })
  const rows = list.pages.flatMap((page) => page.drafts)
  // The endpoint does not exist if drafts are disabled.
  const absent = list.failure?.status === 404
  return (
    <PageLayout
      title="Drafts"
      lead="Replies, votes and messages that wait: of the inbox, and of programs. Nothing is sent until you approve it here."
    >
      <ErrorNotice failure={absent ? null : list.failure} again={list.again} />
      {list.first && <Skeleton rows={3} />}
      {(absent || (list.pages.length > 0 && rows.length === 0)) && (
        <EmptyState title="No drafts">
          <p>
            MCP clients submit comments, votes and messages as drafts. A draft expires after 24
            hours.
          </p>
        </EmptyState>
      )}
      <ul class="cards">
        {rows.map((it) => (
          <DraftCard key={it.id} draft={it} at={at} again={list.again} />
        ))}
      </ul>
      {list.more && (
        <button type="button" disabled={list.busy} onClick={list.older}>
          Show older
        </button>
      )}
    </PageLayout>
  )
}

type DraftCardProps = { draft: DraftView; at: string; again: () => void }

function DraftCard({ draft, at, again }: DraftCardProps) {
  const { id, action, body, source, status, created_at, expires_at, customer, answer } = draft
  const [dialog, setDialog] = useState<'approve' | 'decline' | null>(null)
  const path = `${at}/${encodeURIComponent(id)}`
  const close = () => setDialog(null)
  return (
    <li class="card">
      <div class="card-head">
        <h2>{inWords(action.replaceAll('/', ' '))}</h2>
        <Badge tone={TONES[status] ?? 'plain'}>{inWords(status)}</Badge>
      </div>
      <p class="quiet small-text facts">
        {customer && <span>by {customer.name}</span>}
        {source !== null && <span>at {source}</span>}
        <span>
          created <Time at={created_at} />
        </span>
        {status === 'waiting' && (
          <span>
            expires <Time at={expires_at} />
          </span>
        )}
      </p>
      <Facts
        rows={Object.entries(body).map(([name, value]) => [
          inWords(name),
          <span class="written">
            {typeof value !== 'string' ? (
              JSON.stringify(value)
            ) : name === 'post_url' ? (
              <Outward url={value} own>
                {value}
              </Outward>
            ) : (
              value
            )}
          </span>,
        ])}
      />
      {answer !== null && <DraftAnswer answer={answer} />}
      {status === 'waiting' && (
        <div class="actions">
          <button type="button" class="main" onClick={() => setDialog('approve')}>
            Approve
          </button>
          <button type="button" onClick={() => setDialog('decline')}>
            Decline
          </button>
        </div>
      )}
      {dialog === 'approve' && (
        <DraftApprove path={path} source={source} close={close} again={again} />
      )}
      {dialog === 'decline' && (
        <Confirm
          title="Decline this draft?"
          does="Decline draft"
          close={close}
          run={() => postJson(`${path}/decline`, {})}
          done={() => {
            notify('Declined. It will not be sent.')
            again()
          }}
        >
          <p>It will not be sent, and the program is notified.</p>
        </Confirm>
      )}
    </li>
  )
}

function DraftAnswer({ answer }: { answer: NonNullable<DraftView['answer']> }) {
  const { permalink, message, error } = answer
  const why = [message, error].find((it) => typeof it === 'string')
  return (
    <div class="answer">
      <p>
        {typeof permalink === 'string' ? (
          <>
            Sent:{' '}
            <Outward url={permalink} own>
              {permalink}
            </Outward>
          </>
        ) : (
          (why ?? 'Sent.')
        )}
      </p>
    </div>
  )
}

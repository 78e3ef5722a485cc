import { useState } from 'preact/hooks'

import { Badge } from '../components/base/badge.tsx'
import { EmptyState, ErrorNotice, Notice, Skeleton } from '../components/base/notice.tsx'
import { DataTable } from '../components/base/table.tsx'
import { Time } from '../components/base/time.tsx'
import { notify } from '../components/base/toast.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useAction } from '../hooks/use-action.ts'
import { useQuery } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { count, words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { dashboardPath, go, Link, useDialogOf } from '../lib/route.tsx'
import type { Account, Pool } from '../lib/types.ts'
import { AddAccount, LoginDialog, RemoveAccountDialog } from './operator/account-actions.tsx'

const REFRESH_MS = 10_000

/** The platform accounts: rate budgets, cooldowns and required logins. */
export function PoolPage() {
  const pool = useQuery<Pool>('/operator/pool', { every_ms: REFRESH_MS })
  const { accounts = [], proxies = [], anonymous } = pool.value ?? {}
  const waiting = accounts.filter((it) => it.needs_login)
  const login = useDialogOf('login')
  const to_login = accounts.find(({ name }) => name === login.of)
  return (
    <PageLayout
      title="Pool"
      lead="Platform accounts of this daemon and their proxies."
      beside={pool.value && <AddAccount proxies={proxies} again={pool.again} />}
    >
      <ErrorNotice failure={pool.failure} again={pool.again} />
      {pool.value === undefined && pool.failure === null && <Skeleton rows={4} />}
      {waiting.length > 0 && (
        <Notice tone="warn">
          <p>
            {waiting.map(({ id, name }, at) => (
              <span key={id}>
                {at > 0 && ', '}
                <Link to={loginPath(name)}>{name}</Link>
              </span>
            ))}{' '}
            {waiting.length === 1 ? 'needs' : 'need'} a new login.
          </p>
        </Notice>
      )}
      {anonymous && (
        <p>
          {anonymous.allowed
            ? 'Anonymous reads are allowed when the pool is empty.'
            : 'Reads need an account; anonymous reads are rejected.'}
        </p>
      )}
      {pool.value && accounts.length === 0 && (
        <EmptyState title="No accounts yet">
          <p>
            Add one by the cookies of your own browser, a password or an OAuth application. On the
            daemon's host: <code>forumd account add NAME</code>
          </p>
        </EmptyState>
      )}
      <ul class="cards">
        {accounts.map((it) => (
          <AccountCard key={it.id} account={it} again={pool.again} />
        ))}
      </ul>
      {proxies.length > 0 && (
        <section aria-labelledby="proxies">
          <h2 id="proxies">Proxies</h2>
          <DataTable<Pool['proxies'][number]>
            caption="Proxies"
            keyOf={(it) => it.id}
            rows={proxies}
            columns={[
              { title: 'Name', kind: 'main', cell: (it) => it.name },
              {
                title: 'Address',
                cell: (it) =>
                  it.host === null ? 'not known' : `${it.scheme ?? 'http'}://${it.host}`,
              },
              { title: 'State', cell: (it) => inWords(it.status) },
              // The time of a failed test is not stored, so 'never' would be wrong.
              {
                title: 'Tested',
                cell: (it) => (it.last_error === null ? <Time at={it.last_tested_at} /> : '–'),
              },
              { title: 'Last error', cell: (it) => it.last_error ?? '' },
            ]}
          />
        </section>
      )}
      {to_login && <LoginDialog account={to_login} close={login.close} again={pool.again} />}
    </PageLayout>
  )
}

const loginPath = (name: string) => `${dashboardPath('pool')}?login=${encodeURIComponent(name)}`

function accountStatus(account: Account): { tone: Tone; word: string } {
  if (account.paused) return { tone: 'quiet', word: 'Paused' }
  if (account.needs_login) return { tone: 'bad', word: 'Needs login' }
  if (account.cooling_until !== null) return { tone: 'warn', word: 'Cooling' }
  return { tone: account.status === 'dead' ? 'bad' : 'good', word: inWords(account.status) }
}

type Tested = { ok: boolean; verdict: string }

const VERDICTS: { [verdict: string]: string } = {
  alive: 'Signed in and able to read.',
  logged_out: 'Logged out by the platform; sign in again.',
  no_session: 'No session yet; sign in.',
  suspended: 'Suspended by the platform.',
  locked: 'Locked by the platform; the owner has to unlock it there.',
  blocked: 'The platform blocks the IP address; another proxy may help.',
  unclear: "The platform's response is inconclusive. Try again later.",
  paused: 'Paused; resume the account first.',
}

function AccountCard({ account, again }: { account: Account; again: () => void }) {
  const { id, name, kind, paused, budget } = account
  const action = useAction()
  const [tested, setTested] = useState<Tested | null>(null)
  const [removing, setRemoving] = useState(false)
  const { tone, word } = accountStatus(account)
  const at = `/operator/pool/${encodeURIComponent(id)}`
  async function flip() {
    const answer = await action.run(() => postJson(`${at}/${paused ? 'resume' : 'pause'}`, {}))
    if (!answer.ok) return
    notify(paused ? `${name} resumed.` : `${name} paused.`)
    again()
  }
  async function test() {
    setTested(null)
    const answer = await action.run(() => postJson<Tested>(`${at}/test`, {}))
    if (answer.ok) setTested(answer.value)
    again()
  }
  return (
    <li class="card">
      <div class="card-head">
        <h2>{name}</h2>
        <Badge tone={tone}>{word}</Badge>
      </div>
      <p class="quiet small-text facts">
        <span>{kind}</span>
        {account.proxy !== null && <span>through {account.proxy}</span>}
        <span>
          {account.last_used_at !== null && 'used '}
          <Time at={account.last_used_at} none="not used yet" />
        </span>
        <span>{count(account.requests_24h)} requests in 24 h</span>
        <span>{count(account.blocked_24h)} blocked</span>
      </p>
      <Budget budget={budget} name={name} />
      {account.cooling_until !== null && (
        <p>
          Cooling down; used again <Time at={account.cooling_until} />.
        </p>
      )}
      {account.last_error !== null && <p class="quiet">Reason: {inWords(account.last_error)}</p>}
      <ErrorNotice failure={action.failure} />
      {tested && (
        <Notice tone={tested.ok ? 'good' : 'bad'}>
          {VERDICTS[tested.verdict] ?? inWords(tested.verdict)}
        </Notice>
      )}
      <div class="actions">
        <button type="button" disabled={action.busy} onClick={() => void test()}>
          Test
        </button>
        <button type="button" disabled={action.busy} onClick={() => void flip()}>
          {paused ? 'Resume' : 'Pause'}
        </button>
        <button
          type="button"
          aria-label={`Sign in ${name}`}
          onClick={() => go(loginPath(name), { replace: true })}
        >
          Sign in
        </button>
        <button
          type="button"
          class="danger-quiet"
          aria-label={`Remove ${name}`}
          onClick={() => setRemoving(true)}
        >
          Remove
        </button>
      </div>
      {removing && (
        <RemoveAccountDialog account={account} close={() => setRemoving(false)} again={again} />
      )}
    </li>
  )
}

function Budget({ budget, name }: { budget: Account['budget']; name: string }) {
  if (budget === null) return <p class="quiet">Rate budget unknown: no requests yet.</p>
  const { limit_per_minute, remaining, resets_at } = budget
  return (
    <div class="budget">
      <meter
        min={0}
        max={limit_per_minute}
        value={Math.min(remaining, limit_per_minute)}
        aria-label={`Rate budget of ${name}`}
      />
      <span class="quiet small-text">
        {count(remaining)} requests left, at most {count(limit_per_minute)} a minute
        {resets_at !== null && (
          <>
            , renewed <Time at={resets_at} />
          </>
        )}
      </span>
    </div>
  )
}

import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useAsk } from '../ask.ts'
import { useDeed } from '../deed.ts'
import type { Account, Pool } from '../own-types.ts'
import { Badge } from '../parts/badge.tsx'
import { Empty, Notice, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Rows } from '../parts/rows.tsx'
import { Time } from '../parts/time.tsx'
import { say } from '../say.ts'
import { count, words as inWords } from '../show.ts'
import type { Tone } from '../standing.ts'

const LOOK_MS = 10_000

/** Our accounts on the platform: what each may still ask, which rest, which need a new login. */
export function PoolPage() {
  const pool = useAsk<Pool>('/operator/pool', { every_ms: LOOK_MS })
  const { accounts = [], proxies = [], anonymous } = pool.value ?? {}
  const waiting = accounts.filter((it) => it.needs_login)
  return (
    <Page
      title="Pool"
      lead="The accounts through which this daemon reads the platform, and their ways out."
    >
      <Trouble failure={pool.failure} again={pool.again} />
      {pool.value === undefined && pool.failure === null && <Waiting rows={4} />}
      {waiting.length > 0 && (
        <Notice tone="warn">
          <p>
            {waiting.map((it) => it.name).join(', ')} {waiting.length === 1 ? 'needs' : 'need'} a
            new login, on the machine of the daemon:{' '}
            <code>forumd account login {waiting.length === 1 ? waiting[0]?.name : 'NAME'}</code>
          </p>
        </Notice>
      )}
      {anonymous && (
        <p>
          {anonymous.allowed
            ? 'Reads without an account are allowed when the pool is empty.'
            : 'Reads need an account: without one they are refused.'}
        </p>
      )}
      {pool.value && accounts.length === 0 && (
        <Empty title="No accounts yet">
          <p>
            Passwords and cookies are never typed into this page. On the machine of the daemon:{' '}
            <code>forumd account add NAME</code>
          </p>
        </Empty>
      )}
      <ul class="cards">
        {accounts.map((it) => (
          <AccountCard key={it.id} account={it} again={pool.again} />
        ))}
      </ul>
      {proxies.length > 0 && (
        <section aria-labelledby="proxies">
          <h2 id="proxies">Proxies</h2>
          <Rows<Pool['proxies'][number]>
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
              // Of a test that failed nobody keeps when it was, and that is not never.
              {
                title: 'Tested',
                cell: (it) => (it.last_error === null ? <Time at={it.last_tested_at} /> : '–'),
              },
              { title: 'Last error', cell: (it) => it.last_error ?? '' },
            ]}
          />
        </section>
      )}
    </Page>
  )
}

function standing(account: Account): { tone: Tone; word: string } {
  if (account.paused) return { tone: 'quiet', word: 'Paused' }
  if (account.needs_login) return { tone: 'bad', word: 'Needs login' }
  if (account.cooling_until !== null) return { tone: 'warn', word: 'Cooling' }
  return { tone: account.status === 'dead' ? 'bad' : 'good', word: inWords(account.status) }
}

type Tested = { ok: boolean; verdict: string }

const VERDICTS: { [verdict: string]: string } = {
  alive: 'The platform knows it and lets it read.',
  nobody: 'The platform takes it for logged out: it needs a new login.',
  no_session: 'It has no session yet: it needs a login.',
  suspended: 'The platform has suspended it.',
  locked: 'The platform has locked it; its owner has to look there.',
  blocked: 'The platform blocks where it comes from; another proxy may help.',
  unclear: 'What the platform answered says neither yes nor no. Try again later.',
  paused: 'It is paused; resume it first.',
}

function AccountCard({ account, again }: { account: Account; again: () => void }) {
  const { id, name, kind, paused, budget } = account
  const deed = useDeed()
  const [tested, setTested] = useState<Tested | null>(null)
  const { tone, word } = standing(account)
  const at = `/operator/pool/${encodeURIComponent(id)}`
  async function flip() {
    const answer = await deed.run(() => send(`${at}/${paused ? 'resume' : 'pause'}`, {}))
    if (!answer.ok) return
    say(paused ? `${name} is used again.` : `${name} is not used any more.`)
    again()
  }
  async function test() {
    setTested(null)
    const answer = await deed.run(() => send<Tested>(`${at}/test`, {}))
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
          Rests; used again <Time at={account.cooling_until} />.
        </p>
      )}
      {account.last_error !== null && <p class="quiet">Reason: {inWords(account.last_error)}</p>}
      <Trouble failure={deed.failure} />
      {tested && (
        <Notice tone={tested.ok ? 'good' : 'bad'}>
          {VERDICTS[tested.verdict] ?? inWords(tested.verdict)}
        </Notice>
      )}
      <div class="actions">
        <button type="button" disabled={deed.busy} onClick={() => void test()}>
          Test
        </button>
        <button type="button" disabled={deed.busy} onClick={() => void flip()}>
          {paused ? 'Resume' : 'Pause'}
        </button>
      </div>
    </li>
  )
}

/** What an account may still ask before its allowance is renewed. */
function Budget({ budget, name }: { budget: Account['budget']; name: string }) {
  if (budget === null)
    return <p class="quiet">Its allowance is not known: nothing was asked yet.</p>
  const { limit_per_minute, remaining, resets_at } = budget
  return (
    <div class="budget">
      <meter
        min={0}
        max={limit_per_minute}
        value={Math.min(remaining, limit_per_minute)}
        aria-label={`What ${name} may still ask`}
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

import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { usePaged } from '../paged.ts'
import { Badge } from '../parts/badge.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Outward } from '../parts/outward.tsx'
import { Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { say } from '../say.ts'
import { words as inWords } from '../show.ts'
import type { Tone } from '../standing.ts'
import type { Draft, DraftList } from '../types.ts'
import { DraftApprove } from './draft-approve.tsx'

const LOOK_MS = 15_000
const TONES: { [status: string]: Tone } = {
  waiting: 'plain',
  approved: 'good',
  declined: 'quiet',
  expired: 'quiet',
  failed: 'bad',
}

/** What a program wants to write, and a person has to agree to. */
export function Drafts() {
  const { role } = useWho()
  const at = role === 'operator' ? '/operator/drafts' : '/drafts'
  const list = usePaged<DraftList>(`${at}?limit=25`, { every_ms: LOOK_MS })
  const rows = list.pages.flatMap((page) => page.drafts)
  // A daemon that takes no drafts has none.
  const absent = list.failure?.status === 404
  return (
    <Page
      title="Drafts"
      lead="What a program wants to write on the platform. Nothing is written before somebody approves it here."
    >
      <Trouble failure={absent ? null : list.failure} again={list.again} />
      {list.first && <Waiting rows={3} />}
      {(absent || (list.pages.length > 0 && rows.length === 0)) && (
        <Empty title="No drafts wait">
          <p>
            Programs that speak MCP leave their comments, votes and messages here. They end after 24
            hours.
          </p>
        </Empty>
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
    </Page>
  )
}

type DraftCardProps = { draft: Draft; at: string; again: () => void }

function DraftCard({ draft, at, again }: DraftCardProps) {
  const { id, action, body, status, created_at, expires_at, customer, answer } = draft
  const [asking, setAsking] = useState<'approve' | 'decline' | null>(null)
  const path = `${at}/${encodeURIComponent(id)}`
  const close = () => setAsking(null)
  return (
    <li class="card">
      <div class="card-head">
        <h2>{inWords(action.replaceAll('/', ' '))}</h2>
        <Badge tone={TONES[status] ?? 'plain'}>{inWords(status)}</Badge>
      </div>
      <p class="quiet small-text facts">
        {customer && <span>of {customer.name}</span>}
        <span>
          made <Time at={created_at} />
        </span>
        {status === 'waiting' && (
          <span>
            ends <Time at={expires_at} />
          </span>
        )}
      </p>
      <Facts
        rows={Object.entries(body).map(([name, value]) => [
          inWords(name),
          <span class="written">{typeof value === 'string' ? value : JSON.stringify(value)}</span>,
        ])}
      />
      {answer !== null && <Came answer={answer} />}
      {status === 'waiting' && (
        <div class="actions">
          <button type="button" class="main" onClick={() => setAsking('approve')}>
            Approve
          </button>
          <button type="button" onClick={() => setAsking('decline')}>
            Decline
          </button>
        </div>
      )}
      {asking === 'approve' && <DraftApprove path={path} close={close} again={again} />}
      {asking === 'decline' && (
        <Confirm
          title="Decline this draft?"
          does="Decline it"
          close={close}
          run={() => send(`${path}/decline`, {})}
          done={() => {
            say('Declined: it will not be written.')
            again()
          }}
        >
          <p>It will not be written, and the program is told.</p>
        </Confirm>
      )}
    </li>
  )
}

/** What the platform answered: where it stands now, or why it does not. */
function Came({ answer }: { answer: NonNullable<Draft['answer']> }) {
  const { permalink, message, error } = answer
  const why = [message, error].find((it) => typeof it === 'string')
  return (
    <div class="answer">
      <p>
        {typeof permalink === 'string' ? (
          <>
            Written:{' '}
            <Outward url={permalink} own>
              {permalink}
            </Outward>
          </>
        ) : (
          (why ?? 'Written.')
        )}
      </p>
    </div>
  )
}

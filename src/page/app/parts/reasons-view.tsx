import { span, words as inWords } from '../show.ts'
import type { Criterion, Why } from '../types.ts'
import { Badge } from './badge.tsx'
import { sentence } from './notice.tsx'
import { Rows } from './rows.tsx'
import { Time } from './time.tsx'

const VERDICTS = { met: 'good', not_met: 'bad', later: 'plain', withheld: 'warn' } as const

/** Why items were delivered, withheld or not matched: when each was first seen, and what each condition says of it. */
export const ReasonsView = ({ items }: { items: Why['items'] }) => (
  <>
    {items.map((it) => (
      <div key={it.item_id}>
        <p>
          {sentence(it.means)}{' '}
          {it.first_seen && (
            <span class="quiet">
              First seen <Time at={it.first_seen.at} />
              {it.first_seen.age_s !== null &&
                `, ${span(it.first_seen.age_s)} after it was written`}
              .
            </span>
          )}
        </p>
        {it.filter_edited_since && (
          <p class="quiet">
            The filter was changed since; these are its conditions as they are now.
          </p>
        )}
        {it.criteria && (
          <Rows<Criterion>
            caption="The filter's conditions"
            keyOf={(c) => c.criterion}
            rows={it.criteria}
            columns={[
              { title: 'Condition', kind: 'main', cell: (c) => inWords(c.criterion) },
              {
                title: 'Verdict',
                cell: (c) => <Badge tone={VERDICTS[c.verdict]}>{inWords(c.verdict)}</Badge>,
              },
              { title: 'What was looked at', cell: (c) => c.detail },
            ]}
          />
        )}
      </div>
    ))}
  </>
)

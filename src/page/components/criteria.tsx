import { conditionName, formatDuration, words as inWords } from '../lib/format.ts'
import type { Criterion, Why } from '../lib/types.ts'
import { Badge } from './base/badge.tsx'
import { sentence } from './base/notice.tsx'
import { DataTable } from './base/table.tsx'
import { Time } from './base/time.tsx'

const VERDICTS = { met: 'good', not_met: 'bad', later: 'plain', withheld: 'warn' } as const

type ReasonsViewProps = {
  items: Why['items']
  /** The page is that of a delivery, so that it needs no pointer to one. */
  of_delivery?: boolean
}

/** Explains why items were delivered, withheld or not matched: first sighting and the verdict of each condition. */
export const ReasonsView = ({ items, of_delivery = false }: ReasonsViewProps) => (
  <>
    {items.map((it) => (
      <div key={it.item_id}>
        <p>
          {of_delivery && it.outcome === 'matched' ? 'It matched.' : sentence(it.means)}{' '}
          {it.first_seen && (
            <span class="quiet">
              First seen <Time at={it.first_seen.at} />
              {it.first_seen.age_s !== null &&
                `, ${formatDuration(it.first_seen.age_s)} after its creation`}
              .
            </span>
          )}
        </p>
        {it.filter_edited_since && (
          <p class="quiet">The filter was changed since; these are its current conditions.</p>
        )}
        {it.criteria && (
          <DataTable<Criterion>
            caption="The filter's conditions"
            keyOf={(c) => c.criterion}
            rows={it.criteria}
            columns={[
              { title: 'Condition', kind: 'main', cell: (c) => conditionName(c.criterion) },
              {
                title: 'Verdict',
                cell: (c) => <Badge tone={VERDICTS[c.verdict]}>{inWords(c.verdict)}</Badge>,
              },
              { title: 'Details', cell: (c) => c.detail },
            ]}
          />
        )}
      </div>
    ))}
  </>
)

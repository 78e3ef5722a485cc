import { useMemo, useState } from 'preact/hooks'

import { useAsk, useLast } from '../ask.ts'
import { Choice, Field } from '../parts/field.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Rows } from '../parts/rows.tsx'
import { Time, useNow } from '../parts/time.tsx'
import { usd, words as inWords } from '../show.ts'
import type { Me, Payment, Usage } from '../types.ts'
import { UsageFigures } from './usage-figures.tsx'

const HOUR_MS = 3_600_000

const SPANS = [
  ['48', 'two days, by hour'],
  ['168', 'a week, by hour'],
  ['720', '30 days, by day'],
  ['2160', '90 days, by day'],
] as const

/** What was called and what it cost, and what was paid. */
export function UsagePage() {
  const [hours, setHours] = useState<string>('720')
  // To the hour, so that the question stays the same one while the page is looked at.
  const hour_at = Math.floor(useNow() / HOUR_MS) * HOUR_MS
  const span = useMemo(
    () => ({ hour_at, hours: Number(hours), by_hour: Number(hours) <= 168 }),
    [hour_at, hours],
  )
  const from = new Date(hour_at - span.hours * HOUR_MS).toISOString()
  const usage = useAsk<Usage>(`/account/usage?from=${from}&bucket=${span.by_hour ? 'hour' : 'day'}`)
  const shown = useLast(usage.value && { span, usage: usage.value })
  const me = useAsk<Me>('/account/me')
  return (
    <Page
      title="Usage and payments"
      lead={me.value && `${usd(me.value.credits_remaining)} left on plan ${me.value.plan}.`}
      beside={
        <Field label="Span">
          {(tied) => <Choice<string> {...tied} value={hours} options={SPANS} change={setHours} />}
        </Field>
      }
    >
      <Trouble failure={usage.failure ?? me.failure} again={usage.again} />
      <section aria-labelledby="usage">
        <h2 id="usage">Usage</h2>
        {shown ? <UsageFigures {...shown} /> : usage.failure === null && <Waiting rows={6} />}
      </section>
      <Payments />
    </Page>
  )
}

function Payments() {
  const { value, failure, again } = useAsk<{ payments: Payment[] }>('/account/payments')
  return (
    <section aria-labelledby="payments">
      <h2 id="payments">Payments</h2>
      <Trouble failure={failure} again={again} />
      {value === undefined && failure === null && <Waiting rows={2} />}
      {value?.payments.length === 0 && <Empty title="No payments yet" />}
      {value && value.payments.length > 0 && (
        <Rows<Payment>
          caption="Payments, newest first"
          keyOf={(it) => it.id}
          rows={value.payments}
          columns={[
            { title: 'What', kind: 'main', cell: (it) => inWords(it.kind) },
            { title: 'Amount', kind: 'figure', cell: (it) => usd(it.amount_usd) },
            { title: 'When', cell: (it) => <Time at={it.created_at} /> },
            { title: 'Note', cell: (it) => it.note ?? '' },
          ]}
        />
      )}
    </section>
  )
}

import { useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Checkbox, Choice, Field, TextField } from '../../components/base/field.tsx'
import { ErrorNotice } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import type { Health, Monitor } from '../../lib/types.ts'

type Attention = NonNullable<Monitor['attention']>
type Alarm = Health['alarms'][number]

const DAYS = [
  ['mon', 'Monday'],
  ['tue', 'Tuesday'],
  ['wed', 'Wednesday'],
  ['thu', 'Thursday'],
  ['fri', 'Friday'],
  ['sat', 'Saturday'],
  ['sun', 'Sunday'],
] as const
const PERIODS = [
  ['', 'Each match at once'],
  ['day', 'Daily digest'],
  ['week', 'Weekly digest'],
] as const

/** The typed rules of the form; empty texts are off. */
export type TypedAttention = {
  time_zone: string
  from: string
  to: string
  days: readonly string[]
  every: string
  at: string
  day: string
  silent_after_h: string
  alarm_on_degraded: boolean
  every_min: string
}

/** Rules of a monitor as typed into the form. */
export function toTypedAttention(rules: Monitor['attention'] | undefined): TypedAttention {
  const window = rules?.quiet_hours?.[0]
  const zone = new Intl.DateTimeFormat('en').resolvedOptions().timeZone
  return {
    time_zone: rules?.time_zone ?? zone,
    from: window?.from ?? '',
    to: window?.to ?? '',
    days: window?.days ?? DAYS.map(([day]) => day),
    every: rules?.digest?.every ?? '',
    at: rules?.digest?.at ?? '08:00',
    day: rules?.digest?.day ?? 'mon',
    silent_after_h: textOf(rules?.silent_after_h),
    alarm_on_degraded: rules?.alarm_on_degraded ?? false,
    every_min: textOf(rules?.escalate?.every_min),
  }
}

const textOf = (value: number | null | undefined): string => (value == null ? '' : String(value))

/** Rules to send; null when all are off. Windows and targets that the form does not show are kept. */
export function toAttention(typed: TypedAttention, before: Attention | null): object | null {
  const { from, to, days, every, at, day } = typed
  const further = before?.quiet_hours?.slice(1) ?? []
  const quiet_hours = from === '' && to === '' ? further : [{ from, to, days }, ...further]
  const targets = before?.targets ?? []
  const digest = every === '' ? null : { every, at, day: every === 'week' ? day : null }
  const silent_after_h = numberOrNull(typed.silent_after_h)
  const every_min = numberOrNull(typed.every_min)
  const escalate = every_min === null ? null : { ...before?.escalate, every_min }
  const { time_zone, alarm_on_degraded } = typed
  const is_off =
    quiet_hours.length + targets.length === 0 &&
    digest === null &&
    silent_after_h === null &&
    !alarm_on_degraded &&
    escalate === null
  if (is_off) return null
  return { time_zone, quiet_hours, digest, targets, silent_after_h, alarm_on_degraded, escalate }
}

const numberOrNull = (text: string): number | string | null => {
  const typed = text.trim()
  if (typed === '') return null
  return /^\d+$/.test(typed) ? Number(typed) : typed
}

type AttentionFieldsProps = {
  typed: TypedAttention
  setTyped: (typed: TypedAttention) => void
  before: Attention | null
  error: string | null
}

/** Fields for quiet hours, a digest and alarms, collapsed until one is used. */
export function AttentionFields({ typed, setTyped, before, error }: AttentionFieldsProps) {
  const [was_used] = useState(before !== null)
  const set = (change: Partial<TypedAttention>) => setTyped({ ...typed, ...change })
  const further = (before?.quiet_hours?.length ?? 0) > 1 || (before?.targets?.length ?? 0) > 0
  return (
    <details open={was_used || error !== null}>
      <summary>Quiet hours, digests and alarms</summary>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <fieldset>
        <legend>Quiet hours</legend>
        <p class="hint">Nothing is sent then; what is due goes out at their end.</p>
        <TextField
          label="From"
          hint="Such as 22:00. Empty: no quiet hours."
          value={typed.from}
          change={(from) => set({ from })}
        />
        <TextField
          label="To"
          hint="Such as 07:00, on the next day; 24:00 ends a day."
          value={typed.to}
          change={(to) => set({ to })}
        />
        <div class="checks" role="group" aria-label="Days on which quiet hours begin">
          {DAYS.map(([day, label]) => (
            <Checkbox
              key={day}
              label={label}
              checked={typed.days.includes(day)}
              change={(on) =>
                set({
                  days: DAYS.map(([it]) => it).filter((it) =>
                    it === day ? on : typed.days.includes(it),
                  ),
                })
              }
            />
          ))}
        </div>
        <TextField
          label="Time zone"
          hint="Of quiet hours and digest, such as Europe/Berlin."
          value={typed.time_zone}
          spellcheck={false}
          autocapitalize="none"
          change={(time_zone) => set({ time_zone })}
        />
        {further && (
          <p class="hint">
            Further windows and the rules of single webhooks are set by the API; they stay.
          </p>
        )}
      </fieldset>
      <fieldset>
        <legend>Digest</legend>
        <Field label="Send">
          {(attributes) => (
            <Choice<string>
              {...attributes}
              value={typed.every}
              options={PERIODS}
              change={(every) => set({ every })}
            />
          )}
        </Field>
        {typed.every === 'week' && (
          <Field label="On">
            {(attributes) => (
              <Choice<string>
                {...attributes}
                value={typed.day}
                options={DAYS}
                change={(day) => set({ day })}
              />
            )}
          </Field>
        )}
        {typed.every !== '' && (
          <TextField
            label="At"
            hint="Such as 08:00."
            value={typed.at}
            change={(at) => set({ at })}
          />
        )}
      </fieldset>
      <fieldset>
        <legend>Alarms</legend>
        <TextField
          label="No match for (hours)"
          hint="Empty: no such alarm."
          inputMode="numeric"
          value={typed.silent_after_h}
          change={(silent_after_h) => set({ silent_after_h })}
        />
        <Checkbox
          label="Degraded coverage"
          checked={typed.alarm_on_degraded}
          change={(alarm_on_degraded) => set({ alarm_on_degraded })}
        />
        <TextField
          label="Repeat every (minutes)"
          hint="Until it is acknowledged. Empty: an alarm is sent once."
          inputMode="numeric"
          value={typed.every_min}
          change={(every_min) => set({ every_min })}
        />
      </fieldset>
    </details>
  )
}

const ALARMS: Record<Alarm['kind'], string> = {
  silent: 'No matches',
  degraded: 'Coverage degraded',
}

/** The open alarms of a monitor, and the button that acknowledges them. */
export function Alarms({ id, health, again }: { id: string; health: Health; again: () => void }) {
  const { monitor_path } = useCurrentUser()
  const action = useAction()
  const { alarms } = health
  if (alarms.length === 0) return null
  async function acknowledge() {
    const answer = await action.run(() => postJson(`${monitor_path}/acknowledge`, { id }))
    if (!answer.ok) return
    notify('Acknowledged. The alarm is not repeated.')
    again()
  }
  return (
    <section class="card" aria-labelledby="alarms">
      <div class="card-head">
        <h2 id="alarms">{many(alarms.length, 'alarm', 'alarms')}</h2>
        <Badge tone="bad">Alarm</Badge>
      </div>
      <ul>
        {alarms.map((it) => (
          <li key={it.kind}>
            {ALARMS[it.kind]} since <Time at={it.since} />
            {it.repeats > 0 && `, repeated ${many(it.repeats, 'time', 'times')}`}
            {it.acknowledged_at !== null && (
              <>
                , acknowledged <Time at={it.acknowledged_at} />
              </>
            )}
          </li>
        ))}
      </ul>
      <ErrorNotice failure={action.failure} />
      {alarms.some(({ acknowledged_at }) => acknowledged_at === null) && (
        <div class="actions">
          <button type="button" disabled={action.busy} onClick={() => void acknowledge()}>
            {action.busy ? 'Acknowledging …' : 'Acknowledge'}
          </button>
        </div>
      )}
    </section>
  )
}

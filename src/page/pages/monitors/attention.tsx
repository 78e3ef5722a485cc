import { useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Checkbox, ChoiceField, TextField } from '../../components/base/field.tsx'
import { ErrorNotice } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import type { Health, Monitor, Webhook } from '../../lib/types.ts'
import { webhookName } from '../../lib/webhook-health.ts'

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

type Window = { from: string; to: string; days: readonly string[] }

/** Typed hours and digest; an empty `every` is no digest. */
type TypedSending = {
  time_zone: string
  windows: readonly Window[]
  every: string
  at: string
  day: string
}

/** The typed rules of the form; empty texts are off. */
export type TypedAttention = TypedSending & {
  targets: readonly (TypedSending & { webhook_id: string })[]
  silent_after_h: string
  alarm_on_degraded: boolean
  every_min: string
  max: string
}

type Rules = Pick<Attention, 'quiet_hours' | 'digest'> & { time_zone?: string | null | undefined }

const EVERY_DAY = DAYS.map(([day]) => day)
const REPEATS = 10
const WINDOWS_MAX = 20

const toTypedSending = (rules: Rules | undefined, zone: string): TypedSending => ({
  time_zone: rules?.time_zone ?? zone,
  windows: (rules?.quiet_hours ?? []).map(({ from, to, days }) => ({
    from,
    to,
    days: days ?? EVERY_DAY,
  })),
  every: rules?.digest?.every ?? '',
  at: rules?.digest?.at ?? '08:00',
  day: rules?.digest?.day ?? 'mon',
})

export function toTypedAttention(rules: Monitor['attention'] | undefined): TypedAttention {
  const zone = new Intl.DateTimeFormat('en').resolvedOptions().timeZone
  return {
    ...toTypedSending(rules ?? undefined, zone),
    // Empty: the time zone of the monitor.
    targets: (rules?.targets ?? []).map((it) => ({
      ...toTypedSending(it, ''),
      webhook_id: it.webhook_id,
    })),
    silent_after_h: textOf(rules?.silent_after_h),
    alarm_on_degraded: rules?.alarm_on_degraded ?? false,
    every_min: textOf(rules?.escalate?.every_min),
    max: textOf(rules?.escalate?.max ?? REPEATS),
  }
}

const textOf = (value: number | null | undefined): string => (value == null ? '' : String(value))

const toSending = ({ windows, every, at, day }: TypedSending) => ({
  quiet_hours: windows.filter(({ from, to }) => from !== '' || to !== ''),
  digest: every === '' ? null : { every, at, day: every === 'week' ? day : null },
})

/** Rules to send; null when all are off. */
export function toAttention(typed: TypedAttention): object | null {
  const sending = toSending(typed)
  const targets = typed.targets.map((it) => ({
    ...toSending(it),
    webhook_id: it.webhook_id,
    time_zone: it.time_zone === '' ? null : it.time_zone,
  }))
  const silent_after_h = numberOrNull(typed.silent_after_h)
  const every_min = numberOrNull(typed.every_min)
  const escalate =
    every_min === null ? null : { every_min, max: numberOrNull(typed.max) ?? REPEATS }
  const { time_zone, alarm_on_degraded } = typed
  const is_off =
    sending.quiet_hours.length + targets.length === 0 &&
    sending.digest === null &&
    silent_after_h === null &&
    !alarm_on_degraded &&
    escalate === null
  return is_off
    ? null
    : { time_zone, ...sending, targets, silent_after_h, alarm_on_degraded, escalate }
}

const numberOrNull = (text: string): number | string | null => {
  const typed = text.trim()
  if (typed === '') return null
  return /^\d+$/.test(typed) ? Number(typed) : typed
}

type AttentionFieldsProps = {
  typed: TypedAttention
  setTyped: (typed: TypedAttention) => void
  webhooks: readonly Webhook[]
  error: string | null
}

/** Fields for quiet hours, digests and alarms, collapsed until one is used. */
export function AttentionFields({ typed, setTyped, webhooks, error }: AttentionFieldsProps) {
  const [was_used] = useState(toAttention(typed) !== null)
  const set = (change: Partial<TypedAttention>) => setTyped({ ...typed, ...change })
  return (
    <details open={was_used || error !== null}>
      <summary>Quiet hours, digests and alarms</summary>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <SendingFields
        of="all webhooks"
        typed={typed}
        set={set}
        zone_hint="Of quiet hours and digest, such as Europe/Berlin."
      />
      <TargetRules typed={typed} set={set} webhooks={webhooks} />
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
        {typed.every_min.trim() !== '' && (
          <TextField
            label="Repeat at most (times)"
            hint="1 to 100."
            inputMode="numeric"
            value={typed.max}
            change={(max) => set({ max })}
          />
        )}
      </fieldset>
    </details>
  )
}

type SendingFieldsProps = {
  /** The webhooks to which the rules apply, for labels. */
  of: string
  typed: TypedSending
  set: (change: Partial<TypedSending>) => void
  zone_hint: string
}

function SendingFields({ of, typed, set, zone_hint }: SendingFieldsProps) {
  const { windows, every } = typed
  const setWindow = (at: number, change: Partial<Window>) =>
    set({ windows: windows.map((it, n) => (n === at ? { ...it, ...change } : it)) })
  return (
    <>
      <fieldset>
        <legend>Quiet hours of {of}</legend>
        <p class="hint">Nothing is sent then; what is due goes out at their end.</p>
        {windows.map((window, at) => (
          <WindowFields
            key={at}
            n={at + 1}
            window={window}
            set={(change) => setWindow(at, change)}
            remove={() => set({ windows: windows.filter((_, n) => n !== at) })}
          />
        ))}
        {windows.length < WINDOWS_MAX && (
          <p>
            <button
              type="button"
              class="small"
              onClick={() => set({ windows: [...windows, { from: '', to: '', days: EVERY_DAY }] })}
            >
              {windows.length === 0 ? 'Add quiet hours' : 'Add more quiet hours'}
            </button>
          </p>
        )}
        <TextField
          label="Time zone"
          hint={zone_hint}
          value={typed.time_zone}
          change={(time_zone) => set({ time_zone })}
        />
      </fieldset>
      <fieldset>
        <legend>Digest of {of}</legend>
        <ChoiceField<string>
          label="Send"
          value={every}
          options={PERIODS}
          change={(it) => set({ every: it })}
        />
        {every === 'week' && (
          <ChoiceField<string>
            label="On"
            value={typed.day}
            options={DAYS}
            change={(day) => set({ day })}
          />
        )}
        {every !== '' && (
          <TextField
            label="At"
            hint="Such as 08:00."
            value={typed.at}
            change={(at) => set({ at })}
          />
        )}
      </fieldset>
    </>
  )
}

type WindowFieldsProps = {
  n: number
  window: Window
  set: (change: Partial<Window>) => void
  remove: () => void
}

const WindowFields = ({ n, window: { from, to, days }, set, remove }: WindowFieldsProps) => (
  <div class="window" role="group" aria-label={`Quiet hours ${n}`}>
    <div class="pair">
      <TextField
        label="From"
        hint="Such as 22:00."
        value={from}
        change={(it) => set({ from: it })}
      />
      <TextField
        label="To"
        hint="Such as 07:00, on the next day; 24:00 ends a day."
        value={to}
        change={(it) => set({ to: it })}
      />
    </div>
    <div class="checks" role="group" aria-label="Days on which quiet hours begin">
      {DAYS.map(([day, label]) => (
        <Checkbox
          key={day}
          label={label}
          checked={days.includes(day)}
          change={(on) =>
            set({ days: EVERY_DAY.filter((it) => (it === day ? on : days.includes(it))) })
          }
        />
      ))}
    </div>
    <button
      type="button"
      class="small danger-quiet"
      aria-label={`Remove quiet hours ${n}`}
      onClick={remove}
    >
      Remove
    </button>
  </div>
)

type TargetRulesProps = {
  typed: TypedAttention
  set: (change: Partial<TypedAttention>) => void
  webhooks: readonly Webhook[]
}

function TargetRules({ typed: { targets }, set, webhooks }: TargetRulesProps) {
  const nameOf = (id: string) => {
    const webhook = webhooks.find((it) => it.id === id)
    return webhook === undefined ? id : webhookName(webhook)
  }
  const free = webhooks.filter(({ id }) => !targets.some((it) => it.webhook_id === id))
  const add = (webhook_id: string) =>
    set({ targets: [...targets, { ...toTypedSending(undefined, ''), webhook_id }] })
  return (
    <>
      {targets.map((it) => {
        const name = nameOf(it.webhook_id)
        return (
          <section key={it.webhook_id} class="card window" aria-label={`Rules of ${name}`}>
            <SendingFields
              of={name}
              typed={it}
              set={(change) =>
                set({ targets: targets.map((one) => (one === it ? { ...one, ...change } : one)) })
              }
              zone_hint="Empty: the time zone above."
            />
            <button
              type="button"
              class="small danger-quiet"
              onClick={() => set({ targets: targets.filter((one) => one !== it) })}
            >
              Remove the rules of {name}
            </button>
          </section>
        )
      })}
      {free.length > 0 && (
        <ChoiceField<string>
          label="Rules of one webhook"
          hint="Hours and digest of its own, in place of those above."
          value=""
          options={[
            ['', 'choose a webhook'],
            ...free.map((it) => [it.id, webhookName(it)] as const),
          ]}
          change={(it) => {
            if (it !== '') add(it)
          }}
        />
      )}
    </>
  )
}

const ALARMS: Record<Alarm['kind'], string> = {
  silent: 'No matches',
  degraded: 'Coverage degraded',
}

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

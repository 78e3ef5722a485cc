// A minimal model of two monitors, one target and its deliveries. It shares no code with the production code, and its
// figures are copied from the specification.

const SECOND = 1000
const DAY = 86_400_000
const WEEK = 7 * DAY
const WAITS = [0, 5, 30, 120, 300, 780].map((s) => s * SECOND)
const FRESH_MAX = 900 * SECOND
const PAUSE_CHECK_INTERVAL_MS = 30 * SECOND
const INTERRUPTED_MAX = 20

const second = (at: number) => Math.floor(at / SECOND) * SECOND

/** Outcome of one attempt. */
export type Reply = number | 'timeout'
/** `name` is unique; instants are milliseconds. */
export type Thing = { name: string; cat: boolean; created: number }
export type Filter = 'anything' | 'cats'
export type MonitorName = 'listed' | 'open'

export type Row = {
  status: string
  attempts: number
  retry_index: number
  round: number
  due: number | null
  error: string | null
  reason: string | null
}
type ModelRow = Row & { monitor: MonitorName; day: number; interrupted: number }

const NEW = {
  status: 'pending',
  attempts: 0,
  retry_index: 0,
  round: 1,
  error: null,
  reason: null,
  interrupted: 0,
}

/** `ceiling`: most deliveries of a monitor in a day. Both monitors begin at `now`. */
export function createModel(now: number, ceiling: number) {
  const rows = new Map<string, ModelRow>()
  const seen = new Map<string, number>()
  const matched = new Set<string>()
  const delivery_counts = new Map<string, number>()
  const monitor = () => ({ active: true, filter: 'anything', since: second(now), begins: true })
  const monitors = { listed: monitor(), open: monitor() }
  const target = { there: true, on: true, paused: null as null | string }
  const failing = { since: null as number | null, days: 0, day: -1 }
  let pauses_checked_at = -Infinity

  const takes = () => target.there && target.on && target.paused === null
  const waiting = () => [...rows.values()].filter(({ status }) => status === 'pending')
  const end = (row: ModelRow, status: string, error: string | null) =>
    Object.assign(row, { status, due: null, error: error ?? row.error })
  const forgive = () => Object.assign(failing, { since: null, days: 0, day: -1 })
  const countOn = (name: MonitorName, day: number) => {
    const key = `${name} ${day}`
    delivery_counts.set(key, (delivery_counts.get(key) ?? 0) + 1)
  }

  function blame(at: number) {
    failing.since ??= at
    const day = Math.floor(at / DAY)
    if (day > failing.day) Object.assign(failing, { days: failing.days + 1, day })
  }

  /** A match for the only target. `open` covers only targets in service, `listed` names its own. */
  function deliver(name: MonitorName, id: string, stale: boolean, at: number) {
    if (!target.there || (name === 'open' && !takes())) return
    const day = Math.floor(at / DAY)
    const row: ModelRow = {
      ...NEW,
      due: at,
      monitor: name,
      day,
    }
    if (stale) Object.assign(row, { status: 'suppressed', due: null, reason: 'stale_item' })
    else if ((delivery_counts.get(`${name} ${day}`) ?? 0) >= ceiling)
      Object.assign(row, { status: 'suppressed', due: null, reason: 'delivery_ceiling' })
    else {
      countOn(name, day)
      if (!takes()) end(row, 'failed', 'webhook_paused')
    }
    rows.set(id, row)
  }

  return {
    rows,
    monitors,
    target,
    failing,
    /** A poll of the place returns these things. `id`: of the delivery of a monitor's match. */
    poll(
      things: readonly Thing[],
      at: number,
      {
        id,
        verified,
      }: {
        id: (name: MonitorName, thing: string) => string
        /** Creation times up to which audits had seen all that was listed; `from` is exclusive. */
        verified: { from: number; until: number }
      },
    ) {
      // A place without active monitors is not polled.
      if (!monitors.listed.active && !monitors.open.active) return
      for (const thing of things) {
        const is_new = !seen.has(thing.name)
        if (is_new) seen.set(thing.name, at)
        for (const name of ['listed', 'open'] as const) {
          const { active, filter, since, begins } = monitors[name]
          const wanted = active && (is_new || begins) && thing.created >= since
          if (!wanted || (filter === 'cats' && !thing.cat)) continue
          if (matched.has(`${name} ${thing.name}`)) continue
          matched.add(`${name} ${thing.name}`)
          // What an audit would have seen, and did not, was approved since then.
          const is_approved =
            is_new && thing.created > verified.from && thing.created <= verified.until
          const stale = !is_approved && (seen.get(thing.name) ?? at) - thing.created > FRESH_MAX
          deliver(name, id(name, thing.name), stale, at)
        }
      }
      for (const it of Object.values(monitors)) if (it.active) it.begins = false
    },
    /** The sender checks for targets to pause before it sends. */
    checkPauses(at: number) {
      if (at < pauses_checked_at + PAUSE_CHECK_INTERVAL_MS) return
      pauses_checked_at = at
      const { since, days } = failing
      if (!target.there || target.paused !== null || since === null) return
      if (at - since >= WEEK && days >= 3) target.paused = 'failing'
    },
    dueAt: (at: number) => waiting().some(({ due }) => due !== null && due <= at),
    attempted(row: ModelRow, reply: Reply, at: number) {
      row.attempts++
      row.retry_index++
      const error = reply === 'timeout' ? reply : `http_${reply}`
      if (typeof reply === 'number' && reply >= 200 && reply < 300) {
        end(row, 'delivered', null)
        forgive()
      } else if (typeof reply === 'number' && reply >= 300 && reply < 500 && reply !== 429) {
        end(row, 'failed', error)
        blame(at)
        if (reply !== 410) return
        target.paused ??= 'gone'
        for (const it of waiting()) end(it, 'failed', 'webhook_paused')
      } else if (row.retry_index === WAITS.length) {
        end(row, 'dead', error)
        blame(at)
      } else Object.assign(row, { due: at + (WAITS[row.retry_index] ?? 0), error })
    },
    /** Dies with this row in flight, and starts again at once. */
    crash(row: ModelRow | undefined, at: number) {
      pauses_checked_at = -Infinity
      if (row && ++row.interrupted > INTERRUPTED_MAX) end(row, 'dead', 'interrupted_repeatedly')
      for (const it of waiting())
        it.due = Math.min(it.due ?? 0, at + (WAITS[it.retry_index] ?? 0) * 1.1)
    },
    setActive(name: MonitorName, active: boolean, at: number) {
      const it = monitors[name]
      if (active && !it.active) Object.assign(it, { since: second(at), begins: true })
      it.active = active
    },
    redeliver(id: string, at: number) {
      const row = rows.get(id)
      if (!row || row.status === 'pending' || !takes()) return
      if (row.status === 'suppressed') countOn(row.monitor, row.day)
      const again = { status: 'pending', retry_index: 0, interrupted: 0, due: at }
      Object.assign(row, { ...again, round: row.round + 1 })
    },
    tested(reply: Reply) {
      if (!target.there || typeof reply !== 'number' || reply < 200 || reply >= 300) return
      target.paused = null
      forgive()
    },
    turnOn: () => (target.on = true),
    turnOff() {
      if (target.there && target.on) for (const it of waiting()) end(it, 'failed', 'webhook_paused')
      target.on = false
    },
    remove() {
      for (const it of waiting()) end(it, 'failed', 'webhook_deleted')
      target.there = false
    },
  }
}

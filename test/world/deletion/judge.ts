import type { Sightings } from './bytes.ts'
import type { Fate } from './life.ts'
import { type Counts, fullname } from './platform.ts'
import type { Received } from './receiver.ts'
import { DAY, HOUR, TARGETS } from './targets.ts'

export interface Verdict {
  faults: string[]
  figures: Record<string, number>
}

/** The parts of a world that are judged. */
export interface JudgedWorld {
  life: { fates: readonly Fate[] }
  platform: { counts: Counts }
  daemon: { kills: number }
  receivers: { received: readonly Received[] }
}

/**
 * The promise, the hours in which the source says nothing (it is read again after six), and one step of the clock, in which the
 * daemon does not run.
 */
const DETECTED_MAX_MS = 7 * DAY + 2 * HOUR + 12 * HOUR + HOUR / 2

/** A delivery is dead-lettered after this many attempts (docs/webhooks.md). */
const ATTEMPTS = 6

const ERASING = new Set(['author', 'moderator', 'platform'])

/** Compares what the platform did with what the files hold and what the receivers got. */
export function judge(world: JudgedWorld, found: Sightings, when: string): Verdict {
  const faults: string[] = []
  const erased = world.life.fates.filter((fate) => ERASING.has(fate.end_as))
  const stay = world.life.fates.filter((fate) => !ERASING.has(fate.end_as))
  let words = 0
  for (const fate of erased)
    for (const word of [...fate.words, ...fate.names.map((name) => name.replace('t2_', ''))]) {
      words += 1
      const where = places(found.get(word))
      if (where !== '') faults.push(`${when}: ${describe(fate)}: ${word} in ${where}`)
    }
  for (const fate of stay.filter((each) => each.end_as === 'account_gone'))
    for (const name of fate.names) {
      const where = places(found.get(name.replace('t2_', '')))
      if (where !== '') faults.push(`${when}: ${describe(fate)}: name ${name} in ${where}`)
    }
  const deliveries = judgeEvents(world, faults)
  let lost = 0
  for (const fate of stay) {
    const [name] = fate.names
    const current = fate.edit === null ? fate.words.at(-2) : null
    if (!deliveries.all.has(fullname(fate.item))) continue
    const kept = (word: string | undefined): boolean =>
      (found.get(word ?? '') ?? []).some(
        ({ how, file }) => how === 'value' && file === 'forumd.sqlite',
      )
    if (current !== null && !kept(current)) {
      lost += 1
      faults.push(`${when}: ${describe(fate)}: its text is lost`)
    } else if (fate.end_as === 'live' && !kept(name)) {
      lost += 1
      faults.push(`${when}: ${describe(fate)}: its author is lost`)
    }
  }
  return {
    faults,
    figures: {
      items: world.life.fates.length,
      deleted: erased.length,
      words,
      kills: world.daemon.kills,
      lost,
      by_id_requests: world.platform.counts.by_id,
      ids_read: world.platform.counts.ids,
      listings: world.platform.counts.listings,
      received: world.receivers.received.length,
      delivered: deliveries.all.size,
      deleted_events: deliveries.events,
      dead_lettered: deliveries.dead,
      late_p50_s: percentile(deliveries.late, 0.5),
      late_most_s: percentile(deliveries.late, 1),
    },
  }
}

/** Judges `item.deleted`: which targets got which, how often, and when. */
function judgeEvents(
  world: JudgedWorld,
  faults: string[],
): { all: Set<string>; events: number; dead: number; late: number[] } {
  const fates = new Map(world.life.fates.map((fate) => [fullname(fate.item), fate]))
  const all = new Set<string>()
  const late: number[] = []
  let events = 0
  let dead = 0
  for (const target of TARGETS) {
    const accepted = new Set<string>()
    const arrived = new Set<string>()
    const ids = new Map<string, Set<string>>()
    const taken = new Set<string>()
    const refused = new Map<string, number>()
    for (const { delivery_id, status, body } of world.receivers.received.filter(
      (each) => each.target === target.name,
    )) {
      const items = list(body['items'])
      const ok = status < 300
      if (body['type'] === 'item.deleted') {
        const item = record(body['item'])
        const id = String(item['id'])
        ids.set(id, (ids.get(id) ?? new Set()).add(delivery_id))
        if (ok) taken.add(id)
        else refused.set(id, (refused.get(id) ?? 0) + 1)
        const fate = fates.get(id)
        if (JSON.stringify(body).includes('qzxj'))
          faults.push(`${target.name}: text in item.deleted of ${id}`)
        if (fate === undefined || !ERASING.has(fate.end_as)) {
          faults.push(`${target.name}: item.deleted of ${id}, which is not deleted`)
          continue
        }
        const reason = fate.end_as === 'author' ? 'author' : 'platform'
        if (body['reason'] !== reason)
          faults.push(`${target.name}: reason ${String(body['reason'])} of ${describe(fate)}`)
        const at = Date.parse(String(body['detected_at']))
        if (at < (fate.end ?? 0) - 2000)
          faults.push(`${target.name}: ${describe(fate)} detected before`)
        if (target.name === 'all') late.push((at - (fate.end ?? 0)) / 1000)
        if (at - (fate.end ?? 0) > DETECTED_MAX_MS)
          faults.push(
            `${target.name}: ${describe(fate)} detected after ${(at - (fate.end ?? 0)) / HOUR} h`,
          )
      } else if (body['type'] === undefined) {
        if (items.length === 0) faults.push(`${target.name}: a delivery without items`)
        for (const item of items) {
          const { name } = record(item)
          if (typeof name !== 'string') continue
          arrived.add(name)
          if (ok) accepted.add(name)
          if (target.name === 'all') all.add(name)
        }
      }
    }
    events += ids.size
    if (!target.events && ids.size > 0)
      faults.push(`${target.name}: item.deleted without asking for it`)
    for (const [id, deliveries] of ids) {
      if (deliveries.size > 1)
        faults.push(`${target.name}: ${deliveries.size} ids of item.deleted for ${id}`)
      if (!arrived.has(id))
        faults.push(`${target.name}: item.deleted for ${id}, which it never got`)
    }
    if (target.events)
      for (const name of accepted) {
        const fate = fates.get(name)
        if (fate === undefined || !ERASING.has(fate.end_as) || taken.has(name)) continue
        if ((refused.get(name) ?? 0) >= ATTEMPTS) dead += 1
        else faults.push(`${target.name}: no item.deleted for ${describe(fate)}`)
      }
    if (target.name === 'all')
      for (const fate of world.life.fates) {
        const shown = (fate.end ?? Infinity) - fate.item.created
        if (shown > HOUR && !accepted.has(fullname(fate.item)))
          faults.push(`all: ${describe(fate)} was not delivered`)
      }
  }
  return { all, events, dead, late }
}

const at = (time: number | null): string =>
  time === null ? 'never' : new Date(time).toISOString().slice(5, 19)

function describe(fate: Fate): string {
  return `${fullname(fate.item)} created ${at(fate.item.created)}, ${fate.end_as} ${at(fate.end)}, edited ${at(fate.edit)}`
}

/** Files of a word, snapshots as one. */
function places(seen: Sightings extends Map<string, infer T> ? T | undefined : never): string {
  const files = (seen ?? []).map(
    ({ file, how }) => `${file.startsWith('snapshots') ? 'snapshots' : file} (${how})`,
  )
  return [...new Set(files)].join(', ')
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? -1)
}

import type { Item } from '../forum/items.ts'
import { type ChangesWaiting, type Ids, isStepProof } from './coverage.ts'
import type { Pass, Recent } from './reread.ts'
import { type Feed, type Hole, type IdGap, PLAIN_STEP, type Step } from './step.ts'

/** What a source that is read by its ids has answered to one step. */
export type IdStep = {
  items: readonly Item[]
  arrived?: readonly string[]
  published?: readonly string[]
  gone: readonly string[]
  state: string
  proven: Ids | null
  behind: Ids | null
  skipped: readonly Ids[]
  unanswered: readonly number[]
  answered: readonly number[]
  verified_until: number
  /** First step only: everything that was created since then was read, or is read by later steps. */
  verified_from?: number
  partial: string | null
  went_back?: true
  /** What came between two lists that do not overlap was not seen. Epoch ms, null: not known. */
  overran?: { from_at: number | null; until_at: number | null }
  changes?: ChangesWaiting
  next_at?: number
  requests: number
}

/** Ids that were read again. */
export type IdReread = {
  items: readonly Item[]
  gone?: readonly string[]
  unanswered: readonly number[]
  behind: Ids | null
  requests: number
}

/** The state of a feed that is read by ids. Instants by our clock. */
export type Position = Pick<IdStep, 'state' | 'proven' | 'behind' | 'partial'> &
  Pick<Recent, 'heads' | 'rereads' | 'reread_at' | 'rest' | 'reread_depth'> & {
    /** Proof of the source that nothing was missed. */
    proof: string
    changes: ChangesWaiting | null
    /** The first step, and the instant before which everything was read. */
    verified_from: number
    verified_until: number
    /** The last pass that is finished: how far it went back, and its end. */
    reread_since: number | null
    reread_done_at: number | null
  }

const NO_PASSES = {
  heads: [],
  rereads: 0,
  reread_at: null,
  rest: null,
  reread_depth: null,
  reread_since: null,
  reread_done_at: null,
} satisfies Partial<Position>

export function positionOf({ state }: Pick<Feed, 'state'>): Position | null {
  const position: Position | null = state === null ? null : JSON.parse(state)
  return position
}

/** State of the passes over recent ids. */
export const recentOf = ({ proven, ...rest }: Position): Recent => ({
  ...rest,
  proven_from: proven?.from_id ?? null,
  proven_to: proven?.to_id ?? null,
})

type Context = {
  feed: Feed
  started_at: number
  ended_at: number
  /** Milliseconds by which the clock of the source's items is ahead, and behind. */
  ahead_ms: number
  behind_ms: number
}

const timesOf = ({ feed, started_at, ended_at, ahead_ms, behind_ms }: Context) => ({
  feed,
  started_at,
  ended_at,
  seen_at: ended_at + ahead_ms,
  behind_ms,
})

/** The step of a feed that is read by ids. `is_rest`: it goes on where the last one ended. */
export function stepByIds(
  read: IdStep,
  context: Context & { proof: string; relisted_ms: number; is_rest: boolean },
): Step {
  const { feed, ended_at, relisted_ms, proof, is_rest } = context
  const before = positionOf(feed)
  const verified_from = read.verified_from === undefined ? null : Math.round(read.verified_from)
  const verified_until = Math.round(Math.max(read.verified_until, read.verified_from ?? 0))
  const is_lowered = before !== null && before.verified_until > ended_at
  const { state, proven, behind, partial, changes = null } = read
  const moved: Position = {
    ...(before ?? NO_PASSES),
    state,
    proof,
    proven,
    behind,
    partial,
    changes,
    verified_from:
      before === null
        ? (verified_from ?? verified_until)
        : Math.min(before.verified_from, is_lowered ? verified_until : Infinity),
    verified_until:
      before === null || is_lowered
        ? verified_until
        : Math.max(before.verified_until, verified_until),
    heads: read.went_back === true ? [] : (before?.heads ?? []),
  }
  const verified_before = before?.verified_until ?? verified_from
  const is_proven =
    verified_before !== null &&
    !is_lowered &&
    read.went_back !== true &&
    isStepProof(read, feed.interval_s, ended_at)
  const recorded = { recorded_at: ended_at, until_at: ended_at }
  const went_back: Hole[] =
    read.went_back === true
      ? [{ ...recorded, reason: 'ids_went_back', from_at: verified_before }]
      : []
  const overran: Hole[] =
    read.overran === undefined
      ? []
      : [{ ...recorded, ...read.overran, reason: 'listing_exhausted' }]
  return {
    ...PLAIN_STEP,
    ...timesOf(context),
    items: read.items,
    requests: read.requests,
    state: JSON.stringify(withHead(moved, ended_at, relisted_ms)),
    next_at: read.next_at ?? null,
    is_look: !is_rest,
    begins_since: -Infinity,
    has_begun: true,
    again: 'all',
    arrived: read.arrived ?? [],
    published: read.published ?? [],
    gone: read.gone,
    holes: [
      ...went_back,
      ...overran,
      ...rangesOf(read.unanswered).map((ids): Hole => ({
        ...recorded,
        reason: 'unanswered',
        from_at: null,
        ids,
      })),
      ...read.skipped.map((ids): Hole => ({
        ...recorded,
        reason: 'skipped',
        from_at: verified_before,
        ids,
      })),
    ],
    answered: read.answered,
    verified: is_proven ? { from: verified_before, until: verified_until } : null,
    is_lowered,
    went_back: read.went_back === true,
  }
}

/** A step that read nothing. The position stays, so that the next one reads the same ids. */
export const failedStep = (
  context: Context,
  { fault, retry_after_s }: { fault: string; retry_after_s: number },
): Step => ({
  ...PLAIN_STEP,
  ...timesOf(context),
  items: [],
  requests: 0,
  state: context.feed.state,
  is_look: false,
  cut: { reason: 'error', fault, retry_after_s },
})

const HEAD_EVERY_MS = 10 * 60_000

/** Notes the highest proven id for passes that go back at most `depth_ms`. */
function withHead(position: Position, now: number, depth_ms: number): Position {
  const { proven, heads } = position
  const newest = heads.at(-1)
  if (depth_ms === 0 || proven === null) return position
  if (newest !== undefined && now - newest[0] < HEAD_EVERY_MS) return position
  const kept = heads.filter(([at]) => now - at <= depth_ms + HEAD_EVERY_MS)
  return { ...position, heads: [...kept, [now, proven.to_id]] }
}

/** Ids to be read again: those of a gap, or of the pass over older ids; null: those of the newest. */
export type RereadTask = { ids: Ids; gap: IdGap | null; pass: Pass | null }

/** So long ids wait after a request for them that failed or brought nothing. */
export const REST_MS = 60_000

export const isStuck = ({ from_id, to_id }: Ids, { behind }: IdReread): boolean =>
  behind?.from_id === from_id && behind.to_id === to_id

export function stepOfReread(
  { ids, gap, pass }: RereadTask,
  read: IdReread,
  context: Context,
): Step {
  const { feed, ended_at } = context
  const before = positionOf(feed)
  const { behind, unanswered } = read
  const rest_at = ended_at + (isStuck(ids, read) ? REST_MS : 0)
  const state =
    before === null || pass === null
      ? feed.state
      : JSON.stringify(afterPass({ ...before, ...pass, rest: behind }, ended_at))
  return {
    ...PLAIN_STEP,
    ...timesOf(context),
    items: read.items,
    requests: read.requests,
    state,
    is_look: false,
    gone: read.gone ?? [],
    settled: gap === null ? null : { gap, unanswered, behind, rest_at },
  }
}

const REREAD_KEPT_MS = 86_400_000

/** The position after a pass that may be finished. One that went back less far replaces one of a day ago only. */
function afterPass(position: Position, now: number): Position {
  if (position.rest !== null) return position
  const { reread_since, reread_done_at } = position
  const since = position.reread_depth ?? position.verified_from
  const is_better =
    reread_done_at === null ||
    reread_done_at < now - REREAD_KEPT_MS ||
    reread_since === null ||
    since <= reread_since
  return is_better ? { ...position, reread_since: since, reread_done_at: now } : position
}

export function rangesOf(ids: readonly number[]): Ids[] {
  const ranges: Ids[] = []
  for (const id of [...new Set(ids)].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last?.to_id === id - 1) last.to_id = id
    else ranges.push({ from_id: id, to_id: id })
  }
  return ranges
}

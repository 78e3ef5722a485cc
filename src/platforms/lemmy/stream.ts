import { type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Item } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { fieldsOf, numberAt } from '../items.ts'
import type { IdRange, ItemStream, PartialReason, StreamCall, StreamStep } from '../source.ts'
import { type Api, PAGE_MAX } from './api.ts'
import { livenessOf, modActionsOf, toItem } from './readers.ts'
import {
  baseOf,
  begin,
  COMMENT_BASE,
  type Hole,
  isReadAhead,
  keepRows,
  leftBehind,
  newState,
  prove,
  seconds,
  type Series,
  type SeriesName,
  type State,
  toKnown,
  toRanges,
} from './series.ts'

type Row = Record<string, unknown>

/** Seconds after which an id without an item is requested again. After the second it is a hole. */
const RETRIES_S = [30, 600, 3600, 86_400]
const YOUNG_TRIES = 2
const HOLES_MAX = 1000
const PAGES_MAX = 8
/** So long after ids were left behind, the stream is not complete. */
const SKIP_MS = 3_600_000
const MODLOG_EVERY_MS = 300_000
const VANISHED_MAX = 5
const AT_ONCE = 4

/**
 * The stream of posts and comments by the server's own ids: the newest pages for most of them, one
 * request for each id between that no page had. Neither series is dense, and no list is in the order
 * of arrival: posts of other servers arrive late, under their own date and a new id.
 */
export function createStream({
  clock,
  api,
  site_url,
}: {
  clock: { now(): number }
  api: Api
  site_url: string
}): ItemStream {
  async function advance(text: string | null, bounds: StreamCall): Promise<Outcome<StreamStep>> {
    const call = { deadline_at: bounds.deadline_at, signal: bounds.signal, use: 'poll' } as const
    const server = await api.server(call)
    if (!server.ok) return server
    const { dialect } = server.value
    const step = createStep(api, site_url, call, bounds.requests)
    const began = clock.now()
    const state: State = text === null ? newState(began) : JSON.parse(text)
    const params = { type_: dialect.word('All'), sort: dialect.word('New') }

    const heads = {
      post: await step.page('post', params, null),
      comment: await step.page('comment', params, null),
    }
    if (heads.post === null) return { ok: false, fault: step.fault() ?? { kind: 'timeout' } }
    if (text === null) {
      for (const kind of ['post', 'comment'] as const)
        begin(state[kind], heads[kind]?.views ?? [], kind)
      await readModlog(state, step, began, true)
      return ok(
        result(state, step, began, { behind: null, skipped: [], unanswered: [], partial: null }),
      )
    }

    const unanswered: number[] = []
    const skipped: IdRange[] = []
    let behind: IdRange | null = null
    let partial: PartialReason | null = null
    for (const kind of ['post', 'comment'] as const) {
      const head = heads[kind]
      if (head === null) continue
      const series = state[kind]
      if (series.first === 0) {
        begin(series, head.views, kind)
        series.read_until = began - head.age_ms
        continue
      }
      // A list of comments without pages and ids is all that a partial API has.
      const can_ask = kind === 'post' || !dialect.is_wrapper
      await retryHoles(series, kind, step, began, unanswered)
      await readPages(series, kind, head, params, step, !dialect.is_wrapper)
      if (kind === 'post') await findVanished(series, step, began)
      const singles = step.singles()
      await walk(series, kind, step, began, can_ask)
      const unread = leftBehind(series, kind, began, can_ask)
      behind ??= unread.behind
      skipped.push(...unread.skipped)
      if (began - series.skipped_at < SKIP_MS) partial ??= can_ask ? 'not_affordable' : 'no_paging'
      else if (unread.behind !== null && step.singles() === singles)
        partial ??= 'order_is_not_arrival'
      prove(series, began - head.age_ms)
    }
    await readModlog(state, step, began, false)
    return ok(result(state, step, began, { behind, skipped, unanswered, partial }))
  }

  return {
    proof: 'sparse_walk',
    // Hidden ids are requested again, and the moderation log names those that are shown again.
    relisted_ms: 0,
    advance,
    async reread(range, bounds) {
      const kind = range.from_id > COMMENT_BASE ? 'comment' : 'post'
      const base = baseOf(kind)
      const call = { deadline_at: bounds.deadline_at, signal: bounds.signal, use: 'poll' } as const
      const step = createStep(api, site_url, call, bounds.requests)
      let last = range.from_id - base - 1
      const end = range.to_id - base
      const unanswered: number[] = []
      for (; last < end; last += 1) {
        const answer = await step.ask(kind, last + 1)
        if (answer === null) break
        if (answer === 'absent') unanswered.push(base + last + 1)
      }
      const fault = step.fault()
      if (fault !== null && last < range.from_id - base) return { ok: false, fault }
      return ok({
        items: step.items(),
        unanswered,
        behind: last < end ? { from_id: base + last + 1, to_id: range.to_id } : null,
        requests: step.requests(),
      })
    },
  }
}

type Step = ReturnType<typeof createStep>
/** State of an id: `absent` is one that no reader can see, for a reason that the API does not state. */
type Asked = 'live' | 'hidden' | 'absent'
type StepPage = { views: Row[]; after: string | null; age_ms: number }

/** Reads within a number of requests. */
function createStep(api: Api, site_url: string, call: HttpCall, requests_max: number) {
  const items = new Map<string, Item>()
  const gone = new Set<string>()
  /** Read in this step, by kind and id. */
  const seen = { post: new Set<number>(), comment: new Set<number>() }
  const answered = new Set<number>()
  let sent = 0
  let singles = 0
  let fault: Fault | null = null

  /** Takes a row that was read; false for one that its readers cannot see. */
  function take(kind: SeriesName, view: Row): boolean {
    const object = fieldsOf(view[kind])
    const id = numberAt(object, 'id') ?? 0
    const name = nameOf(kind, id)
    answered.add(baseOf(kind) + id)
    if (livenessOf(object) !== 'live') {
      items.delete(name)
      gone.add(name)
      return false
    }
    const item = toItem(view, site_url)
    gone.delete(name)
    if (item !== null) items.set(name, item)
    return true
  }

  return {
    seen,
    take,
    left: () => (fault === null ? Math.max(0, requests_max - sent) : 0),
    requests: () => sent,
    singles: () => singles,
    fault: () => fault,
    items: () =>
      [...items.values()].toSorted(
        (a, b) => a.created_utc - b.created_utc || Number(a.id) - Number(b.id),
      ),
    gone: () => [...gone],
    answered: () => [...answered],
    goneIs: (kind: SeriesName, id: number) => void gone.add(nameOf(kind, id)),
    /** A page of the newest; null if it was not read. A cursor that has failed ends the pages only. */
    async page(
      kind: SeriesName,
      params: Record<string, string>,
      after: string | null,
    ): Promise<StepPage | null> {
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      const paging = { limit: PAGE_MAX, after }
      const page = await api.list(kind, `/${kind}/list`, params, paging, call)
      if (page.ok) return page.value
      if (after === null || !['rejected', 'not_found'].includes(page.fault.kind)) fault = page.fault
      return null
    },
    /** Requests one id; null if it was not answered. */
    async ask(kind: SeriesName, id: number): Promise<Asked | null> {
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      singles += 1
      const answer = await api.byId(kind, id, call)
      if (!answer.ok) {
        fault = answer.fault
        return null
      }
      if (answer.value === null) return 'absent'
      seen[kind].add(id)
      return take(kind, answer.value) ? 'live' : 'hidden'
    },
    /** Entries of the moderation log; null if it was not read. A log that is not public is left. */
    async modlog() {
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      const answer = await api.get('/modlog', { limit: PAGE_MAX }, call)
      return answer.ok ? modActionsOf(answer.value) : null
    },
  }
}

const nameOf = (kind: SeriesName, id: number): string => `${kind === 'post' ? 't3' : 't1'}_${id}`
/** Takes the rows of the newest pages: new ones, edited ones, those that were hidden or restored. */
async function readPages(
  series: Series,
  kind: SeriesName,
  head: StepPage,
  params: Record<string, string>,
  step: Step,
  has_pages: boolean,
): Promise<void> {
  const known = new Map(series.rows.map((row) => [row[0], row]))
  const views: Row[] = []
  let page: StepPage | null = head
  for (let count = 1; page !== null; count++) {
    let news = 0
    for (const view of page.views) {
      const row = toKnown(view, kind)
      const [id, version] = row
      views.push(view)
      step.seen[kind].add(id)
      series.bound = Math.max(series.bound, id)
      if (id > series.last && !isReadAhead(series, id)) news += 1
      if (id >= series.first && known.get(id)?.[1] !== version) {
        step.take(kind, view)
        if (version !== -1) series.holes = series.holes.filter(([hole]) => hole !== id)
      }
    }
    const is_whole = missing(series, kind, step).length === 0
    const has_next = has_pages && page.after !== null && count < PAGES_MAX
    if (news === 0 || is_whole || !has_next || step.left() <= 1) break
    page = await step.page(kind, params, page.after)
  }
  keepRows(series, views, kind)
}

/** Ids up to the bound that were neither read nor requested. */
function missing(series: Series, kind: SeriesName, step: Step): number[] {
  const ids: number[] = []
  for (let id = series.last + 1; id <= series.bound && ids.length <= PAGE_MAX; id++)
    if (!step.seen[kind].has(id) && !isReadAhead(series, id)) ids.push(id)
  return ids
}

/** Requests the ids that no page had, then the one after the newest, until the requests are used up. */
async function walk(
  series: Series,
  kind: SeriesName,
  step: Step,
  now: number,
  can_ask: boolean,
): Promise<void> {
  const settle = () => {
    while (
      series.last < series.bound &&
      (step.seen[kind].has(series.last + 1) || isReadAhead(series, series.last + 1))
    )
      series.last += 1
  }
  settle()
  if (!can_ask) return
  while (series.last < series.bound) {
    const ids = missing(series, kind, step).slice(0, Math.min(AT_ONCE, step.left()))
    if (ids.length === 0) break
    const answers = await Promise.all(ids.map((id) => step.ask(kind, id)))
    for (const [index, answer] of answers.entries()) {
      const id = ids[index] ?? 0
      if (answer === null) continue
      step.seen[kind].add(id)
      // A hidden item may be restored; one that no reader can see may be late.
      if (answer !== 'live')
        series.holes.push([id, seconds(now), answer === 'absent' ? 0 : YOUNG_TRIES])
    }
    settle()
  }
  // A post of another server may be the newest by its id and too old for the pages.
  while (series.last === series.bound && step.left() > 0) {
    const answer = await step.ask(kind, series.bound + 1)
    if (answer === null || answer === 'absent') break
    series.bound += 1
    if (answer === 'hidden') series.holes.push([series.bound, seconds(now), YOUNG_TRIES])
    series.last = series.bound
  }
  const above = [...step.seen[kind]].filter((id) => id > series.last)
  series.ahead = toRanges([
    ...series.ahead.filter(([, to]) => to > series.last),
    ...above.map((id): [number, number] => [id, id]),
  ])
}

/** Requests holes again that are due, youngest first. */
async function retryHoles(
  series: Series,
  kind: SeriesName,
  step: Step,
  now: number,
  unanswered: number[],
): Promise<void> {
  const kept: Hole[] = []
  const age_s = (hole: Hole) => seconds(now) - hole[1]
  for (const hole of series.holes.toSorted((a, b) => b[1] - a[1])) {
    const [id, since_s, tries] = hole
    const answer = age_s(hole) < (RETRIES_S[tries] ?? Infinity) ? null : await step.ask(kind, id)
    if (answer === null) {
      kept.push(hole)
      continue
    }
    if (answer === 'live') continue
    const passed = RETRIES_S.filter((it) => it <= age_s(hole)).length
    if (answer === 'absent' && tries < YOUNG_TRIES && passed >= YOUNG_TRIES)
      unanswered.push(baseOf(kind) + id)
    const next = answer === 'hidden' ? Math.max(passed, YOUNG_TRIES) : passed
    if (next < RETRIES_S.length) kept.push([id, since_s, next])
  }
  series.holes = kept
}

/** Posts leave the list when they are removed: those of the last pages that are missing are requested. */
async function findVanished(series: Series, step: Step, now: number): Promise<void> {
  const listed = series.rows.filter(([id]) => step.seen.post.has(id))
  // Featured posts stand above the order, so the oldest tenth of the rows says nothing.
  const oldest = listed.map(([, , created]) => created).toSorted((a, b) => a - b)
  const floor = oldest[Math.floor(oldest.length / 10)] ?? Infinity
  const vanished = series.rows.filter(
    ([id, version, created]) =>
      id >= series.first && version !== -1 && created > floor && !step.seen.post.has(id),
  )
  for (const row of vanished.slice(0, VANISHED_MAX)) {
    const answer = await step.ask('post', row[0])
    if (answer === null || answer === 'live') continue
    step.goneIs('post', row[0])
    row[1] = -1
    series.holes.push([row[0], seconds(now), YOUNG_TRIES])
  }
}

/** Reads removals and restorations since the last time, where the log is public. */
async function readModlog(
  { post, comment, modlog }: State,
  step: Step,
  now: number,
  is_first: boolean,
): Promise<void> {
  if (now - modlog.at < MODLOG_EVERY_MS || step.left() === 0) return
  const actions = await step.modlog()
  if (step.fault() === null) modlog.at = now
  const before = { ...modlog }
  for (const { id, fullname, is_restored } of actions ?? []) {
    const prefix = fullname.startsWith('t3') ? 't3' : 't1'
    const [kind, series]: [SeriesName, Series] =
      prefix === 't3' ? ['post', post] : ['comment', comment]
    const target = Number(fullname.slice(3))
    const is_known = target >= series.first && target <= series.last
    if (!is_first && id > before[prefix] && is_known) {
      if (is_restored === false && !step.seen[kind].has(target)) step.goneIs(kind, target)
      else if (!step.seen[kind].has(target)) {
        const answer = await step.ask(kind, target)
        // Entries that were not answered are read by the next step.
        if (answer === null) {
          modlog.t3 = before.t3
          modlog.t1 = before.t1
          modlog.at = 0
          return
        }
        if (answer === 'live') series.holes = series.holes.filter(([hole]) => hole !== target)
      }
    }
    modlog[prefix] = Math.max(modlog[prefix], id)
  }
}

function result(
  state: State,
  step: Step,
  now: number,
  found: Pick<StreamStep, 'behind' | 'skipped' | 'unanswered' | 'partial'>,
): StreamStep {
  const { post, comment } = state
  for (const kind of ['post', 'comment'] as const) {
    const holes = state[kind].holes.toSorted((a, b) => b[1] - a[1])
    state[kind].holes = holes.slice(0, HOLES_MAX)
    for (const [id, , tries] of holes.slice(HOLES_MAX))
      if (tries < YOUNG_TRIES) found.unanswered.push(baseOf(kind) + id)
  }
  const young = [...post.holes, ...comment.holes].filter(([, , tries]) => tries < YOUNG_TRIES)
  return {
    ...found,
    items: step.items(),
    gone: step.gone(),
    answered: step.answered(),
    state: JSON.stringify(state),
    proven: post.last < post.first ? null : { from_id: post.first, to_id: post.last },
    verified_until: Math.min(
      now,
      post.read_until,
      comment.read_until,
      ...young.map(([, since_s]) => since_s * 1000),
    ),
    requests: step.requests(),
  }
}

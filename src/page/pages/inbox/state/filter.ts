import type { FilterBody, Match, MatchState, TabCounts } from './types.ts'

/** The filters of the page as the URL has them; empty: not set. `item` is the open match. */
export type ListFilter = Record<(typeof NAMES)[number], string>

const NAMES = [
  'state',
  'starred',
  'q',
  'monitor',
  'label',
  'source',
  'place',
  'author',
  'within',
  'from',
  'to',
] as const

const INBOX = '/dashboard/inbox'

/** All states but dismissed: what is still in the inbox. */
const KEPT = 'unread,read,answered'
/** The value of `state` in the URL that stands for every state. */
const ANY = 'any'

export const TABS = [
  { name: 'Unread', state: 'unread', starred: '', of: (it: TabCounts) => it.unread },
  { name: 'All', state: KEPT, starred: '', of: (it: TabCounts) => it.total - it.dismissed },
  { name: 'Starred', state: ANY, starred: 'true', of: (it: TabCounts) => it.starred },
  { name: 'Answered', state: 'answered', starred: '', of: (it: TabCounts) => it.answered },
  { name: 'Dismissed', state: 'dismissed', starred: '', of: (it: TabCounts) => it.dismissed },
] as const

export type InboxTab = (typeof TABS)[number]

/** The tab that a filter belongs to; undefined: it has states of its own. */
export const tabOf = ({ state, starred }: ListFilter): InboxTab | undefined =>
  TABS.find((it) => it.state === state && it.starred === starred)

/** Reads the filters of a URL. Without a state the unread matches are meant. */
export function readFilter(query: URLSearchParams): ListFilter {
  const value = (name: string) => query.get(name) ?? ''
  const starred = value('starred') === 'true' ? 'true' : ''
  return {
    state: value('state') || (starred === '' ? 'unread' : ANY),
    starred,
    q: value('q'),
    monitor: value('monitor'),
    label: value('label'),
    source: value('source'),
    place: value('place'),
    author: value('author'),
    within: value('within'),
    from: value('from'),
    to: value('to'),
  }
}

/** The path of the page with a filter; `item` opens a match. */
export function inboxPath(filter: Partial<ListFilter> = {}, item: string | null = null): string {
  const full = { ...readFilter(new URLSearchParams()), ...filter }
  const plain = full.starred === '' ? 'unread' : ANY
  const given = NAMES.filter(
    (name) => full[name] !== '' && !(name === 'state' && full.state === plain),
  )
  const query = new URLSearchParams(given.map((name) => [name, full[name]]))
  if (item !== null) query.set('item', item)
  const text = query.toString()
  return INBOX + (text === '' ? '' : `?${text}`)
}

export const NARROWING = NAMES.filter((name) => name !== 'state' && name !== 'starred')

export const isNarrowed = (filter: ListFilter): boolean =>
  NARROWING.some((name) => filter[name] !== '')

const HOUR_MS = 3_600_000

/** The filter as a body. `now`: epoch ms, from which a period in days counts back to a full hour. */
export function toBody(filter: ListFilter, now: number): FilterBody {
  const { state, starred, q, monitor, label, source, place, author, within, to } = filter
  const days = Number(within)
  const from =
    days > 0
      ? new Date((Math.floor(now / HOUR_MS) - days * 24) * HOUR_MS).toISOString()
      : filter.from
  return {
    ...(state !== ANY && { state: state.split(',') }),
    ...(starred === 'true' && { starred: true }),
    ...(q !== '' && { text: q }),
    ...(monitor !== '' && { monitor }),
    ...(label !== '' && { label }),
    ...(source !== '' && { source }),
    ...(place !== '' && { place }),
    ...(author !== '' && { author }),
    ...(from !== '' && { from }),
    ...(to !== '' && { to }),
  }
}

export const toQuery = ({ state, ...rest }: FilterBody): string =>
  new URLSearchParams(
    Object.entries({ ...rest, ...(state && { state: state.join(',') }) }).map(([name, value]) => [
      name,
      String(value),
    ]),
  ).toString()

/** A body as the query of the counts, which have a number for each state and no text. */
export function toCountQuery(body: FilterBody): string {
  const counted = { ...body }
  delete counted.state
  delete counted.starred
  delete counted.text
  return toQuery(counted)
}

/**
 * True if a match leaves the list at once when it changes to `state`: it was decided. One that was only read or lost its
 * star stays until the list is loaded again, so that nothing moves under the reader.
 */
export function leavesList(
  { state: states }: ListFilter,
  before: MatchState,
  state: MatchState,
): boolean {
  if (state === before || states === ANY || states.split(',').includes(state)) return false
  return state !== 'read' || before === 'dismissed' || before === 'answered'
}

/** The number of matches of a list from the counts of its filter; null: unknown. */
export function expectedOf(filter: ListFilter, counts: TabCounts | undefined): number | null {
  if (counts === undefined || !counts.complete || filter.q !== '') return null
  return tabOf(filter)?.of(counts) ?? null
}

export const placeOf = ({ place, source }: Pick<Match, 'place' | 'source'>): string =>
  place === '' ? source : place

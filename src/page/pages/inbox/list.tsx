import { Component } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { Icon } from '../../components/base/icon.tsx'
import { inFull, percent, words as inWords } from '../../lib/format.ts'
import { placeOf } from './state/filter.ts'
import { segmentsOf } from './state/rows.ts'
import type { Match } from './state/types.ts'
import type { MatchList } from './state/use-matches.ts'

const OVERSCAN = 8
/** Height of a row before it is measured. */
const ROW_PX = 92

const TONES: { [sentiment: string]: string } = { positive: 'good', negative: 'bad' }

/** Id of the element of a match, which the list names as active. */
const rowId = (id: string): string => `match-${id}`

/** Age in its shortest form: '5m', '3h', '2d', then a date. */
function shortAge(at: number, now: number): string {
  const minutes = Math.max(0, Math.floor((now - at) / 60_000))
  if (minutes < 60) return minutes < 1 ? 'now' : `${minutes}m`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h`
  if (minutes < 7 * 24 * 60) return `${Math.floor(minutes / (24 * 60))}d`
  return day.format(at)
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })

type ListProps = {
  list: MatchList
  /** Number of rows that the list has or will have. */
  length: number
  current: string | null
  selected: ReadonlySet<string>
  now: number
  /** Position that must be in view; changes with each request. */
  reveal: { at: number; request: number }
  choose: (id: string, event: { shift: boolean; toggle: boolean }) => void
  select: (id: string, shift: boolean) => void
  star: (match: Match) => void
}

/** A list of matches of any length, of which only the rows in view are elements. */
export function MatchListView({
  list,
  length,
  current,
  selected,
  now,
  reveal,
  choose,
  select,
  star,
}: ListProps) {
  const box = useRef<HTMLDivElement>(null)
  const probe = useRef<HTMLDivElement>(null)
  const [row_px, setRowPx] = useState(ROW_PX)
  const [range, setRange] = useState({ from: 0, to: 20 })
  const { rows, view } = list

  function measure() {
    const root = box.current
    if (root === null) return
    const from = Math.max(0, Math.floor(root.scrollTop / row_px) - OVERSCAN)
    const to = Math.ceil((root.scrollTop + root.clientHeight) / row_px) + OVERSCAN
    setRange((it) => (it.from === from && it.to === to ? it : { from, to }))
  }

  useEffect(() => {
    const [root, sample] = [box.current, probe.current]
    if (root === null || sample === null) return
    const sized = new ResizeObserver(() => {
      setRowPx(sample.offsetHeight || ROW_PX)
      measure()
    })
    sized.observe(root)
    sized.observe(sample)
    return () => sized.disconnect()
  }, [])
  useLayoutEffect(measure, [row_px])
  useEffect(() => view(range.from, Math.min(range.to, length)), [range, view, length])
  useEffect(() => {
    if (box.current !== null) box.current.scrollTop = 0
  }, [rows])
  useLayoutEffect(() => {
    const root = box.current
    if (root === null || reveal.request === 0) return
    const top = reveal.at * row_px
    if (top < root.scrollTop) root.scrollTop = top
    else if (top + row_px > root.scrollTop + root.clientHeight)
      root.scrollTop = top + row_px - root.clientHeight
    measure()
  }, [reveal])

  const positions = Array.from(
    { length: Math.max(0, Math.min(range.to, length) - range.from) },
    (_, n) => range.from + n,
  )
  const fill = useFill(rows)
  const active = current !== null && rows.has(current) ? rowId(current) : undefined
  return (
    <div
      ref={box}
      class="inbox-list"
      role="listbox"
      tabIndex={0}
      aria-label="Matches"
      aria-multiselectable="true"
      aria-busy={list.loading}
      onScroll={measure}
      {...(active && { 'aria-activedescendant': active })}
    >
      <div ref={probe} class="match-row" style={{ visibility: 'hidden' }} aria-hidden="true" />
      <div class="inbox-rows" role="presentation" style={{ height: `${length * row_px}px` }}>
        {positions.map((at) => {
          const match = rows.at(at)
          const top = at * row_px
          if (match === undefined || !fill.draws(match.id))
            return <LoadingRow key={`loading ${at}`} top={top} />
          return (
            <MatchRow
              key={match.id}
              match={match}
              top={top}
              at={at}
              length={length}
              current={match.id === current}
              selected={selected.has(match.id)}
              age={shortAge(Date.parse(match.created ?? match.matched_at), now)}
              choose={choose}
              select={select}
              star={star}
            />
          )
        })}
      </div>
    </div>
  )
}

/** Rows that one frame draws from nothing: a fast scroll shows placeholders and never stalls. */
const NEW_PER_FRAME = 6

/** Decides which rows a render draws in full, and renders again in the next frame while some are left. */
function useFill(rows: MatchList['rows']) {
  const [, setFrame] = useState(0)
  const before = useRef(new Set<string>())
  const drawn = new Set<string>()
  let fresh = 0
  let left = 0
  useLayoutEffect(() => {
    before.current = drawn
    if (left === 0) return
    const frame = requestAnimationFrame(() => setFrame((it) => it + 1))
    return () => cancelAnimationFrame(frame)
  })
  const is_first = before.current.size === 0
  return {
    /** True if the row of this match is drawn in full now. */
    draws(id: string): boolean {
      const known = before.current.has(id) || is_first
      if (!known && fresh >= NEW_PER_FRAME) {
        left += 1
        return false
      }
      if (!known) fresh += 1
      drawn.add(id)
      return rows.has(id)
    },
  }
}

const LoadingRow = ({ top }: { top: number }) => (
  <div class="match-row loading" role="presentation" style={{ transform: `translateY(${top}px)` }}>
    <span class="bone" />
    <span class="bone short" />
  </div>
)

type RowProps = Pick<ListProps, 'choose' | 'select' | 'star'> & {
  match: Match
  top: number
  at: number
  length: number
  current: boolean
  selected: boolean
  age: string
}

/** A row, drawn again only if what it shows changed: the functions differ at every render and do the same. */
class MatchRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { match, top, length, current, selected, age } = this.props
    return (
      match !== next.match ||
      top !== next.top ||
      length !== next.length ||
      current !== next.current ||
      selected !== next.selected ||
      age !== next.age
    )
  }

  override render() {
    const { match, top, at, length, current, selected, age, choose, select, star } = this.props
    const { id, state, starred, label, sentiment, monitors, author, erased } = match
    const excerpt = match.excerpt === match.title ? '' : match.excerpt
    const classes = [
      'match-row',
      state,
      ...(current ? ['current'] : []),
      ...(selected ? ['selected'] : []),
      // An excerpt that only repeats the title leaves its lines to it.
      ...(excerpt === '' ? ['bare'] : []),
    ]
    const score = monitors.find((it) => it.judgement?.score != null)?.judgement?.score ?? null
    const names = monitors.map((it) => it.name ?? 'Unnamed monitor').join(', ')
    return (
      <div
        id={rowId(id)}
        class={classes.join(' ')}
        role="option"
        aria-selected={selected}
        aria-setsize={length}
        aria-posinset={at + 1}
        style={{ transform: `translateY(${top}px)` }}
        onClick={(event) =>
          choose(id, { shift: event.shiftKey, toggle: event.ctrlKey || event.metaKey })
        }
      >
        <span
          class="row-check"
          aria-hidden="true"
          title="Select (x)"
          onClick={(event) => {
            event.stopPropagation()
            select(id, event.shiftKey)
          }}
        >
          <span class="box">{selected && <Icon name="check" />}</span>
        </span>
        <span class="row-top">
          <span class="unseen">{state}, </span>
          <span class="row-title">
            {erased ? (
              <em>Erased</em>
            ) : (
              <Highlighted match={match} of="title" text={titleText(match)} />
            )}
          </span>
          <span class="row-age" title={inFull(Date.parse(match.created ?? match.matched_at))}>
            {age}
          </span>
        </span>
        <span class="row-excerpt">
          <Highlighted match={match} of="excerpt" text={excerpt} />
        </span>
        <span class="row-facts">
          <strong>{placeOf(match)}</strong>
          {author !== null && <span>{author}</span>}
          <span class="row-monitors">{names}</span>
          {label !== null && <span class="badge">{label}</span>}
          {score !== null && (
            <span class="badge" title="Relevance, judged by the model">
              {percent(score)}
            </span>
          )}
          {sentiment !== null && sentiment !== 'neutral' && (
            <span class={`badge ${TONES[sentiment] ?? ''}`}>{inWords(sentiment)}</span>
          )}
        </span>
        <span
          class={starred ? 'row-star on' : 'row-star'}
          aria-hidden="true"
          title="Star (s)"
          onClick={(event) => {
            event.stopPropagation()
            star(match)
          }}
        >
          <Icon name="star" />
        </span>
        {starred && <span class="unseen">, starred</span>}
      </div>
    )
  }
}

export const titleText = ({ title, kind, author }: Match): string =>
  title ?? `${kind === 'post' ? 'Post' : 'Comment'}${author === null ? '' : ` by ${author}`}`

function Highlighted({ match, of, text }: { match: Match; of: 'title' | 'excerpt'; text: string }) {
  const marked_parts =
    of === 'title' && match.title === null ? [] : match.highlights.filter((it) => it.in === of)
  const segments = segmentsOf(text, marked_parts)
  return (
    <>
      {segments.map(({ text: part, marked }, at) => (marked ? <mark key={at}>{part}</mark> : part))}
    </>
  )
}

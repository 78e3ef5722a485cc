import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import {
  ChoiceField,
  filterOptions,
  type Options,
  TextField,
} from '../../components/base/field.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { SearchBox } from '../../components/base/table.tsx'
import { useDebounced } from '../../hooks/use-query.ts'
import { compact, inFull } from '../../lib/format.ts'
import { Link } from '../../lib/route.tsx'
import { inboxPath, type ListFilter, NARROWING, tabOf, TABS } from './state/filter.ts'
import type { TabCounts } from './state/types.ts'
import type { InboxStore } from './state/use-inbox.ts'

/** Typing pauses after which the server searches. */
const PAUSE_MS = 300

const PERIODS = [
  ['', 'any time'],
  ['1', 'the last day'],
  ['7', 'the last week'],
  ['30', 'the last 30 days'],
] as const

type TabsProps = { filter: ListFilter; counts: TabCounts | undefined }

/** The states of matches as tabs with their numbers; the other filters stay. */
export function Tabs({ filter, counts }: TabsProps) {
  const open = tabOf(filter)
  return (
    <nav class="inbox-tabs" aria-label="States">
      {TABS.map((tab) => (
        <Link
          key={tab.name}
          to={inboxPath({ ...filter, state: tab.state, starred: tab.starred })}
          current={tab === open}
        >
          {tab.name}
          {counts && tab.of(counts) > 0 && (
            <span>
              {compact(tab.of(counts))}
              {!counts.complete && '+'}
            </span>
          )}
        </Link>
      ))}
    </nav>
  )
}

export function InboxSearch({ text, search }: { text: string; search: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  const settled = useDebounced(typed, PAUSE_MS)
  useEffect(() => setTyped(text), [text])
  useEffect(() => {
    if (settled.trim() !== text && settled === typed) search(settled.trim())
  }, [settled])
  return <SearchBox label="Search matches" value={typed} change={setTyped} />
}

export function FilterMenu({ store }: { store: InboxStore }) {
  const { filter, show, monitors, sources, labels } = store
  return (
    <Menu label="Filter">
      <Select
        label="Monitor"
        all="all monitors"
        options={monitors}
        value={filter.monitor}
        change={(monitor) => show({ monitor })}
      />
      <Select
        label="Label"
        all="any label"
        options={labels.map((it) => [it, it] as const)}
        value={filter.label}
        change={(label) => show({ label })}
      />
      {sources.length > 1 && (
        <Select
          label="Source"
          all="all sources"
          options={sources}
          value={filter.source}
          change={(source) => show({ source })}
        />
      )}
      <Typed label="Place" value={filter.place} change={(place) => show({ place })} />
      <Typed label="Author" value={filter.author} change={(author) => show({ author })} />
      <ChoiceField<string>
        label="Period"
        value={filter.within}
        options={PERIODS}
        change={(within) => show({ within, from: '', to: '' })}
      />
    </Menu>
  )
}

type SelectProps = {
  label: string
  all: string
  options: Options
  value: string
  change: (value: string) => void
}

/** A filter with known values; one that is no longer among them keeps an option. */
const Select = ({ label, all, options, value, change }: SelectProps) => (
  <ChoiceField<string>
    label={label}
    value={value}
    options={filterOptions(all, options, value)}
    change={change}
  />
)

/** A text that filters when its field is left or Enter is pressed. */
function Typed({ label, value, change }: Pick<SelectProps, 'label' | 'value' | 'change'>) {
  const [typed, setTyped] = useState(value)
  // Before the next event: an effect after the first paint would take back what was typed meanwhile.
  useLayoutEffect(() => setTyped(value), [value])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        change(typed.trim())
      }}
      onFocusOut={() => typed.trim() !== value && change(typed.trim())}
    >
      <TextField
        label={label}
        value={typed}
        maxLength={100}
        autocapitalize="none"
        spellcheck={false}
        change={setTyped}
      />
    </form>
  )
}

export function Chips({ store: { filter, show, monitors } }: { store: InboxStore }) {
  const monitorName = (id: string) => monitors.find(([it]) => it === id)?.[1] ?? 'a removed monitor'
  const chips = NARROWING.filter((name) => filter[name] !== '').map((name) => ({
    text: chipText(name, filter[name], monitorName),
    without: { [name]: '' },
  }))
  if (tabOf(filter) === undefined)
    chips.unshift({ text: statesText(filter), without: { state: 'unread', starred: '' } })
  if (chips.length === 0) return null
  return (
    <ul class="chips" aria-label="Filters">
      {chips.map(({ text, without }) => (
        <li key={text}>
          <button type="button" onClick={() => show(without)}>
            {text}
            <span class="unseen">: remove this filter</span>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The states of a list that is none of the tabs. */
function statesText({ state, starred }: ListFilter): string {
  const states = state === 'any' ? 'every state' : state.replaceAll(',', ' or ')
  return starred === '' ? states : `starred, ${states}`
}

function chipText(
  name: (typeof NARROWING)[number],
  value: string,
  monitorName: (id: string) => string,
): string {
  switch (name) {
    case 'q':
      return `“${value}”`
    case 'monitor':
      return monitorName(value)
    case 'author':
      return `by ${value}`
    case 'place':
      return `in ${value}`
    case 'within':
      return PERIODS.find(([it]) => it === value)?.[1] ?? `${value} days`
    case 'from':
    case 'to':
      return `${name} ${Number.isNaN(Date.parse(value)) ? value : inFull(Date.parse(value))}`
    case 'label':
    case 'source':
      return `${name} ${value}`
  }
}

type MenuProps = { label: string; children: ComponentChildren }

/** A button with a panel below it. Escape, a click outside and leaving it close the panel. */
function Menu({ label, children }: MenuProps) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  // Before the next event, which may already go to a field of the panel.
  useLayoutEffect(() => {
    if (!open) return
    root.current?.querySelector<HTMLElement>('.menu-panel :is(input, select)')?.focus()
    const outside = ({ target }: Event) => {
      if (target instanceof Node && root.current?.contains(target) === false) setOpen(false)
    }
    addEventListener('pointerdown', outside)
    addEventListener('focusin', outside)
    return () => {
      removeEventListener('pointerdown', outside)
      removeEventListener('focusin', outside)
    }
  }, [open])
  function close() {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <div
      class="menu"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return
        event.stopPropagation()
        close()
      }}
    >
      <button
        ref={button}
        type="button"
        aria-expanded={open}
        aria-haspopup="dialog"
        onClick={() => setOpen(!open)}
      >
        <Icon name="filter" /> <span class="tool-label">{label}</span>
      </button>
      {open && (
        <div class="card menu-panel" role="dialog" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  )
}

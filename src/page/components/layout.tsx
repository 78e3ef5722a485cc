import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { isExposed } from '../lib/format.ts'
import { dashboardPath, go, Link, useRoute } from '../lib/route.tsx'
import { now, recall, remember } from '../lib/runtime.ts'
import type { UserSession } from '../lib/types.ts'
import { Logo } from '../pages/sign-in.tsx'
import { Icon, type IconName } from './base/icon.tsx'
import { Toast } from './base/toast.tsx'
import { StateLine } from './problems.tsx'

const THEMES = [
  ['auto', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

type Theme = (typeof THEMES)[number][0]

const chosenTheme = (): Theme =>
  THEMES.find(([it]) => it === document.documentElement.dataset['theme'])?.[0] ?? 'auto'

/** Switches between light, dark and the system theme; the choice is stored in the browser. */
function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme)
  function choose(next: Theme) {
    setTheme(next)
    remember('forumd.theme', next === 'auto' ? null : next)
    if (next === 'auto') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = next
  }
  return (
    <div class="themes" role="group" aria-label="Theme">
      {THEMES.map(([it, label]) => (
        <button
          key={it}
          type="button"
          class="plain"
          aria-pressed={theme === it}
          aria-label={label}
          title={label}
          onClick={() => choose(it)}
        >
          <Icon name={it} />
        </button>
      ))}
    </div>
  )
}

/** A page, or several below one entry. */
type Entry = { at: string; label: string; icon: IconName; tabs?: readonly Tab[] }
type Tab = readonly [at: string, label: string]

const OF_CUSTOMER: readonly Entry[] = [
  { at: '', label: 'Overview', icon: 'overview' },
  { at: 'inbox', label: 'Inbox', icon: 'inbox' },
  { at: 'monitors', label: 'Monitors', icon: 'monitors' },
  { at: 'deliveries', label: 'Deliveries', icon: 'deliveries' },
  { at: 'webhooks', label: 'Webhooks', icon: 'webhooks' },
  { at: 'usage', label: 'Usage', icon: 'usage' },
  { at: 'drafts', label: 'Drafts', icon: 'drafts' },
]

const OF_OPERATOR: readonly Entry[] = [
  { at: '', label: 'Overview', icon: 'overview' },
  { at: 'sources', label: 'Sources', icon: 'sources' },
  { at: 'pool', label: 'Pool', icon: 'pool' },
  { at: 'customers', label: 'Customers', icon: 'customers' },
  { at: 'monitors', label: 'Monitors', icon: 'monitors' },
  { at: 'deliveries', label: 'Deliveries', icon: 'deliveries' },
  { at: 'drafts', label: 'Drafts', icon: 'drafts' },
  { at: 'audit', label: 'Audit', icon: 'audit' },
]

function entriesOf({ role, is_alone, is_billing, has_accounts }: UserSession): readonly Entry[] {
  if (role === 'operator') return OF_OPERATOR
  if (role === 'customer') return OF_CUSTOMER.filter(({ at }) => at !== 'usage' || is_billing)
  return [
    { at: 'inbox', label: 'Inbox', icon: 'inbox' },
    { at: 'monitors', label: 'Monitors', icon: 'monitors' },
    { at: 'sources', label: 'Sources', icon: 'sources' },
    {
      at: 'webhooks',
      label: 'Alerts',
      icon: 'webhooks',
      tabs: [
        ['webhooks', 'Webhooks'],
        ['deliveries', 'Deliveries'],
      ],
    },
    ...(has_accounts ? [{ at: 'pool', label: 'Accounts', icon: 'pool' } as const] : []),
    ...(is_alone ? [] : [{ at: 'customers', label: 'Customers', icon: 'customers' } as const]),
    ...(is_billing ? [{ at: 'usage', label: 'Usage', icon: 'usage' } as const] : []),
    {
      at: 'account',
      label: 'Settings',
      icon: 'settings',
      tabs: [
        ['account', 'Key and sessions'],
        ['drafts', 'Drafts'],
        ['system', 'System'],
        ['audit', 'Audit'],
      ],
    },
  ]
}

const holds = (entry: Entry, at: string): boolean =>
  entry.at === at || entry.tabs?.some(([it]) => it === at) === true

/** The frame of every page: navigation, signed-in user and notifications. */
export function Frame({ leave, children }: { leave: () => void; children: ComponentChildren }) {
  const user = useCurrentUser()
  const { broken, snapshot } = useLive()
  const unread = snapshot?.unread ?? 0
  const { parts } = useRoute()
  const [open, setOpen] = useState(false)
  const at = parts[0] ?? ''
  const where = parts.join('/')
  useEffect(() => setOpen(false), [where])
  useEffect(() => {
    if (!open) return
    const escape = (event: KeyboardEvent) => event.key === 'Escape' && setOpen(false)
    addEventListener('keydown', escape)
    return () => removeEventListener('keydown', escape)
  }, [open])
  useSearchKey()
  const is_owner = user.role === 'owner'
  useGoKeys(user.role !== 'operator')
  const entries = entriesOf(user)
  const tabs = entries.find((it) => holds(it, at))?.tabs ?? []
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <Link to={dashboardPath()} class="brand">
          <Logo /> forumd
        </Link>
        <button
          type="button"
          class="menu-button plain"
          aria-expanded={open}
          aria-controls="places"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? 'close' : 'menu'} /> Menu
        </button>
        <nav id="places" class={open ? 'places open' : 'places'} aria-label="Pages">
          <ul>
            {entries.map((it) => (
              <li key={it.at}>
                <Link
                  to={it.at === '' ? dashboardPath() : dashboardPath(it.at)}
                  current={holds(it, at)}
                >
                  <Icon name={it.icon} /> {it.label}
                  {it.at === 'inbox' && unread > 0 && (
                    <span class="count">
                      {unreadText(unread)}
                      <span class="unseen"> unread</span>
                    </span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
          <div class="self">
            <p class="self-name">{user.customer?.name ?? 'Operator'}</p>
            <p class="quiet small-text">
              key {user.key.prefix}… · {user.version}
            </p>
            <ThemeSwitch />
            {!is_owner && (
              <p>
                <Link to={dashboardPath('account')} current={at === 'account'}>
                  Account and sessions
                </Link>
              </p>
            )}
            <p>
              <a href="/docs">API reference</a>
            </p>
            <button type="button" class="plain wide" onClick={leave}>
              <Icon name="leave" /> Sign out
            </button>
          </div>
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {user.insecure && isExposed(location) && <PlainHttp />}
        {broken && (
          <div class="notice warn" role="status">
            Connection to the daemon lost. The page may be out of date; reconnecting automatically.
          </div>
        )}
        {at !== '' && <StateLine />}
        {tabs.length > 0 && (
          <nav class="tabs" aria-label="Pages of this section">
            {tabs.map(([it, label]) => (
              <Link key={it} to={dashboardPath(it)} current={it === at}>
                {label}
              </Link>
            ))}
          </nav>
        )}
        {children}
      </main>
      <Toast />
    </div>
  )
}

/** Focuses the search field of the page when `/` is pressed. */
function useSearchKey() {
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      const { target, key } = event
      if (key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
      if (target instanceof HTMLElement && target.closest('input, textarea, select, dialog')) return
      const search = document.querySelector('input[type=search]')
      if (!(search instanceof HTMLInputElement)) return
      event.preventDefault()
      search.focus()
      search.select()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

/** Pages by the letter that follows `g`. */
const GO_KEYS: { [letter: string]: string } = {
  i: 'inbox',
  o: '',
  m: 'monitors',
  d: 'deliveries',
}
const GO_MS = 1500

/** Goes to a page when `g` and its letter are pressed in a row. */
function useGoKeys(on: boolean) {
  useEffect(() => {
    if (!on) return
    let begun_at = -Infinity
    function pressed(event: KeyboardEvent) {
      const { target, key } = event
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (target instanceof HTMLElement && target.closest('input, textarea, select, dialog')) return
      const page = now() - begun_at < GO_MS ? GO_KEYS[key] : undefined
      begun_at = key === 'g' ? now() : -Infinity
      if (page === undefined) return
      event.preventDefault()
      go(page === '' ? dashboardPath() : dashboardPath(page))
      scrollTo(0, 0)
    }
    // Before the keys of the page, of which some have the same letters.
    addEventListener('keydown', pressed, true)
    return () => removeEventListener('keydown', pressed, true)
  }, [on])
}

function PlainHttp() {
  const [visible, setVisible] = useState(recall('forumd.http') !== 'known')
  if (!visible) return null
  return (
    <div class="notice warn" role="status">
      <p>
        This page was loaded over plain HTTP: anyone on the network path can read and use your
        session. Set up TLS and set <code>public_url</code>.
      </p>
      <button
        type="button"
        class="small"
        onClick={() => {
          remember('forumd.http', 'known')
          setVisible(false)
        }}
      >
        {' '}
        Dismiss{' '}
      </button>
    </div>
  )
}

const UNREAD_SHOWN_MAX = 999
/** A number of unread matches; the daemon counts up to one more than is shown. */
const unreadText = (unread: number): string =>
  unread > UNREAD_SHOWN_MAX ? `${UNREAD_SHOWN_MAX}+` : String(unread)

type PageLayoutProps = {
  title: string
  beside?: ComponentChildren
  lead?: ComponentChildren
  children: ComponentChildren
}

// The first page is read from its start by screen readers, so it does not move the focus.
let arrived = false

/** A page. Its heading receives the focus after navigation, so that screen readers continue there. */
export function PageLayout({ title, beside, lead, children }: PageLayoutProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { parts } = useRoute()
  const unread = useLive().snapshot?.unread ?? 0
  const where = parts.join('/')
  useEffect(() => {
    document.title = `${unread > 0 ? `(${unreadText(unread)}) ` : ''}${title} · forumd`
  }, [title, unread])
  useEffect(() => {
    if (arrived) heading.current?.focus({ preventScroll: true })
    arrived = true
  }, [where])
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {beside && <div class="actions">{beside}</div>}
      </div>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </>
  )
}

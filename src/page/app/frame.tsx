import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { useLive, useWho } from './around.ts'
import { recall, remember } from './outside.ts'
import { Mark } from './pages/sign-in.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Said } from './parts/said.tsx'
import { ThemeSwitch } from './parts/theme-switch.tsx'
import { Link, pathOf, usePlace } from './route.tsx'

type Entry = { at: string; label: string; icon: IconName }

const OF_CUSTOMER: readonly Entry[] = [
  { at: '', label: 'Overview', icon: 'overview' },
  { at: 'monitors', label: 'Monitors', icon: 'monitors' },
  { at: 'deliveries', label: 'Deliveries', icon: 'deliveries' },
  { at: 'webhooks', label: 'Webhooks', icon: 'webhooks' },
  { at: 'usage', label: 'Usage', icon: 'usage' },
  { at: 'drafts', label: 'Drafts', icon: 'drafts' },
  { at: 'feedback', label: 'Feedback', icon: 'feedback' },
]

const OF_OPERATOR: readonly Entry[] = [
  { at: '', label: 'Overview', icon: 'overview' },
  { at: 'pool', label: 'Pool', icon: 'pool' },
  { at: 'customers', label: 'Customers', icon: 'customers' },
  { at: 'drafts', label: 'Drafts', icon: 'drafts' },
  { at: 'feedback', label: 'Feedback', icon: 'feedback' },
]

/** What stands around every page: where one can go, who one is, and what was just done. */
export function Frame({ leave, children }: { leave: () => void; children: ComponentChildren }) {
  const who = useWho()
  const { broken } = useLive()
  const { parts } = usePlace()
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
  const entries = who.role === 'operator' ? OF_OPERATOR : OF_CUSTOMER
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <Link to={pathOf()} class="brand">
          <Mark /> forumd
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
                <Link to={it.at === '' ? pathOf() : pathOf(it.at)} current={it.at === at}>
                  <Icon name={it.icon} /> {it.label}
                </Link>
              </li>
            ))}
          </ul>
          <div class="self">
            <p class="self-name">{who.customer?.name ?? 'Operator'}</p>
            <p class="quiet small-text">
              key {who.key.prefix}… · {who.version}
            </p>
            <ThemeSwitch />
            <button type="button" class="plain wide" onClick={leave}>
              <Icon name="leave" /> Sign out
            </button>
          </div>
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {who.insecure && <PlainHttp />}
        {broken && (
          <div class="notice warn" role="status">
            The line to the daemon is down. What you see may be old; it is tried again by itself.
          </div>
        )}
        {children}
      </main>
      <Said />
    </div>
  )
}

/** `/` goes to the search of a page that has one. */
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

function PlainHttp() {
  const [shown, setShown] = useState(recall('forumd.http') !== 'known')
  if (!shown) return null
  return (
    <div class="notice warn" role="status">
      <p>
        This page came over plain http. On the daemon's own machine that is fine; from elsewhere,
        whoever is on the way can read and use your session: put TLS in front and set{' '}
        <code>public_url</code>.
      </p>
      <button
        type="button"
        class="small"
        onClick={() => {
          remember('forumd.http', 'known')
          setShown(false)
        }}
      >
        I know
      </button>
    </div>
  )
}

import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const ROOT = '/dashboard'
const MOVED = 'forumd:moved'

/** The current route: decoded path segments after `/dashboard`, and the query. */
export type PageRoute = { parts: string[]; query: URLSearchParams }

const currentRoute = (): PageRoute => ({
  parts: location.pathname
    .slice(ROOT.length)
    .split('/')
    .filter((it) => it !== '')
    .map(decoded),
  query: new URLSearchParams(location.search),
})

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function dashboardPath(...parts: string[]): string {
  return [ROOT, ...parts.map(encodeURIComponent)].join('/')
}

/** Navigates to another page of the dashboard without a reload. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  dispatchEvent(new Event(MOVED))
}

/** Takes the token of a sign-in link out of the address, so that neither the history nor a copy of it has it; null: none. */
export function takeSignInLink(): string | null {
  if (location.pathname !== dashboardPath('sign-in')) return null
  const [, token = null] = /^#([\w-]{22})$/.exec(location.hash) ?? []
  if (token !== null) history.replaceState(null, '', location.pathname)
  return token
}

export function useRoute(): PageRoute {
  const [place, setPlace] = useState(currentRoute)
  useEffect(() => {
    const moved = () => setPlace(currentRoute())
    addEventListener('popstate', moved)
    addEventListener(MOVED, moved)
    return () => {
      removeEventListener('popstate', moved)
      removeEventListener(MOVED, moved)
    }
  }, [])
  return place
}

/** The object whose dialog a parameter of the URL opens; null: none. `close` takes it out of the URL. */
export function useDialogOf(name: string): { of: string | null; close: () => void } {
  const { query } = useRoute()
  return {
    of: query.get(name),
    close() {
      const url = new URL(location.href)
      if (!url.searchParams.has(name)) return
      url.searchParams.delete(name)
      go(url.pathname + url.search, { replace: true })
    },
  }
}

type LinkProps = { to: string; class?: string; current?: boolean; children: ComponentChildren }

/** A link to another page of the dashboard; opening it in a new tab loads it as usual. */
export function Link({ to, current = false, children, ...rest }: LinkProps) {
  function follow(event: TargetedMouseEvent<HTMLAnchorElement>) {
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    // A part of the same page: the browser scrolls to it.
    if (to.startsWith('#') || elsewhere || event.button !== 0 || event.defaultPrevented) return
    event.preventDefault()
    go(to)
    scrollTo(0, 0)
  }
  return (
    <a {...rest} href={to} onClick={follow} {...(current && { 'aria-current': 'page' })}>
      {children}
    </a>
  )
}

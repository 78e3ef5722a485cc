import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const ROOT = '/dashboard'
const MOVED = 'forumd:moved'

/** Where the page is: the parts of its address after `/dashboard`, and what stands in the query. */
export type Place = { parts: string[]; query: URLSearchParams }

const here = (): Place => ({
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

/** An address within the dashboard. */
export function pathOf(...parts: string[]): string {
  return [ROOT, ...parts.map(encodeURIComponent)].join('/')
}

/** Goes to another page of the dashboard without loading anything again. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  dispatchEvent(new Event(MOVED))
}

/** Follows where the page is. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here)
  useEffect(() => {
    const moved = () => setPlace(here())
    addEventListener('popstate', moved)
    addEventListener(MOVED, moved)
    return () => {
      removeEventListener('popstate', moved)
      removeEventListener(MOVED, moved)
    }
  }, [])
  return place
}

type LinkProps = { to: string; class?: string; current?: boolean; children: ComponentChildren }

/** A link to another page of the dashboard: a plain one for who opens it elsewhere. */
export function Link({ to, current = false, children, ...rest }: LinkProps) {
  function follow(event: TargetedMouseEvent<HTMLAnchorElement>) {
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (elsewhere || event.button !== 0 || event.defaultPrevented) return
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

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import { usePlace } from '../route.tsx'

type PageProps = {
  title: string
  /** What stands beside the title, mostly buttons. */
  beside?: ComponentChildren
  lead?: ComponentChildren
  children: ComponentChildren
}

// The first page that is shown was loaded, and read from its beginning.
let arrived = false

/** A page: its heading takes the focus when one comes to it from another, so that a screen reader reads on from there. */
export function Page({ title, beside, lead, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { parts } = usePlace()
  const where = parts.join('/')
  useEffect(() => {
    document.title = `${title} · forumd`
  }, [title])
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

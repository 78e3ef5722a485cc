import type { ComponentChildren } from 'preact'

import { safeUrl } from '../safe-url.ts'

type OutwardProps = { url: unknown; own?: boolean; children: ComponentChildren }

/** A link that leads away from the daemon, and tells nobody where it came from. */
export function Outward({ url, own = false, children }: OutwardProps) {
  const href = safeUrl(url, own)
  if (href === null) return <>{children}</>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

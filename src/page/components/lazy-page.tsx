import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { Notice, Skeleton } from './base/notice.tsx'
import { PageLayout } from './layout.tsx'

/** A page whose code is loaded when it is shown first, so that the start of the others does not wait for it. */
export function lazyPage<P extends object>(title: string, load: () => Promise<ComponentType<P>>) {
  let loaded: ComponentType<P> | null = null
  return function LazyPage(props: P) {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>(
      loaded === null ? 'loading' : 'loaded',
    )
    useEffect(() => {
      if (loaded !== null) return
      let gone = false
      const settle = (to: 'loaded' | 'failed') => {
        if (!gone) setState(to)
      }
      void load().then(
        (page) => {
          loaded = page
          settle('loaded')
        },
        () => settle('failed'),
      )
      return () => {
        gone = true
      }
    }, [])
    const Page = loaded
    if (state === 'loaded' && Page !== null) return <Page {...props} />
    if (state !== 'failed') return <Skeleton rows={5} />
    // After an upgrade the daemon has files of other names.
    return (
      <PageLayout title={title}>
        <Notice tone="bad">
          <p>This page could not be loaded. The daemon may have been upgraded or is away.</p>
          <button type="button" onClick={() => location.reload()}>
            Load again
          </button>
        </Notice>
      </PageLayout>
    )
  }
}

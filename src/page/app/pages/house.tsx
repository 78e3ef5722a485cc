import type { ComponentChildren } from 'preact'

import { useLive } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Page } from '../frame.tsx'
import { Facts } from '../parts/facts.tsx'
import { Events, Tiles } from '../parts/live.tsx'
import { Trouble, Waiting } from '../parts/notice.tsx'
import { Time } from '../parts/time.tsx'
import { bytes, count, words as inWords } from '../show.ts'

const LOOK_MS = 30_000

/** The whole house, as its operator sees it. */
export function House() {
  const { snapshot } = useLive()
  const overview = useAsk<{ [name: string]: unknown }>('/operator/overview', { every_ms: LOOK_MS })
  const accounts = snapshot?.accounts
  return (
    <Page title="Overview" lead="The whole house: every customer, every account.">
      <Trouble failure={overview.failure} again={overview.again} />
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <Tiles
          snapshot={snapshot}
          more={[
            ['Waiting to be sent', count(snapshot?.pending)],
            ['Accounts usable', count(accounts?.usable)],
            ['Accounts cooling', count(accounts?.cooling)],
            ['Need a login', count(accounts?.needs_login)],
          ]}
        />
      </section>
      <section aria-labelledby="house">
        <h2 id="house">The house</h2>
        {overview.value === undefined && overview.failure === null && <Waiting rows={4} />}
        {overview.value && <Facts rows={rowsOf(overview.value)} />}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Just now</h2>
        {snapshot === null ? <Waiting /> : <Events recent={snapshot.recent} />}
      </section>
    </Page>
  )
}

type Row = readonly [string, ComponentChildren]

/** Whatever the house tells of itself, a row for each figure; what lies deeper carries the name above it. */
function rowsOf(told: { [name: string]: unknown }, above = ''): Row[] {
  return Object.entries(told).flatMap(([name, value]): Row[] => {
    const title = above === '' ? inWords(name) : `${above}: ${inWords(name).toLowerCase()}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return rowsOf({ ...value }, title)
    return [[title, figureOf(name, value)]]
  })
}

function figureOf(name: string, value: unknown): ComponentChildren {
  if (value === null || value === undefined) return <span class="quiet">not known</span>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return name.endsWith('_bytes') ? bytes(value) : count(value)
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(textOf).join('; ')
  const text = textOf(value)
  return name.endsWith('_at') ? <Time at={text} /> : text
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

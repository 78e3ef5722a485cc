import { useState } from 'preact/hooks'

import { ask } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { TextField } from '../parts/field.tsx'
import { placed, Trouble } from '../parts/notice.tsx'
import { ReasonsView } from '../parts/reasons-view.tsx'
import type { Why } from '../types.ts'

/** Asks why a post or comment did or did not match. */
export function MonitorWhy({ id }: { id: string }) {
  const { monitor_path } = useWho()
  const [item, setItem] = useState('')
  const [told, setTold] = useState<Why | null>(null)
  const deed = useDeed()
  async function look(event: Event) {
    event.preventDefault()
    setTold(null)
    const query = new URLSearchParams({ id, item_id: item.trim() }).toString()
    const answer = await deed.run(() => ask<Why>(`${monitor_path}/why?${query}`))
    if (answer.ok) setTold(answer.value)
  }
  const { errorOf, rest } = placed(deed.failure, ['item_id'])
  return (
    <section aria-labelledby="why">
      <h2 id="why">Why did something match, or not?</h2>
      <form class="filters" onSubmit={(event) => void look(event)} noValidate>
        <TextField
          label="Id of the post or comment"
          hint="Such as t3_abc123 for a post, t1_abc123 for a comment."
          error={errorOf('item_id')}
          value={item}
          spellcheck={false}
          autocapitalize="none"
          change={setItem}
        />
        <button type="submit" disabled={deed.busy}>
          {deed.busy ? 'Looking …' : 'Explain'}
        </button>
      </form>
      <Trouble failure={rest} />
      <div aria-live="polite">{told && <ReasonsView items={told.items} />}</div>
    </section>
  )
}

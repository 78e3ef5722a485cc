import { useState } from 'preact/hooks'

import { ask } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Field } from '../parts/field.tsx'
import { sentence, Trouble } from '../parts/notice.tsx'
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
  const { failure } = deed
  const placed = failure?.field === 'item_id'
  return (
    <section aria-labelledby="why">
      <h2 id="why">Why did something match, or not?</h2>
      <form class="filters" onSubmit={(event) => void look(event)} noValidate>
        <Field
          label="Id of the post or comment"
          hint="Such as t3_abc123 for a post, t1_abc123 for a comment."
          error={placed && failure ? sentence(failure.message) : null}
        >
          {(tied) => (
            <input
              {...tied}
              value={item}
              spellcheck={false}
              autocapitalize="none"
              onInput={(event) => setItem(event.currentTarget.value)}
            />
          )}
        </Field>
        <button type="submit" disabled={deed.busy}>
          {deed.busy ? 'Looking …' : 'Explain'}
        </button>
      </form>
      <Trouble failure={placed ? null : failure} />
      <div aria-live="polite">{told && <ReasonsView items={told.items} />}</div>
    </section>
  )
}

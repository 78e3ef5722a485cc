import { Icon, type IconName } from '../../components/base/icon.tsx'
import { compact, count } from '../../lib/format.ts'
import type { TriageChange } from './state/types.ts'

type SelectionProps = {
  size: number
  /** Number of matches of the filter, which can be chosen as a whole; null: they cannot. */
  all: number | null
  /** The whole filter is chosen. */
  whole: boolean
  choose_all: () => void
  act: (set: TriageChange) => void
  label: () => void
  clear: () => void
}

export const SelectionBar = ({
  size,
  all,
  whole,
  choose_all,
  act,
  label,
  clear,
}: SelectionProps) => (
  <div class="selection" role="group" aria-label="Selected matches">
    <strong aria-live="polite">
      {whole ? `All ${all === null ? '' : count(all)} selected` : `${count(size)} selected`}
    </strong>
    {all !== null && !whole && all > size && (
      <button type="button" class="plain small" onClick={choose_all}>
        Select all {compact(all)}
      </button>
    )}
    <span class="selection-acts">
      <Act icon="dismiss" name="Dismiss selected" run={() => act({ state: 'dismissed' })} />
      <Act icon="check" name="Mark selected read" run={() => act({ state: 'read' })} />
      <Act icon="unread" name="Mark selected unread" run={() => act({ state: 'unread' })} />
      <Act icon="star" name="Star selected" run={() => act({ starred: true })} />
      <Act icon="label" name="Label selected" run={label} />
      <Act icon="close" name="Clear the selection" run={clear} />
    </span>
  </div>
)

const Act = ({ icon, name, run }: { icon: IconName; name: string; run: () => void }) => (
  <button type="button" class="plain small" aria-label={name} title={name} onClick={run}>
    <Icon name={icon} />
  </button>
)

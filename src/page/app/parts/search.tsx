import { Icon } from './icon.tsx'

type SearchBoxProps = { label: string; value: string; change: (value: string) => void }

/** Where one searches a page; `/` leads to it. */
export const SearchBox = ({ label, value, change }: SearchBoxProps) => (
  <div class="search">
    <Icon name="search" />
    <input
      type="search"
      aria-label={label}
      placeholder={`${label}  ( / )`}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  </div>
)

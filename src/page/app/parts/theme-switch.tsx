import { useState } from 'preact/hooks'

import { remember } from '../outside.ts'
import { Icon } from './icon.tsx'

const THEMES = [
  ['auto', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

type Theme = (typeof THEMES)[number][0]

const chosenTheme = (): Theme =>
  THEMES.find(([it]) => it === document.documentElement.dataset['theme'])?.[0] ?? 'auto'

/** Light, dark, or as the system has it; remembered by the browser. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme)
  function choose(next: Theme) {
    setTheme(next)
    remember('forumd.theme', next === 'auto' ? null : next)
    if (next === 'auto') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = next
  }
  return (
    <div class="themes" role="group" aria-label="Theme">
      {THEMES.map(([it, label]) => (
        <button
          key={it}
          type="button"
          class="plain"
          aria-pressed={theme === it}
          aria-label={label}
          title={label}
          onClick={() => choose(it)}
        >
          <Icon name={it} />
        </button>
      ))}
    </div>
  )
}

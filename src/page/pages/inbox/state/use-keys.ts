import { useEffect, useRef } from 'preact/hooks'

import { actOf, type FocusPlace, type KeyAct } from './keys.ts'

/** Performs the acts of keys while the page is open. `letters` false: single letters do nothing. */
export function useInboxKeys(perform: (act: KeyAct) => void, letters: boolean): void {
  const latest = useRef({ perform, letters })
  latest.current = { perform, letters }
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      if (event.defaultPrevented) return
      const act = actOf(event, placeOfFocus(event.target), latest.current.letters)
      if (act === null) return
      event.preventDefault()
      latest.current.perform(act)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

function placeOfFocus(target: EventTarget | null): FocusPlace {
  if (!(target instanceof HTMLElement)) return 'page'
  if (target.closest('input, textarea, select, dialog, [role=dialog]') !== null) return 'typing'
  if (target.closest('.inbox-list') !== null) return 'list'
  if (target.closest('a, button, summary') !== null) return 'control'
  return target.closest('.reader') === null ? 'page' : 'reader'
}

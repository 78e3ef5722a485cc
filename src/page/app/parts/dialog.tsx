import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

import type { Answer } from '../api.ts'
import { useDeed } from '../deed.ts'
import { Icon } from './icon.tsx'
import { Trouble } from './notice.tsx'

type DialogProps = { title: string; close: () => void; children: ComponentChildren }

/** A box over the page. Escape, the cross and a click beside it close it, and focus goes back to where it was; a form begins at its first field. */
export function Dialog({ title, close, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    box.current?.showModal()
    // It would begin at the cross, and what is typed at once be lost.
    box.current?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onClose={close}
      onClick={({ target }) => target === box.current && close()}
    >
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

type ConfirmProps = {
  title: string
  children: ComponentChildren
  /** What the button that does it says. */
  does: string
  run: () => Promise<Answer<unknown>>
  close: () => void
  done: () => void
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ title, children, does, run, close, done }: ConfirmProps) {
  const deed = useDeed()
  async function act() {
    const answer = await deed.run(run)
    if (!answer.ok) return
    close()
    done()
  }
  return (
    <Dialog title={title} close={close}>
      {children}
      <Trouble failure={deed.failure} />
      <div class="actions">
        <button type="button" class="danger" disabled={deed.busy} onClick={() => void act()}>
          {does}
        </button>
        <button type="button" onClick={close}>
          Keep it
        </button>
      </div>
    </Dialog>
  )
}

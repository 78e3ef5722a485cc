import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

import { useAction } from '../../hooks/use-action.ts'
import type { ApiResult, Failure } from '../../lib/api.ts'
import { Icon } from './icon.tsx'
import { ErrorNotice } from './notice.tsx'

type DialogProps = { title: string; close: () => void; children: ComponentChildren }

/** A modal dialog. Escape, the cross and a click outside close it and restore the focus. A form starts at its first field. */
export function Dialog({ title, close, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    box.current?.showModal()
    // `showModal` focuses the close button, and text typed immediately would be lost.
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
  /** Label of the confirming button. */
  does: string
  run: () => Promise<ApiResult<unknown>>
  close: () => void
  done: () => void
}

/** Asks for confirmation before an irreversible action. */
export function Confirm({ title, children, does, run, close, done }: ConfirmProps) {
  const action = useAction()
  async function act() {
    const answer = await action.run(run)
    if (!answer.ok) return
    close()
    done()
  }
  return (
    <Dialog title={title} close={close}>
      {children}
      <ErrorNotice failure={action.failure} />
      <div class="actions">
        <button type="button" class="danger" disabled={action.busy} onClick={() => void act()}>
          {does}
        </button>
        <button type="button" onClick={close}>
          {' '}
          Cancel{' '}
        </button>
      </div>
    </Dialog>
  )
}

type FormDialogProps = {
  title: string
  /** Label of the submit button; `doing` is its label while busy. */
  does: string
  doing?: string
  busy: boolean
  /** The form can be submitted. */
  ready?: boolean
  /** An error that belongs to no field. null: none. */
  failure: Failure | null
  submit: () => Promise<void>
  close: () => void
  children: ComponentChildren
}

/** A dialog with a form: fields, an error, a submit button and a cancel button. */
export const FormDialog = ({
  title,
  does,
  doing = does,
  busy,
  ready = true,
  failure,
  submit,
  close,
  children,
}: FormDialogProps) => (
  <Dialog title={title} close={close}>
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
      noValidate
    >
      {children}
      <ErrorNotice failure={failure} />
      <div class="actions">
        <button type="submit" class="main" disabled={busy || !ready}>
          {busy ? doing : does}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  </Dialog>
)

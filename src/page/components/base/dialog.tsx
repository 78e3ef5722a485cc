import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

import { useAction } from '../../hooks/use-action.ts'
import type { ApiResult, Failure } from '../../lib/api.ts'
import { Icon } from './icon.tsx'
import { assignErrors, ErrorNotice } from './notice.tsx'

type DialogProps = { title: string; close: () => void; children: ComponentChildren }

/** A modal dialog. Escape, the cross and a click outside close it and restore the focus. A form starts at its first field. */
export function Dialog({ title, close, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before the next frame: a dialog that follows another one must find the focus where that one has put it back.
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog?.showModal()
    // `showModal` focuses the close button, and text typed immediately would be lost.
    dialog?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus()
    return () => {
      // Everything else is inert, and takes no focus, while the dialog is open. Its event must not close what follows it.
      dialog?.addEventListener('close', (event) => event.stopImmediatePropagation(), true)
      dialog?.close()
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
  ready?: boolean
  /** An error that belongs to no field. null: none. */
  failure: Failure | null
  submit: () => Promise<void>
  close: () => void
  children: ComponentChildren
}

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

type CallDialogProps<T> = Pick<FormDialogProps, 'title' | 'does' | 'doing' | 'close'> & {
  /** Fields of the form by their API names; an error of another one is shown above the buttons. */
  fields: readonly string[]
  /** Failure to load what the form needs. null: none. */
  lacking?: Failure | null
  call: () => Promise<ApiResult<T>>
  done: (value: T) => void
  children: (errorOf: (field: string) => string | null) => ComponentChildren
}

/** A dialog whose form makes one call and shows each of its errors beside the field. */
export function CallDialog<T>({
  fields,
  lacking = null,
  call,
  done,
  children,
  ...rest
}: CallDialogProps<T>) {
  const action = useAction()
  async function submit() {
    const answer = await action.run(call)
    if (answer.ok) done(answer.value)
  }
  const errors = assignErrors(action.failure, fields)
  return (
    <FormDialog {...rest} busy={action.busy} failure={errors.rest ?? lacking} submit={submit}>
      {children(errors.errorOf)}
    </FormDialog>
  )
}

import type { ComponentChildren } from 'preact'

import type { Failure } from '../api.ts'
import { Dialog } from './dialog.tsx'
import { Trouble } from './notice.tsx'

type FormDialogProps = {
  title: string
  /** What the button that sends it says, and what it says meanwhile. */
  does: string
  doing?: string
  busy: boolean
  /** Whether there is something to send. */
  ready?: boolean
  /** What went wrong and is said beside no field. */
  failure: Failure | null
  submit: () => Promise<void>
  close: () => void
  children: ComponentChildren
}

/** A box with a form: its fields, what went wrong, the button that sends it and the one that does not. */
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
      <Trouble failure={failure} />
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

import { Copyable } from './copy.tsx'

/** A secret that is shown this once, and the button that says it was kept. */
export const Secret = ({ text, close }: { text: string; close: () => void }) => (
  <>
    <Copyable text={text} label="Secret" />
    <div class="actions">
      <button type="button" class="main" onClick={close}>
        I have kept it
      </button>
    </div>
  </>
)

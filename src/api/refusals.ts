/** What one refused call leaves behind, of headers, errors and sockets: so much resident memory grew by, measured. */
const LEFT_BYTES = 8 * 1024
/** So many make a sum that is worth telling. */
const TOLD_EVERY = 256

/**
 * Told the status of every answer, tells `sweep` of the refused ones: whoever means ill is refused again and again, and
 * each leaves little. Those who are served come at the pace they pay for, and are left to the engine.
 */
export function createRefusals(sweep: (bytes: number) => void): (status: number) => void {
  let refused = 0
  return (status) => {
    if (status < 400) return
    refused += 1
    if (refused % TOLD_EVERY === 0) sweep(TOLD_EVERY * LEFT_BYTES)
  }
}

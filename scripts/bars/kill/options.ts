/** Sizes of the kill test, which the bar hands on to each run. */
export const KILL_SIZES = {
  kills: { type: 'string', default: '1000' },
  syscalls: { type: 'string', default: '200' },
  items: { type: 'string', default: '105' },
  places: { type: 'string', default: '20' },
} as const

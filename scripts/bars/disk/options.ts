/** Sizes of the disk test, which the bar hands on to each part. */
export const DISK_SIZES = {
  from: { type: 'string', default: '1' },
  to: { type: 'string', default: '300' },
  step: { type: 'string', default: '1' },
  lanes: { type: 'string', default: '2' },
  'full-s': { type: 'string', default: '600' },
  cuts: { type: 'string', default: '200' },
} as const

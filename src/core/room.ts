/** Rows of more numbers than this are not copied often, whatever they leave unused. */
const LARGE = 64 * 1024

/**
 * How long a row of numbers is made that has to hold so many: there are some rows for each place that is watched, so
 * that small ones may not keep much unused.
 */
export const withRoom = (needed: number): number =>
  Math.ceil(needed * (needed > LARGE ? 1.5 : 1.125))

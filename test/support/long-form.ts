/**
 * `.ci/run` sets FORUMD_LONG=1: tests of many random cases then make all of them. `bun run test` makes fewer, because it is run before
 * every commit.
 */
export const isLongForm = process.env['FORUMD_LONG'] === '1'

/** Number of cases in the form that runs. */
export function cases(of: { short: number; long: number }): number {
  return isLongForm ? of.long : of.short
}

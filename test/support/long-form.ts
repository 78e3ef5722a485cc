/**
 * `LONG=1 .ci/run` sets FORUMD_LONG=1: tests of many random cases then make all of them, and with every tool that they name.
 * `bun run test` makes fewer, because it is run before every commit.
 */
export const isLongForm = process.env['FORUMD_LONG'] === '1'

/** CI installs the tools that only the long form needs in that form: there a test without them fails, elsewhere it is skipped. */
export const installsAll = isLongForm && process.env['CI'] !== undefined

/** Number of cases in the form that runs. */
export function cases(of: { short: number; long: number }): number {
  return isLongForm ? of.long : of.short
}

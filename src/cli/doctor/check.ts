export type CheckResult = {
  /** The subject, such as `storage`. */
  check: string
  /** Name of one of several subjects, such as an account; null: there is one. */
  name: string | null
  verdict: 'ok' | 'warn' | 'fail'
  found: string
  fix: string | null
}

/** One check; `title` is shown while it runs. */
export type Check = { title: string; run(): CheckResult[] | Promise<CheckResult[]> }

export const fine = (check: string, found: string, name: string | null = null): CheckResult => ({
  check,
  name,
  verdict: 'ok',
  found,
  fix: null,
})

export const doubtful = (
  check: string,
  found: string,
  fix: string,
  name: string | null = null,
): CheckResult => ({ check, name, verdict: 'warn', found, fix })

/** A check that found a problem, and its remedy. */
export const bad = (
  check: string,
  found: string,
  fix: string,
  name: string | null = null,
): CheckResult => ({ check, name, verdict: 'fail', found, fix })

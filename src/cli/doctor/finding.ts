/** What one look at one thing has shown, and what helps when it is not as it should be. */
export type Finding = {
  /** What was looked at: `storage`. */
  check: string
  /** Which of several: an account's name; null where there is one. */
  name: string | null
  verdict: 'ok' | 'warn' | 'fail'
  found: string
  mend: string | null
}

/** One thing to look at; `title` says what it takes time with. */
export type Check = { title: string; look(): Finding[] | Promise<Finding[]> }

/** A check that found nothing to mend. */
export const fine = (check: string, found: string, name: string | null = null): Finding => ({
  check,
  name,
  verdict: 'ok',
  found,
  mend: null,
})

/** A check that found what may want mending, and how. */
export const doubtful = (
  check: string,
  found: string,
  mend: string,
  name: string | null = null,
): Finding => ({ check, name, verdict: 'warn', found, mend })

/** A check that found what has to be mended, and how. */
export const bad = (
  check: string,
  found: string,
  mend: string,
  name: string | null = null,
): Finding => ({ check, name, verdict: 'fail', found, mend })

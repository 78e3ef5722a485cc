/** The newest release of a changelog: its version, date and text without the heading. */
export type Released = { version: string; created_at: Date; text: string }

const HEADING = /^## (.+)$/gm
const VERSION = /^(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$/

/**
 * Parses the newest release.
 *
 * @throws {Error} if Unreleased has entries, or the newest section is not headed like `## 1.0.0 (2026-11-20)`
 */
export function newestIn(changelog: string): Released {
  const headings = [...changelog.matchAll(HEADING)]
  const sections = headings.map((it, at) => ({
    title: it[1] ?? '',
    text: changelog.slice(it.index + it[0].length, headings[at + 1]?.index).trim(),
  }))
  const [first, ...others] = sections
  const unreleased = first?.title === 'Unreleased'
  if (unreleased && first.text !== '')
    throw new Error(
      'CHANGELOG.md has entries under Unreleased: give them a version and a date first',
    )
  const newest = unreleased ? others[0] : first
  const [, version, day] = VERSION.exec(newest?.title ?? '') ?? []
  if (newest === undefined || version === undefined || day === undefined)
    throw new Error(
      `the newest section of CHANGELOG.md must be headed like 1.0.0 (2026-11-20), not ${newest?.title ?? 'nothing'}`,
    )
  return { version, created_at: new Date(`${day}T00:00:00Z`), text: newest.text }
}

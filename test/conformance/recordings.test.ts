import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import * as z from 'zod'

import { cases } from '../support/long-form.ts'
import { readRecordings, recordingsFolder } from '../support/replay.ts'
import { startConformanceFixture } from './fixture.ts'
import { CHECKS } from './recording-checks.ts'

// Goal: every recorded answer of the platform becomes the documented rows.
// Method: the daemon reads each recording over HTTP, and its response is compared with the rows of a second mapper, written
// from the documentation alone in another language.

const folder = recordingsFolder()

/** The short form compares some of the recordings of each kind. */
const EVERY = cases({ short: 4, long: 1 })

/** Known differences. A resolved one must be removed from the list. */
const ExpectedFailures = z.array(z.object({ line: z.string(), why: z.string() }))

describe.skipIf(folder === null)('recordings', () => {
  const all = folder === null ? [] : readRecordings(folder)

  test.each(Object.keys(CHECKS))(
    'every %s becomes the documented rows',
    async (kind) => {
      await using fixture = await startConformanceFixture(folder ?? '')
      const ours = all.filter((it) => it.kind === kind).filter((_, n) => n % EVERY === 0)
      const mapped_rows = await fixture.mapRecordings(kind, ours)

      const found: string[] = []
      for (const [index, recording] of ours.entries()) {
        const due = mapped_rows[index]
        if (due === undefined || due.skip !== undefined) continue
        const lines = (await CHECKS[kind]?.(fixture, recording, due)) ?? []
        found.push(...lines.map((line) => `${recording.file} ${line}`))
      }

      const expected_failures = ExpectedFailures.parse(
        await Bun.file(join(import.meta.dir, 'expected-failures.json')).json(),
      )
      const expected = expected_failures
        .map(({ line }) => line)
        .filter((line) => ours.some(({ file }) => line.startsWith(`${file} `)))
      expect(found.toSorted()).toEqual(expected.toSorted())
      const skipped = mapped_rows.flatMap(({ skip }) => skip ?? [])
      console.log(
        `${kind}: ${ours.length - skipped.length} compared, ${skipped.length} of another kind`,
      )
      expect(ours.length).toBeGreaterThan(skipped.length)
      // An error of the second mapper does not mean another kind.
      expect(skipped.filter((why) => why.startsWith('lacks'))).toEqual([])
    },
    60_000,
  )
})

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import * as z from 'zod'

import { readRecordings, recordingsFolder } from '../support/replay.ts'
import { CHECKS } from './kinds.ts'
import { startStage } from './stage.ts'

// Goal: whatever the platform was recorded to answer becomes the rows that the pages promise.
// Method: the daemon reads each recording over HTTP, and what it answers with is compared with what a second mapper,
// written from the pages alone in another language, makes of the same file.

const folder = recordingsFolder()

/** Differences that we know of. One that is gone has to go from the list as well. */
const Known = z.array(z.object({ line: z.string(), why: z.string() }))

describe.skipIf(folder === null)('recordings', () => {
  const all = folder === null ? [] : readRecordings(folder)

  test.each(Object.keys(CHECKS))(
    'every %s becomes the rows it should',
    async (kind) => {
      await using stage = await startStage(folder ?? '')
      const ours = all.filter((it) => it.kind === kind)
      const told = await stage.told(kind, ours)

      const found: string[] = []
      for (const [index, recording] of ours.entries()) {
        const due = told[index]
        if (due === undefined || due.skip !== undefined) continue
        const lines = (await CHECKS[kind]?.(stage, recording, due)) ?? []
        found.push(...lines.map((line) => `${recording.file} ${line}`))
      }

      const known = Known.parse(
        await Bun.file(join(import.meta.dir, 'expected-failures.json')).json(),
      )
      const expected = known
        .map(({ line }) => line)
        .filter((line) => line.startsWith(`raw/${kind}/`))
      expect(found.toSorted()).toEqual(expected.toSorted())
      const skipped = told.flatMap(({ skip }) => skip ?? [])
      console.log(
        `${kind}: ${ours.length - skipped.length} compared, ${skipped.length} of another kind`,
      )
      expect(ours.length).toBeGreaterThan(skipped.length)
      // What the second mapper trips over is not of another kind.
      expect(skipped.filter((why) => why.startsWith('lacks'))).toEqual([])
    },
    60_000,
  )
})

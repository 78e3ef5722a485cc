// Goal: "Path of a read" in ARCHITECTURE.md names every file that a read runs through.
// The read is made in a process of its own under coverage, twice: files whose lines ran more often with more reads are on
// the path, files that only the start runs are not.
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startTestDaemon } from '../support/test-daemon.ts'

const READS = 'FORUMD_PATH_READS'
const FEW = 2
const MORE = 12
const root = join(import.meta.dir, '../..')

/** Runs per line, by file of `src`, of a process that makes `reads` reads. */
async function runsWith(reads: number): Promise<Map<string, Map<string, number>>> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-path-'))
  const coverage = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${dir}`]
  const child = Bun.spawn([process.execPath, 'test', ...coverage, import.meta.path], {
    cwd: root,
    env: { ...process.env, [READS]: String(reads) },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  expect(await child.exited).toBe(0)
  const records = (await Bun.file(join(dir, 'lcov.info')).text()).split('end_of_record')
  await rm(dir, { recursive: true })
  return new Map(
    records.flatMap((record) => {
      const [, file = ''] = /^SF:(src\/.+)$/m.exec(record) ?? []
      const lines = [...record.matchAll(/^DA:(\d+),(\d+)$/gm)]
      return file === '' ? [] : [[file, new Map(lines.map(([, at = '', n]) => [at, Number(n)]))]]
    }),
  )
}

if (process.env[READS] === undefined)
  test('the page lists the files that a read runs through, and no others', async () => {
    const page = await Bun.file(join(root, 'ARCHITECTURE.md')).text()
    const [, section = ''] = /^## Path of a read\n(.*?)^## /ms.exec(page) ?? []
    const rows = [...section.matchAll(/^\| `(src\/[\w./-]+)`/gm)].map(([, file = '']) => file)
    const named = [...section.matchAll(/`(src\/[\w./-]+\.ts)`/g)].map(([, file = '']) => file)
    const counts = [...section.matchAll(/are (\d+) files/g)].map(([, count]) => Number(count))
    const [few, more] = [await runsWith(FEW), await runsWith(MORE)]
    const ran = [...more].flatMap(([file, lines]) => {
      const before = few.get(file)
      const often = [...lines].some(([at, n]) => n - (before?.get(at) ?? 0) >= MORE - FEW)
      return often && !/^src\/(?:core|runtime|wiring)\//.test(file) ? [file] : []
    })

    expect(ran.filter((file) => !named.includes(file))).toEqual([])
    // The outermost hook runs where a read fails.
    expect(rows.filter((file) => !ran.includes(file))).toEqual(['src/api/http/errors.ts'])
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(rows.length)
    expect(counts[0]).toBeLessThanOrEqual(30)
  })
else
  test('reads', async () => {
    await using daemon = await startTestDaemon()
    daemon.sandbox.post({ subforum: 'coffee', author: 'grinder', title: 'Water' })
    await daemon.clock.advance(60_000)
    for (let limit = 1; limit <= Number(process.env[READS]); limit++) {
      const read = await daemon.call(`/api/forum/posts?subforum=coffee&limit=${limit}`)
      expect([read.status, read.headers.get('x-cache')]).toEqual([200, 'miss'])
    }
  })

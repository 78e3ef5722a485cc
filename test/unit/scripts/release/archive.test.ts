import { expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

import { pack } from '../../../../scripts/release/archive.ts'
import { tempFolder } from '../../../support/folder.ts'

const created_at = new Date('2026-11-20T00:00:00Z')

async function packed(name: string) {
  const folder = tempFolder()
  const executable = folder.file('some-program')
  writeFileSync(executable, '#!/bin/sh\n', { mode: 0o700 })
  const out = folder.file('out')
  mkdirSync(out)
  const path = await pack({ name, executable, notices: 'by which licence\n', created_at, out })
  return { path, [Symbol.dispose]: folder[Symbol.dispose] }
}

test('an archive has executable, install files and licences, owned by root and dated to the release day', async () => {
  using it = await packed('forumd-1.0.0-linux-x64')
  const list = Bun.spawnSync(['tar', '--utc', '--full-time', '--numeric-owner', '-tvzf', it.path])
  const lines = list.stdout.toString().trim().split('\n')

  expect(it.path).toEndWith('/out/forumd-1.0.0-linux-x64.tar.gz')
  expect(lines.map((line) => line.replace(/^(\S+) +(\S+) +\d+ /, '$1 $2 '))).toEqual(
    [
      'drwxr-xr-x ',
      '-rw-r--r-- CHANGELOG.md',
      '-rw-r--r-- LICENSE',
      '-rw-r--r-- README.md',
      '-rw-r--r-- THIRD-PARTY-NOTICES',
      '-rw-r--r-- config.example.toml',
      '-rwxr-xr-x forumd',
      '-rwxr-xr-x install.sh',
    ].map((line) => line.replace(' ', ' 0/0 2026-11-20 00:00:00 forumd-1.0.0-linux-x64/')),
  )
})

test('packing again gives the same bytes', async () => {
  using once = await packed('forumd-1.0.0-linux-x64')
  using again = await packed('forumd-1.0.0-linux-x64')

  expect(readFileSync(again.path).equals(readFileSync(once.path))).toBe(true)
  // No name and no time in its gzip header (RFC 1952), which would differ later.
  expect([...readFileSync(once.path).subarray(3, 8)]).toEqual([0, 0, 0, 0, 0])
})

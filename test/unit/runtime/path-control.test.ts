import { expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'

import { walkPath } from '../../../src/runtime/path-control.ts'
import { tempFolder } from '../../support/folder.ts'

const UNPRIVILEGED_ID = 65_534
const asRoot = test.skipIf(process.getuid?.() !== 0)

/** Users with control of a path in a folder owned by root, as `path by` below that folder. */
function controllersIn(path: string, make: (file: (name: string) => string) => void): string[] {
  using folder = tempFolder()
  make(folder.file)
  return walkPath(folder.file(path)).controllers.map(
    (it) => `${it.path.slice(folder.path.length + 1)} ${it.by}`,
  )
}

asRoot('a path that only root can change has no other controller', () => {
  expect(controllersIn('a', (file) => writeFileSync(file('a'), ''))).toEqual([])
})

asRoot.each<[string, (file: (name: string) => string) => void, string[]]>([
  ['the owner of the file', (file) => chownSync(file('a/b'), UNPRIVILEGED_ID, 0), ['a/b owner']],
  ['the owner of a parent folder', (file) => chownSync(file('a'), UNPRIVILEGED_ID, 0), ['a owner']],
  [
    'every user with write access to the file',
    (file) => chmodSync(file('a/b'), 0o606),
    ['a/b others'],
  ],
  [
    'every user with write access to a parent folder',
    (file) => chmodSync(file('a'), 0o707),
    ['a others'],
  ],
  [
    'a group other than root',
    (file) => {
      chownSync(file('a'), 0, UNPRIVILEGED_ID)
      chmodSync(file('a'), 0o770)
    },
    ['a group'],
  ],
])('%s controls it', (_, spoil, expected) => {
  const found = controllersIn('a/b', (file) => {
    mkdirSync(file('a'))
    writeFileSync(file('a/b'), '')
    spoil(file)
  })

  expect(found).toEqual(expected)
})

function makeSticky(file: (name: string) => string) {
  mkdirSync(file('a'))
  writeFileSync(file('a/b'), '')
  chmodSync(file('a'), 0o1777)
}

asRoot('in a sticky folder others control missing entries, and not those of root', () => {
  expect(controllersIn('a/b', makeSticky)).toEqual([])
  expect(controllersIn('a/c', makeSticky)).toEqual(['a others'])
})

asRoot('a link is followed through every folder that it names, and its owner controls it', () => {
  using folder = tempFolder()
  mkdirSync(folder.file('theirs'))
  writeFileSync(folder.file('theirs/b'), '')
  chownSync(folder.file('theirs'), UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  symlinkSync('theirs/../theirs/b', folder.file('link'))

  const { controllers, end } = walkPath(folder.file('link'))

  expect(end?.path).toBe(folder.file('theirs/b'))
  expect(new Set(controllers.map(({ path }) => path))).toEqual(new Set([folder.file('theirs')]))
})

test('a link to itself ends the walk, and a missing part is named', () => {
  using folder = tempFolder()
  symlinkSync('loop', folder.file('loop'))

  expect(() => walkPath(folder.file('loop'))).toThrow('too many links')
  expect(walkPath(folder.file('x/y')).missing).toBe(folder.file('x'))
})

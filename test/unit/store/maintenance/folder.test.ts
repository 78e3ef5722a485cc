import { expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'

import { openFolder, replaceFile } from '../../../../src/store/maintenance/folder.ts'
import { tempFolder } from '../../../support/folder.ts'

test('a file is created only under a free name, not even over a dangling link', () => {
  using folder = tempFolder()
  symlinkSync(folder.file('target'), folder.file('name'))
  using open = openFolder(folder.path)

  expect(() => open.create('name')).toThrow('EEXIST')
  expect(existsSync(folder.file('target'))).toBe(false)
})

test.skipIf(process.platform !== 'linux')(
  'a name resolves within the opened folder, even when its path leads elsewhere',
  () => {
    using folder = tempFolder()
    mkdirSync(folder.file('first'))
    mkdirSync(folder.file('second'))
    using open = openFolder(folder.file('first'))
    renameSync(folder.file('first'), folder.file('aside'))
    symlinkSync(folder.file('second'), folder.file('first'))

    using file = open.create('name')
    file.write(Buffer.from('text'))
    open.rename('name', 'renamed')

    expect(readdirSync(folder.file('second'))).toEqual([])
    expect(readFileSync(folder.file('aside/renamed'), 'utf8')).toBe('text')
  },
)

test('a file that was replaced, or got a second name, is noticed', () => {
  using folder = tempFolder()
  using open = openFolder(folder.path)
  using file = open.create('name')
  expect(file.isAt('name')).toBe(true)

  open.link('name', 'second')
  expect(file.isAt('name')).toBe(false)
  rmSync(folder.file('second'))
  rmSync(folder.file('name'))
  writeFileSync(folder.file('name'), 'other')
  expect(file.isAt('name')).toBe(false)
  rmSync(folder.file('name'))
  symlinkSync(folder.file('other'), folder.file('name'))
  expect(() => file.isAt('name')).toThrow('ELOOP')
})

test('a file is replaced atomically, and links under its final and temporary names are not followed', () => {
  using folder = tempFolder()
  const target = folder.file('target')
  writeFileSync(target, 'untouched')
  for (const name of ['name', 'name.new']) symlinkSync(target, folder.file(name))

  replaceFile(folder.file('name'), Buffer.from('text'))

  expect(readFileSync(target, 'utf8')).toBe('untouched')
  expect(readFileSync(folder.file('name'), 'utf8')).toBe('text')
  expect(statSync(folder.file('name')).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path).toSorted()).toEqual(['name', 'target'])
})

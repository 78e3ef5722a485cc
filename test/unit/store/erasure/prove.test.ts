import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

import { createRing } from '../../../../src/core/base/secrets.ts'
import { searchFolder } from '../../../../src/store/erasure/prove.ts'
import { tempFolder } from '../../../support/folder.ts'

const ring = createRing(new Uint8Array(32), (count) => new Uint8Array(count))

test.each(['', './', '././'])(
  'files of a folder are named relative to it, if it is given as %p and a relative path',
  (prefix) => {
    using folder = tempFolder()
    mkdirSync(folder.file('sub'))
    writeFileSync(folder.file('a.txt'), 'a walrus')
    writeFileSync(folder.file('sub/b.txt'), 'nothing')

    const found = searchFolder(`${prefix}${relative(process.cwd(), folder.file('.'))}/`, ring, [
      'walrus',
    ])

    expect(found).toEqual([
      { file: 'a.txt', bytes: 8, found: ['bytes'] },
      { file: 'sub/b.txt', bytes: 7, found: [] },
    ])
  },
)

import { expect, test } from 'bun:test'

import { hasOldIndex, openArchive } from '../../../../src/store/archive/file.ts'
import { parse } from '../../../support/archive-arbitraries.ts'
import { archive, searchAll } from '../../../support/archive.ts'
import { tempFolder } from '../../../support/folder.ts'
import { postOf } from '../../../support/items.ts'

const post = (n: number) =>
  postOf({ id: `x${n}`, name: `t3_x${n}`, title: `grinder ${n}`, created_utc: 1_764_547_200 })

test('an archive with the words of another Unicode is opened, added to and searched', async () => {
  using folder = tempFolder()
  const path = folder.file('archive.sqlite')
  const before = openArchive(path)
  archive(before, [post(1)])
  before.run("UPDATE meta SET value = '1 15.0 74.2' WHERE name = 'version'")
  before[Symbol.dispose]()
  using db = openArchive(path)

  expect(hasOldIndex(db)).toBe(true)
  archive(db, [post(1), post(2)])
  expect(searchAll(db, { spec: parse({ include_any: ['grinder'] }), limit: 5 }).names.length).toBe(
    2,
  )
})

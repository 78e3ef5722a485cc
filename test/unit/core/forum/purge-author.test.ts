import { expect, test } from 'bun:test'

import { normalise } from '../../../../src/core/base/form.ts'
import { isErasedRow, isTraced, type Purged, purgeItem } from '../../../../src/core/forum/purge.ts'

const row = (author: string) => ({
  id: '1',
  name: 't3_1',
  kind: 'post',
  author,
  title: 'A title',
  source: 's',
})

test.each([
  ['ANN', 'ann'],
  ['Zoe\u0301', 'zoé'],
  ['zoé', 'ZOE\u0301'],
  ['STRASSE', 'straße'],
  ['Дмитрий', 'ДМИТРИЙ'],
  ['ann@forum.example', 'Ann@forum.example'],
  ['ann.w', 'Ann.W'],
])('a purge of %s erases what %s wrote, and no name that only begins so', (given, author) => {
  const purged: Purged = { by: 'author', name: normalise(given), source: null, posts: new Set() }
  const [own, other] = [row(author), row(`${author}2`)]

  expect(isTraced(JSON.stringify(own), purged)).toBe(true)
  expect(isErasedRow(purgeItem(own, purged, 'subforum'))).toBe(true)
  expect(purgeItem(other, purged, 'subforum')).toBe(other)
})

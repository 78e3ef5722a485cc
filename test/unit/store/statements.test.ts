// Goal: row types that are written by hand are those of the statements. Method: every literal statement of the store is
// prepared against the schema, and compared with the types of its call; so is a file of mistakes.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { openArchive } from '../../../src/store/archive/file.ts'
import { tempFolder } from '../../support/folder.ts'
import { memoryDb } from '../../support/memory-db.ts'
import { compareStatements } from '../../support/statements.ts'

setDefaultTimeout(60_000)

const root = join(import.meta.dir, '../../..')
const MISTAKES = `declare const db: { query<Row, Params>(sql: string): [Row, Params] }
const TABLE = 'customers'
db.query<{ id: string; name: string }, []>(\`SELECT id, name FROM \${TABLE}\`)
db.query<{ id: string; title: string }, []>('SELECT id, name FROM customers')
db.query<{ id: number }, []>('SELECT id FROM customers')
db.query<{ id: string }, [{ name: string }]>('SELECT id FROM customers WHERE plan = $plan')
db.query<never, []>('DELETE FROM custom')
const by = (column: string) => \`SELECT id FROM customers WHERE \${column} = 1\`
db.query<{ id: string }, []>(by('nope'))
db.query<{ id: string }, []>(\`SELECT id FROM customers \${Math.random() > 0.5 ? '' : 'WHERE no = 1'}\`)
db.query<{ id: string }, []>(by(String(Math.random())))
`
/** Statements with conditions that a request decides, which tests of their reads cover. */
const COMPUTED_MAX = 23

const inMistakes = (fault: string) => fault.includes('mistakes.ts')

test('every literal statement has the columns and the parameters that its types claim', () => {
  using folder = tempFolder()
  const mistakes = folder.file('mistakes.ts')
  writeFileSync(mistakes, MISTAKES)
  using main = memoryDb()
  using archive = openArchive(':memory:')
  const files = [...new Bun.Glob('src/store/**/*.ts').scanSync(root)].map((it) => join(root, it))

  const { prepared, faults, computed } = compareStatements(
    root,
    [...files, mistakes],
    [main, archive],
  )

  expect(faults.filter((it) => !inMistakes(it))).toEqual([])
  expect(prepared).toBeGreaterThan(500)
  expect(computed.filter(inMistakes)).toEqual([expect.stringMatching(/mistakes\.ts:11$/)])
  expect(computed.length - 1).toBeLessThanOrEqual(COMPUTED_MAX)
  expect(faults.filter(inMistakes).map((it) => it.replace(/^.*mistakes\.ts:/, ''))).toEqual([
    '4: no column title',
    '4: the row type has no name',
    '5: id is TEXT, the row type says number',
    '6: no value of $plan',
    '7: no such table: custom',
    '9: no such column: nope',
    '10: no such column: no',
  ])
})

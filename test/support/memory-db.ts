import { Database } from 'bun:sqlite'

import { once } from '../../src/core/base/lazy.ts'
import { type Db, openDb, withPragmas } from '../../src/store/db/connection.ts'

const empty = once(() => {
  using db = openDb(':memory:', { create: true })
  return db.serialize()
})

/** A new database in memory, as a copy of one: the schema takes five times as long. */
export const memoryDb = (): Db => withPragmas(Database.deserialize(empty(), { strict: true }))

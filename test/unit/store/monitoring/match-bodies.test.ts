import { expect, test } from 'bun:test'

import { newestSeq, skipAhead } from '../../../../src/store/monitoring/matches.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { insertPulled } from '../../../support/pulled.ts'
import { addMonitor, putTarget } from '../../../support/target-row.ts'

test("after a restore every monitor's sequence continues from its instant", () => {
  using db = memoryDb()
  putTarget(db)
  addMonitor(db, 'mon_2')
  const keep = (monitor_id: string) =>
    insertPulled(db, [{ monitor_id, body: new Uint8Array(1), matched_at: 0 }])
  for (const monitor_id of ['mon_1', 'mon_1', 'mon_2']) keep(monitor_id)
  skipAhead(db, 1000)
  for (const monitor_id of ['mon_1', 'mon_2']) keep(monitor_id)

  expect(['mon_1', 'mon_2'].map((monitor_id) => newestSeq(db, monitor_id))).toEqual([1001, 1001])
})

import { expect, test } from 'bun:test'

import { parseConfig } from '../../src/config/load.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { tempFolder } from '../support/folder.ts'

/** Pool, monitor, sender, operator, upkeep, storage. */
const LOOPS = 8

test('a start yields after each loop so that requests are answered', async () => {
  using folder = tempFolder()
  const config = parseConfig(
    'source = [{ name = "forum", kind = "reddit", base_url = "http://127.0.0.1:1", session_cookie = "s" }]',
  )
  config.server.port = 0
  config.storage.dir = folder.path
  let turns = 0
  let counting = setImmediate(function count() {
    turns += 1
    counting = setImmediate(count)
  })

  await using _ = await startDaemon(
    config,
    createRuntime(() => {}),
  )
  clearImmediate(counting)

  expect(turns).toBeGreaterThanOrEqual(LOOPS)
})

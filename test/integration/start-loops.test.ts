import { expect, test } from 'bun:test'

import { parseConfig } from '../../src/config.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createOutside } from '../../src/outside.ts'
import { tempFolder } from '../support/folder.ts'

/** Pool, monitor, sender, operator, upkeep, storage. */
const LOOPS = 6

test('a start lets others run after each loop that it begins, so that whoever asks meanwhile is answered', async () => {
  using folder = tempFolder()
  const config = parseConfig('platform = { base_url = "http://127.0.0.1:1", session_cookie = "s" }')
  config.server.port = 0
  config.storage.dir = folder.path
  let turns = 0
  let counting = setImmediate(function count() {
    turns += 1
    counting = setImmediate(count)
  })

  await using _ = await startDaemon(
    config,
    createOutside(() => {}),
  )
  clearImmediate(counting)

  expect(turns).toBeGreaterThanOrEqual(LOOPS)
})

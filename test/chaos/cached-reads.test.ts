import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createSeededRandom } from '../../sandbox/world/random.ts'
import { tempFolder } from '../support/folder.ts'
import { runForumd, startProcess } from '../support/process.ts'
import { readLedger } from './ledger-check.ts'
import { startReading } from './reader.ts'

// Goal: after a crash at any instant every delivered cached response is billed, no other is, and no hold is left.
// Method: eight clients read one listing in a loop; kill -9 at a random moment, restart, many times. After every start the
// database is read with another SQLite build than the daemon's.

const KILLS = Number(process.env['FORUMD_KEPT_KILLS'] ?? 8)
const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))
const READERS = 8
const LIFE_MS = { least: 30, more: 250 }

test(
  `bills each answered cached read once across ${KILLS} kills (FORUMD_SEED=${SEED})`,
  async () => {
    const chance = createSeededRandom(SEED)
    using folder = tempFolder()
    await using sandbox = await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'seeded',
      now: Date.now,
    })
    const data = join(folder.path, 'data')
    const config = join(folder.path, 'forumd.toml')
    await Bun.write(
      config,
      `server = { port = 0 }
       storage = { dir = "${data}" }
       source = [{ name = "forum", kind = "reddit", base_url = "${sandbox.url}", session_cookie = "session" }]
       limits = { key_rate = 0, read_cache_s = 3600 }
       log = { json = true }`,
    )
    let daemon = await startProcess(config)
    const args = `key create --config ${config} --customer ann --credits 10000 --json`
    const { key } = JSON.parse(await runForumd(args.split(' ')))
    const headers = { authorization: `Bearer ${key}` }
    const readers = Array.from({ length: READERS }, () =>
      startReading(headers, 'subforum=coffee', 0),
    )
    const sum = (of: (reader: (typeof readers)[number]) => number) =>
      readers.reduce((all, it) => all + of(it), 0)

    for (let kill = 1; kill <= KILLS; kill++) {
      for (const it of readers) it.of(daemon)
      const answered = sum((it) => it.answered())
      while (sum((it) => it.answered()) === answered) await Bun.sleep(1)
      await Bun.sleep(LIFE_MS.least + chance.fraction() * LIFE_MS.more)
      await daemon.end('SIGKILL')
      await Promise.all(readers.map((it) => it.stopped()))
      daemon = await startProcess(config)

      const { integrity, holds, unbalanced, reads_billed } = readLedger(data)
      expect({ integrity, holds, unbalanced }).toEqual({ integrity: 'ok', holds: 0, unbalanced: 0 })
      expect(reads_billed).toBeGreaterThanOrEqual(sum((it) => it.answered()))
      expect(reads_billed).toBeLessThanOrEqual(sum((it) => it.requests()))
    }
    await daemon.end('SIGTERM')
  },
  60_000 + KILLS * 10_000,
)

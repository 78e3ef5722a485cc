import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type DaemonProcess, startProcess } from '../support/process.ts'
import { countLost, emptyRecord, useUntilExit } from './acknowledged.ts'
import { startChaosFixture } from './fixture.ts'
import { type LedgerTotals, readLedger, waitForDeliveries } from './ledger-check.ts'
import { judge, type Judged } from './recording-receiver.ts'
import { failAt, injected } from './tracer.ts'

/** The system call that fails: its name, occurrence and error. */
export type Fault = { call: 'pwrite64' | 'fsync'; error: 'EIO' | 'ENOSPC'; n: number }

export type Erring = {
  faults: readonly Fault[]
  seed: number
  items_per_s: number
  report?: (line: string) => void
}

export type Erred = Judged & {
  cases: number
  /** Cases in which the call was reached and failed. */
  struck: number
  /** Failures before the daemon listened. */
  at_start: number
  /** Failures after which the daemon exited by itself, and the longest time until then, in ms. */
  ended: number
  longest_end_ms: number
  /** Failures that were logged without an exit within three seconds. */
  hung: number
  acknowledged: number
  /** Acknowledged writes that were lost after the next start. */
  writes_lost: number
  reads_unbilled: number
  books: LedgerTotals
}

/** A busy machine delays an exit, and the lines that announce it. */
const END_MAX_MS = 3000
const WEBHOOKS_A_LIFE = 60
const BROKEN = /SQLITE_IOERR|storage\.(lost|unusable)/

/** Injects one disk failure into each of many runs and checks the data after a start without failures. */
export async function failDisk({ faults, seed, items_per_s, report }: Erring): Promise<Erred> {
  await using fixture = await startChaosFixture({ seed, places: ['hay0', 'hay1'], items_per_s })
  const book = emptyRecord()
  const figures = {
    cases: faults.length,
    struck: 0,
    at_start: 0,
    ended: 0,
    longest_end_ms: 0,
    hung: 0,
    acknowledged: 0,
    writes_lost: 0,
  }
  // A marker of an earlier failure would prevent the next start.
  const forget = () => rm(join(fixture.data, 'storage-errors.json'), { force: true })
  let daemon = await startProcess(fixture.config)
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await fixture.setUp(daemon)
  for (const [index, { call, error, n }] of faults.entries()) {
    await daemon.end('SIGTERM')
    await forget()
    let listened = false
    const struck = await injected(fixture.config, failAt(call, error, n), {
      async meanwhile(it) {
        listened = true
        await useUntilExit(fixture, it, book, { webhooks_max: WEBHOOKS_A_LIFE })
      },
      async afterwards(it) {
        const took = await endOf(it)
        if (took !== null) {
          figures.ended++
          figures.longest_end_ms = Math.max(figures.longest_end_ms, took)
        } else if (it.lines.some((line) => BROKEN.test(line))) {
          figures.hung++
          report?.(`still there after ${error} at ${call} ${n}`)
        }
      },
    })
    if (struck) figures.struck++
    if (struck && !listened) figures.at_start++
    await forget()
    daemon = await startProcess(fixture.config)
    figures.acknowledged += book.webhooks.size
    const { webhooks } = await countLost(fixture, daemon, book)
    figures.writes_lost += webhooks
    if (webhooks > 0) report?.(`lost ${webhooks} after ${error} at ${call} ${n}`)
    if (index % 50 === 49) report?.(`${index + 1} cases: ${JSON.stringify(figures)}`)
  }
  await fixture.poster.stop()
  await waitForDeliveries(fixture.data, fixture.poster.matching.length * fixture.receivers.length)
  await daemon.end('SIGTERM')
  const books = readLedger(fixture.data)
  return {
    ...figures,
    ...judge(fixture.receivers, fixture.poster.matching),
    reads_unbilled: Math.max(0, book.reads - books.reads_billed),
    books,
  }
}

/** Time until a daemon exits after an injected failure, in ms; null: it continues. */
function endOf(daemon: DaemonProcess): Promise<number | null> {
  const began = performance.now()
  return Promise.race([
    daemon.ended.then(() => performance.now() - began),
    Bun.sleep(END_MAX_MS).then(() => null),
  ])
}

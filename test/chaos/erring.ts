import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type DaemonProcess, startProcess } from '../support/process.ts'
import { type Books, readBooks, settled } from './books.ts'
import { countLost, nothingYet, useUntilGone } from './ledgers.ts'
import { startStage } from './stage.ts'
import { failAt, injected } from './tracer.ts'
import { judge } from './witness.ts'

/** The nth of a call that fails, and how. */
export type Fault = { call: 'pwrite64' | 'fsync'; error: 'EIO' | 'ENOSPC'; n: number }

export type Erring = {
  faults: readonly Fault[]
  seed: number
  items_per_s: number
  told?: (line: string) => void
}

export type Erred = {
  cases: number
  /** Those in which the call was made so often, and failed. */
  struck: number
  /** Of these, those in which the daemon had not begun to listen yet. */
  at_start: number
  /** Those after which the daemon ended by itself, to be started again, and the longest that took, ms. */
  ended: number
  longest_end_ms: number
  /** Log lines that tell of a broken disk, and no end within a second. */
  hung: number
  acknowledged: number
  /** Said yes to and not there after the next start. */
  writes_lost: number
  matches: number
  /** Over all receivers. */
  lost: number
  under_two_ids: number
  unstable_bodies: number
  reads_unbilled: number
  books: Books
}

const END_MAX_MS = 1000
const WEBHOOKS_A_LIFE = 60
const BROKEN = /SQLITE_IOERR|storage\.lost/
/** What is written to the log comes here a little later. */
const LOG_MS = 100

/** Lets the disk fail once in each of many lives, and looks what is there after the next start on a good one. */
export async function failTheDisk({ faults, seed, items_per_s, told }: Erring): Promise<Erred> {
  await using stage = await startStage({ seed, places: ['hay0', 'hay1'], items_per_s })
  const book = nothingYet()
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
  // What earlier cases have noted would keep a later one from starting.
  const forget = () => rm(join(stage.data, 'storage-errors.json'), { force: true })
  let daemon = await startProcess(stage.config)
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await stage.begin(daemon)
  for (const [index, { call, error, n }] of faults.entries()) {
    await daemon.end('SIGTERM')
    await forget()
    let listened = false
    const struck = await injected(stage.config, failAt(call, error, n), {
      async meanwhile(it) {
        listened = true
        await useUntilGone(stage, it, book, { webhooks_max: WEBHOOKS_A_LIFE })
      },
      async afterwards(it) {
        const took = await endOf(it)
        if (took !== null) {
          figures.ended++
          figures.longest_end_ms = Math.max(figures.longest_end_ms, took)
        } else if (it.lines.some((line) => BROKEN.test(line))) {
          figures.hung++
          told?.(`still there after ${error} at ${call} ${n}`)
        }
      },
    })
    if (struck) figures.struck++
    if (struck && !listened) figures.at_start++
    await forget()
    daemon = await startProcess(stage.config)
    figures.acknowledged += book.webhooks.size
    const { webhooks } = await countLost(stage, daemon, book)
    figures.writes_lost += webhooks
    if (webhooks > 0) told?.(`lost ${webhooks} after ${error} at ${call} ${n}`)
    if (index % 50 === 49) told?.(`${index + 1} cases: ${JSON.stringify(figures)}`)
  }
  await stage.poster.stop()
  const truth = stage.poster.wanted.map(({ name }) => name)
  await settled(stage.data, truth.length * stage.witnesses.length)
  await daemon.end('SIGTERM')
  const books = readBooks(stage.data)
  const verdicts = stage.witnesses.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    ...figures,
    matches: truth.length,
    lost: sum('lost'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    reads_unbilled: Math.max(0, book.reads - books.reads_billed),
    books,
  }
}

/** How long a daemon took to end after what has just struck it; null when it goes on. */
async function endOf(daemon: DaemonProcess): Promise<number | null> {
  const began = performance.now()
  await Promise.race([daemon.ended, Bun.sleep(LOG_MS)])
  const broken = daemon.lines.some((line) => BROKEN.test(line))
  const left = broken ? END_MAX_MS - LOG_MS : 0
  return Promise.race([
    daemon.ended.then(() => performance.now() - began),
    Bun.sleep(left).then(() => null),
  ])
}

/**
 * Preloaded into the daemon. Records for how long its main thread runs between two turns of the event loop: that is what a request
 * waits for the daemon itself, on a busy machine too. Appends the longest of each second, in ms, to the file that FORUMD_TURNS names.
 */
import { appendFileSync, readFileSync } from 'node:fs'

const file = process.env['FORUMD_TURNS'] ?? ''
const EVERY_MS = 5

/** Time that this thread has run, ms: the first field of schedstat of proc(5). */
const ran = () =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

if (file !== '') {
  let before = ran()
  let longest = 0
  let since = Date.now()
  setInterval(() => {
    const now = ran()
    longest = Math.max(longest, now - before)
    before = now
    if (Date.now() - since < 1000) return
    appendFileSync(file, `${new Date().toISOString()} ${longest.toFixed(1)}\n`)
    since = Date.now()
    longest = 0
  }, EVERY_MS).unref()
}

/** The longest turns of the seconds of a run, in ms. */
export const readTurns = (path: string): number[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.split(' ')[1]))

/**
 * Preloaded into the daemon. Records how late a timer fires, which is how long the event loop was blocked. On
 * SIGUSR2 it writes the values recorded since the previous signal to the file that FORUMD_STALLS names.
 */
import { renameSync, writeFileSync } from 'node:fs'

const file = process.env['FORUMD_STALLS'] ?? ''
const EVERY_MS = 5

if (file !== '') {
  let lateness_ms: number[] = []
  let before = performance.now()
  setInterval(() => {
    const now = performance.now()
    lateness_ms.push(Math.max(0, now - before - EVERY_MS))
    before = now
  }, EVERY_MS).unref()
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, JSON.stringify(lateness_ms))
    renameSync(`${file}.new`, file)
    lateness_ms = []
    before = performance.now()
  })
}

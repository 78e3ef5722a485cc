import { renameSync, writeFileSync } from 'node:fs'

/** Paths of libfaketime for programs with threads: the other one reads its file without a lock, and then shows the real time. */
const LIBRARIES = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
  '/usr/local/lib/faketime/libfaketimeMT.so.1',
]

/** The path of libfaketime, or null if it is not installed. */
export async function fakeTimeLibrary(): Promise<string | null> {
  for (const path of LIBRARIES) if (await Bun.file(path).exists()) return path
  return null
}

/**
 * A clock that is ahead of the machine's by whole seconds. Processes with `env()` read the offset from a file whenever they read the
 * clock, monotonic clocks included: to them an advance is as if they had been stopped for that long.
 */
export class SimulatedClock {
  readonly #file: string
  readonly #fake_time: string
  #offset_s = 0

  constructor(file: string, fake_time: string) {
    this.#file = file
    this.#fake_time = fake_time
    this.set(0)
  }

  now(): number {
    return Date.now() + this.#offset_s * 1000
  }

  get offset_s(): number {
    return this.#offset_s
  }

  advance(seconds: number): void {
    this.set(this.#offset_s + Math.round(seconds))
  }

  set(offset_s: number): void {
    this.#offset_s = offset_s
    writeFileSync(`${this.#file}.new`, `+${offset_s}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }

  env(): Record<string, string> {
    return {
      LD_PRELOAD: this.#fake_time,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
    }
  }
}

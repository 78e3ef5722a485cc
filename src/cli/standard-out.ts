import { fstatSync, writeSync } from 'node:fs'

import { errorCode } from '../core/error-code.ts'

const STANDARD_OUT = 1

/** Standard output of this process. */
export type StandardOut = {
  write: (text: string) => void
  /** Takes text of a log: that it cannot be written keeps nobody from work. */
  log: (text: string) => void
  /** Waits for all that was written: what kept anything but a log from getting there, null when nothing did. */
  end: () => Promise<Error | null>
}

/**
 * Opens standard output, whatever it leads to. A file is written to at once and anew each time, so that a disk that was
 * full for a while costs the lines of that while; a stream that has failed once takes nothing more. A reader that has gone
 * (`| head`) has what it wanted: that is no fault.
 */
export const openStandardOut = (stream: NodeJS.WriteStream): StandardOut =>
  isFile(STANDARD_OUT) ? toFile(STANDARD_OUT) : toStream(stream)

function toFile(fd: number): StandardOut {
  let failed: Error | null = null
  return {
    write(text) {
      failed ??= tryWrite(fd, text)
    },
    log: (text) => void tryWrite(fd, text),
    end: () => Promise.resolve(failed),
  }
}

/** Writes all of it, for a file may take less at once than it was given; answers what kept it from that. */
function tryWrite(fd: number, text: string): Error | null {
  const bytes = Buffer.from(text)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function toStream(stream: NodeJS.WriteStream): StandardOut {
  let failed: Error | null = null
  let only_log = true
  const { promise: over, resolve } = Promise.withResolvers<void>()
  stream.on('error', (error) => {
    if (errorCode(error) !== 'EPIPE') failed ??= error
    resolve()
  })
  return {
    write(text) {
      only_log = false
      stream.write(text)
    },
    log: (text) => void stream.write(text),
    async end() {
      // A pipe takes its time. Only its end waits for all that was written before; a write of nothing does not.
      stream.end(resolve)
      await over
      return only_log ? null : failed
    },
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

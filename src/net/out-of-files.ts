import { closeSync, openSync } from 'node:fs'

import { errorCode } from '../core/base/errors.ts'

/** This process (EMFILE) or the machine (ENFILE) has no file descriptor left. */
const OUT_OF_FILES = new Set(['EMFILE', 'ENFILE'])

export const saysOutOfFiles = (code: string): boolean => OUT_OF_FILES.has(code)

/**
 * True if this process can open no more files: the resolver then reports that the name does not
 * exist.
 */
export function isOutOfFiles(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return false
  } catch (error) {
    return saysOutOfFiles(errorCode(error))
  }
}

/** True if a request failed by this; `left`: some of it may have reached the other side. */
export const hasNoFiles = (error: unknown, left: boolean): boolean =>
  saysOutOfFiles(errorCode(error)) || (!left && isOutOfFiles())

import { existsSync, readFileSync } from 'node:fs'

// SQLite reads its log up to the first frame whose checksum is wrong and forgets the rest, which is right for the end
// of it: what a power cut tore there was never acknowledged. In the middle it is not: there it means that the disk has
// changed what it was given, and to go on would undo commits without a word.

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Its last bit tells in which byte order the sums are made; every machine we run on is of this one. */
const MAGIC = 0x377f0682
/** Of every database that we make, should the log itself not tell. */
const PAGE_BYTES = 4096

/** Running sums of 32-bit words, as SQLite makes them. */
type Sums = readonly [number, number]

/** Where a log is broken: in which frame, counted from 0, and how many commits follow from there on. */
type Break = { frame: number; commits: number }

/**
 * Whether commits stand behind a damaged place in a write-ahead log, that is, would be lost if it were opened. Each
 * commit is on the disk before the next is written, so a torn end holds one at most: two or more are damage. A log that
 * somebody writes at this moment may look broken, so it counts only when it looks so twice.
 */
export function isWalBroken(path: string): boolean {
  const first = findBreak(path)
  if (first === null) return false
  const again = findBreak(path)
  return again?.frame === first.frame && again.commits === first.commits
}

function findBreak(path: string): Break | null {
  const log = readLog(path)
  if (log === null) return null
  const { frame: broken, sums } = endOfWhole(log)
  if (broken >= log.frames) return null
  let commits = log.isCommit(broken) ? 1 : 0
  // From the damaged frame on, each that follows truly from the one before it was written after that one. Of the
  // damaged one it may be the sums themselves that have changed.
  let before = [log.storedIn(broken), ...(sums === null ? [] : [log.sumsAfter(broken, sums)])]
  for (let frame = broken + 1; frame < log.frames; frame++) {
    const stored = log.storedIn(frame)
    if (!log.isOurs(frame) || !before.some((it) => isSame(log.sumsAfter(frame, it), stored))) break
    if (log.isCommit(frame)) commits += 1
    before = [stored]
  }
  return commits >= 2 ? { frame: broken, commits } : null
}

/** The first frame that SQLite would not read, and the sums before it. */
function endOfWhole(log: Log): { frame: number; sums: Sums | null } {
  let sums = log.header
  let frame = 0
  while (sums !== null && frame < log.frames && log.isOurs(frame)) {
    const after = log.sumsAfter(frame, sums)
    if (!isSame(after, log.storedIn(frame))) break
    sums = after
    frame += 1
  }
  return { frame, sums }
}

type Log = {
  frames: number
  /** The sums of its header; null when they are not what they should be. */
  header: Sums | null
  /** Whether a frame is of this round; what an earlier one has left behind has other salts. */
  isOurs(frame: number): boolean
  isCommit(frame: number): boolean
  storedIn(frame: number): Sums
  /** The sums that a frame has to have after these. */
  sumsAfter(frame: number, sums: Sums): Sums
}

function readLog(path: string): Log | null {
  if (!existsSync(path)) return null
  const { buffer, byteOffset, length } = readFileSync(path)
  if (length < HEADER_BYTES + FRAME_HEADER_BYTES) return null
  const log = new DataView(buffer, byteOffset, length)
  const words = new Int32Array(buffer.slice(byteOffset, byteOffset + (length & ~3)))
  const storedAt = (at: number): Sums => [log.getInt32(at), log.getInt32(at + 4)]
  const header = sumOf(words, [0, 0], 0, 24)
  const holds = log.getUint32(0) === MAGIC && isSame(header, storedAt(24))
  const page_bytes = holds ? log.getUint32(8) : PAGE_BYTES
  const at = (frame: number) => HEADER_BYTES + frame * (FRAME_HEADER_BYTES + page_bytes)
  const salts = holds ? storedAt(16) : storedAt(HEADER_BYTES + 8)
  return {
    frames: Math.floor((length - HEADER_BYTES) / (FRAME_HEADER_BYTES + page_bytes)),
    header: holds ? header : null,
    isOurs: (frame) => isSame(storedAt(at(frame) + 8), salts),
    isCommit: (frame) => log.getUint32(at(frame) + 4) > 0,
    storedIn: (frame) => storedAt(at(frame) + 16),
    sumsAfter(frame, sums) {
      const of_header = sumOf(words, sums, at(frame), 8)
      return sumOf(words, of_header, at(frame) + FRAME_HEADER_BYTES, page_bytes)
    },
  }
}

/** Adds so many bytes of words to the sums. */
function sumOf(words: Int32Array, [one, other]: Sums, from: number, length: number): Sums {
  let a = one
  let b = other
  for (let i = from >> 2; i < (from + length) >> 2; i += 2) {
    a = (a + (words[i] ?? 0) + b) | 0
    b = (b + (words[i + 1] ?? 0) + a) | 0
  }
  return [a, b]
}

const isSame = ([one, other]: Sums, [a, b]: Sums): boolean => one === a && other === b

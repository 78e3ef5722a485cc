import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

import {
  createFrames,
  END_BYTES,
  FRAME_MAX,
  HEADER_MAX,
  LENGTH_BYTES,
  type MoveHeader,
  readHeader,
  UnusableFile,
} from '../../core/moving/file.ts'

/** An open file that moves a customer. */
export type MoveFile = Disposable & {
  header: MoveHeader
  bytes: number
  /**
   * Compares all bytes with the digest at the end.
   * @throws {UnusableFile}
   */
  verify(): void
  /**
   * The lines of the content, each as parsed JSON.
   * @throws {UnusableFile} the key is another, or the file was changed
   */
  lines(key: Uint8Array): Generator
}

const BLOCK = 1024 * 1024
const CUT = 'the file is cut short: copy it again'

/**
 * Opens a file.
 * @throws {UnusableFile} it is no file of this kind, or cut short
 */
export function openMoveFile(path: string): MoveFile {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    const start = readAt(fd, 0, Math.min(HEADER_MAX, size))
    const end = start.indexOf(0x0a)
    const header = end === -1 ? null : readHeader(start.subarray(0, end).toString())
    if (header === null) throw new UnusableFile(`${path} was not written by forumd customer export`)
    const first = Buffer.from(start.subarray(0, end + 1))
    return {
      header,
      bytes: size,
      verify: () => verify(fd, size, first.length),
      lines: (key) => lines(fd, { size, first, key }),
      [Symbol.dispose]: () => closeSync(fd),
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let from = 0; from < length;) {
    const count = readSync(fd, bytes, from, length - from, position + from)
    if (count === 0) throw new UnusableFile(CUT)
    from += count
  }
  return bytes
}

function verify(fd: number, size: number, header_bytes: number): void {
  if (size < header_bytes + END_BYTES) throw new UnusableFile(CUT)
  const digest = createHash('sha256')
  const until = size - (END_BYTES - LENGTH_BYTES)
  for (let at = 0; at < until; at += BLOCK)
    digest.update(readAt(fd, at, Math.min(BLOCK, until - at)))
  if (!digest.digest().equals(readAt(fd, until, size - until)))
    throw new UnusableFile(
      'the file is damaged or cut short: its digest does not match. Copy it again, or export it again',
    )
}

function* lines(
  fd: number,
  { size, first, key }: { size: number; first: Buffer; key: Uint8Array },
): Generator {
  const frames = createFrames(key, first)
  let at = first.length
  for (;;) {
    const length = readAt(fd, at, LENGTH_BYTES).readUInt32BE()
    if (length === 0 || length > FRAME_MAX) throw new UnusableFile(CUT)
    const sealed = readAt(fd, at + LENGTH_BYTES, length)
    at += LENGTH_BYTES + length
    const last = at === size - END_BYTES
    const text = Bun.zstdDecompressSync(frames.open(sealed, last))
    for (const line of new TextDecoder().decode(text).split('\n'))
      if (line !== '') yield JSON.parse(line)
    if (last) return
  }
}

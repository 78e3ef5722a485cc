import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Length of the parts of a text that are looked up, and the distance between two of them. */
const GRAM = 12
const LENGTH = 2 * GRAM
const BASE = 0x01_00_01_93
/** BASE to the power of GRAM, as 32 bits. */
const LEAVING = Array.from({ length: GRAM }).reduce((power: number) => Math.imul(power, BASE), 1)
const PART_BYTES = 4 * 1024 * 1024
const OVERLAP_BYTES = 8192

/** A part of a text in a file. */
export type Hit = { file: string; at: number; bytes: string; text: string }

/**
 * Searches the raw bytes of every file below a folder for parts of texts of at least 24 bytes. Each
 * holds a whole part of {@link GRAM} bytes at a multiple of it, and those are looked up at every position of every file.
 * Returns one hit of each file and text. A database of this process must be closed: the search drops its locks.
 */
export function findParts(folder: string, texts: readonly string[]): Hit[] {
  const grams = new Map<number, [text: Buffer, at: number][]>()
  const mayOccur = new Uint8Array(1 << 24)
  for (const text of texts.map((it) => Buffer.from(it)))
    for (let at = 0; at + GRAM <= text.length; at += GRAM) {
      const hash = hashOf(text, at)
      mayOccur[hash >>> 8] = 1
      grams.set(hash, [...(grams.get(hash) ?? []), [text, at]])
    }
  return filesBelow(folder).flatMap((file) => {
    const found = new Map<Buffer, Hit>()
    for (const { bytes, from } of partsOf(join(folder, file))) {
      let hash = hashOf(bytes, 0)
      for (let at = 0; at + GRAM <= bytes.length; at += 1) {
        if (at > 0)
          hash =
            (Math.imul(hash, BASE) +
              (bytes[at + GRAM - 1] ?? 0) -
              Math.imul(bytes[at - 1] ?? 0, LEAVING)) |
            0
        if (mayOccur[hash >>> 8] !== 1) continue
        for (const [text, place] of grams.get(hash) ?? []) {
          const hit = common(bytes, at, text, place)
          if (hit.length >= LENGTH)
            found.set(text, {
              file,
              at: from + at,
              bytes: hit.toString('latin1'),
              text: text.toString(),
            })
        }
      }
    }
    return [...found.values()]
  })
}

function hashOf(bytes: Buffer, at: number): number {
  let hash = 0
  for (let n = 0; n < GRAM; n += 1) hash = (Math.imul(hash, BASE) + (bytes[at + n] ?? 0)) | 0
  return hash
}

/** The longest equal part around two positions. */
function common(bytes: Buffer, at: number, text: Buffer, place: number): Buffer {
  let before = 0
  while (before < at && before < place && bytes[at - before - 1] === text[place - before - 1])
    before += 1
  let after = 0
  while (
    at + after < bytes.length &&
    place + after < text.length &&
    bytes[at + after] === text[place + after]
  )
    after += 1
  return bytes.subarray(at - before, at + after)
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => relative(folder, join(it.parentPath, it.name)))
    .toSorted()

/** A file in parts that overlap by more than any text. */
function* partsOf(path: string): Generator<{ bytes: Buffer; from: number }> {
  const part = Buffer.alloc(PART_BYTES + OVERLAP_BYTES)
  const fd = openSync(path, 'r')
  try {
    for (let from = 0; ; from += PART_BYTES) {
      const got = readSync(fd, part, 0, part.length, from)
      yield { bytes: part.subarray(0, got), from }
      if (got < part.length) return
    }
  } finally {
    closeSync(fd)
  }
}

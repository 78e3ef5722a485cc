import { closeSync, openSync, readSync } from 'node:fs'

/** System requirements of an executable for macOS. `needed`: paths of the required libraries. */
export type MachO = {
  machine: 'x86-64' | 'aarch64'
  needed: readonly string[]
  /** Oldest macOS, such as `13.0`. */
  macos: string
}

// mach-o/loader.h and mach/machine.h of Darwin.
const MAGIC_64 = 0xfeedfacf
const EXECUTE = 2
const MACHINES: Readonly<Record<number, MachO['machine']>> = {
  0x1000007: 'x86-64',
  0x100000c: 'aarch64',
}
const HEADER_BYTES = 32
const SEGMENT_64 = 0x19
const LOAD_DYLIB = 0xc
const CODE_SIGNATURE = 0x1d
const BUILD_VERSION = 0x32
const COMMANDS_MAX = 200

/** Segment in which Bun stores its bundle. */
const BUNDLE = '__BUN'
const BUNDLE_BYTES = 1_000_000

/**
 * Reads the requirements of an executable. Apple's processors run signed programs only, so it has to have at least the
 * signature without an identity that the bundler makes.
 *
 * @throws {Error} if it is not a 64-bit program, contains no bundle or has no signature
 */
export function readMachO(file: string): MachO {
  const bytes = Buffer.alloc(65_536)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(handle)
  }
  return machOIn(bytes)
}

/** Parses the header and the load commands, which are the beginning of the file. */
export function machOIn(bytes: Buffer): MachO {
  if (bytes.readUInt32LE(0) !== MAGIC_64 || bytes.readUInt32LE(12) !== EXECUTE)
    throw new Error('it is not a 64-bit program')
  const machine = MACHINES[bytes.readUInt32LE(4)]
  if (machine === undefined) throw new Error('it is for a machine without a release')
  const count = bytes.readUInt32LE(16)
  if (count > COMMANDS_MAX) throw new Error(`it has ${count} load commands`)
  const needed: string[] = []
  let [macos, bundle, is_signed] = ['', 0, false]
  for (let n = 0, at = HEADER_BYTES; n < count; n++, at += bytes.readUInt32LE(at + 4)) {
    const command = bytes.readUInt32LE(at) & 0xffff
    if (command === LOAD_DYLIB) needed.push(textAt(bytes, at + bytes.readUInt32LE(at + 8)))
    if (command === CODE_SIGNATURE) is_signed = true
    if (command === BUILD_VERSION) macos = versionAt(bytes, at + 12)
    // Name, then address and size in memory, offset and size in the file.
    if (command === SEGMENT_64 && textAt(bytes, at + 8) === BUNDLE)
      bundle = Number(bytes.readBigUInt64LE(at + 48))
  }
  if (bundle < BUNDLE_BYTES) throw new Error(`its bundle has ${bundle} bytes: it is a bare runtime`)
  if (!is_signed) throw new Error('it has no signature')
  return { machine, needed: needed.toSorted(), macos }
}

const textAt = (bytes: Buffer, at: number) =>
  bytes.subarray(at, bytes.indexOf(0, at)).toString('latin1')

/** A version, packed as 16, 8 and 8 bits. */
const versionAt = (bytes: Buffer, at: number) =>
  `${bytes.readUInt16LE(at + 2)}.${bytes.readUInt8(at + 1)}`

/** Differences between an executable and its target; empty if there are none. */
export function machOFaults(found: MachO, wanted: MachO): string[] {
  const summary = (it: MachO) => ({ ...it, needed: it.needed.toSorted().join(' ') })
  const [was, should] = [summary(found), summary(wanted)]
  return (['machine', 'needed', 'macos'] as const)
    .filter((key) => was[key] !== should[key])
    .map((key) => `${key} is ${was[key] || 'none'}, expected ${should[key] || 'none'}`)
}

import { expect, test } from 'bun:test'

import { type MachO, machOFaults, machOIn } from '../../../../scripts/release/macho.ts'

type Parts = {
  magic?: number
  cpu?: number
  kind?: number
  bundle?: number
  is_signed?: boolean
  libraries?: readonly string[]
  version?: number
}

const LIBRARIES = ['/usr/lib/libSystem.B.dylib', '/usr/lib/libc++.1.dylib']

const command = (type: number, size: number, fill: (it: Buffer) => void) => {
  const bytes = Buffer.alloc(size)
  bytes.writeUInt32LE(type, 0)
  bytes.writeUInt32LE(size, 4)
  fill(bytes)
  return bytes
}

/** The beginning of a program for macOS, as mach-o/loader.h describes it. */
function program(parts: Parts = {}): Buffer {
  const { magic = 0xfeedfacf, cpu = 0x100000c, kind = 2, bundle = 20_000_000 } = parts
  const { is_signed = true, libraries = LIBRARIES, version = 0x000d0000 } = parts
  const segment = (name: string, size: number) =>
    command(0x19, 72, (it) => {
      it.write(name, 8)
      it.writeBigUInt64LE(BigInt(size), 48)
    })
  const commands = [
    segment('__TEXT', 50_000_000),
    segment('__BUN', bundle),
    ...libraries.map((name) =>
      command(0xc, 64, (it) => {
        it.writeUInt32LE(24, 8)
        it.write(name, 24)
      }),
    ),
    command(0x32, 24, (it) => it.writeUInt32LE(version, 12)),
    ...(is_signed ? [command(0x1d, 16, () => {})] : []),
  ]
  const header = Buffer.alloc(32)
  for (const [at, value] of [
    [0, magic],
    [4, cpu],
    [12, kind],
    [16, commands.length],
  ] as const)
    header.writeUInt32LE(value, at)
  return Buffer.concat([header, ...commands, Buffer.alloc(64)])
}

const WANTED: MachO = { machine: 'aarch64', needed: LIBRARIES, macos: '13.0' }

test('machine, libraries and oldest system are read', () => {
  expect(machOIn(program())).toEqual(WANTED)
})

test.each([
  [{ magic: 0xfeedface }, 'it is not a 64-bit program'],
  [{ kind: 6 }, 'it is not a 64-bit program'],
  [{ cpu: 7 }, 'it is for a machine without a release'],
  [{ bundle: 16_384 }, 'its bundle has 16384 bytes: it is a bare runtime'],
  [{ is_signed: false }, 'it has no signature'],
])('a program with %j is refused', (parts, reason) => {
  expect(() => machOIn(program(parts))).toThrow(reason)
})

test.each([
  [{ cpu: 0x1000007 }, 'machine is x86-64, expected aarch64'],
  [{ version: 0x000e0400 }, 'macos is 14.4, expected 13.0'],
  [{ libraries: ['/opt/x.dylib'] }, `needed is /opt/x.dylib, expected ${LIBRARIES.join(' ')}`],
])('a program with %j does not match its target', (parts, fault) => {
  expect(machOFaults(machOIn(program(parts)), WANTED)).toEqual([fault])
})

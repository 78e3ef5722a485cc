import { describe, expect, test } from 'bun:test'

import { elfFaults, elfIn } from '../../../../scripts/release/elf.ts'
import { LINUX, TARGETS } from '../../../../scripts/release/targets.ts'

/** The part of readelf's output that is parsed. */
function printed({
  machine = 'Advanced Micro Devices X86-64',
  type = 'EXEC (Executable file)',
  bundle = '1ac8ca4',
  interpreter = '/lib64/ld-linux-x86-64.so.2',
  libraries = ['libc.so.6', 'ld-linux-x86-64.so.2', 'libpthread.so.0', 'libdl.so.2', 'libm.so.6'],
  glibc = ['2.2.5', '2.17', '2.9'],
} = {}): string {
  return [
    '  Class:                             ELF64',
    `  Type:                              ${type}`,
    `  Machine:                           ${machine}`,
    '  [14] .bun_builtins     PROGBITS        0000000001578a00 1378a00 295c27 00   A  0   0 16',
    `  [26] .bun              PROGBITS        0000000006a30000 6810000 ${bundle} 00  WA  0   0  8`,
    `      [Requesting program interpreter: ${interpreter}]`,
    ...libraries.map((it) => ` 0x0000000000000001 (NEEDED)             Shared library: [${it}]`),
    ...glibc.map((it) => `  0x0010:   Name: GLIBC_${it}  Flags: none  Version: 2`),
  ].join('\n')
}

const [X64] = LINUX
const faults = (change: Parameters<typeof printed>[0]) =>
  elfFaults(elfIn(printed(change)), X64?.elf ?? elfIn(''))

describe('an executable for x64 and glibc', () => {
  test('passes when machine, loader, libraries and glibc are as declared', () => {
    expect(faults({})).toEqual([])
  })

  test.each([
    [{ machine: 'AArch64' }, 'machine is aarch64, expected x86-64'],
    [
      { interpreter: '/lib/ld-musl-x86_64.so.1' },
      'interpreter is /lib/ld-musl-x86_64.so.1, expected /lib64/ld-linux-x86-64.so.2',
    ],
    [
      { libraries: ['libc.so.6', 'libssl.so.3'] },
      'needed is libc.so.6 libssl.so.3, expected ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0',
    ],
    [{ glibc: ['2.17', '2.38', '2.4'] }, 'glibc is 2.38, expected 2.17'],
    [{ glibc: [] }, 'glibc is none, expected 2.17'],
  ])('with %j is not', (change, fault) => {
    expect(faults(change)).toEqual([fault])
  })
})

test.each([
  [{ bundle: '000008' }, 'its bundle has 8 bytes: it is a bare runtime'],
  [{ type: 'REL (Relocatable file)' }, 'it is ELF64 REL, not a 64-bit program'],
  [{ machine: 'RISC-V' }, 'it is for a machine without a release'],
])('readelf output with %j is refused', (change, reason) => {
  expect(() => elfIn(printed(change))).toThrow(reason)
})

test('each executable has a name, a loader and a runtime of its own', () => {
  for (const key of ['name', 'target', 'runtime'] as const)
    expect(new Set(TARGETS.map((it) => it[key])).size).toBe(TARGETS.length)
  expect(new Set(LINUX.map(({ elf }) => elf.interpreter)).size).toBe(LINUX.length)
})

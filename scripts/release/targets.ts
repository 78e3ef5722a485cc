import type { Elf } from './elf.ts'
import type { MachO } from './macho.ts'

/** An executable of a release: its name, runtime and system requirements. */
export type Target = LinuxTarget | MacTarget

type Common = {
  target: Bun.Build.CompileTarget
  /** npm package of its runtime, as in scripts/release/package-lock.json. */
  runtime: string
}

export type LinuxTarget = Common & {
  name: 'linux-x64' | 'linux-arm64' | 'linux-x64-musl' | 'linux-arm64-musl'
  elf: Elf
  /** Architecture of its Debian package; absent if there is none. */
  deb?: 'amd64' | 'arm64'
}

export type MacTarget = Common & { name: 'macos-x64' | 'macos-arm64'; macho: MachO }

/** Oldest glibc that the executables run with. */
export const GLIBC_LEAST = '2.17'

/** Libraries that a glibc program needs; all others are linked statically. */
const GLIBC = ['libc.so.6', 'libdl.so.2', 'libm.so.6', 'libpthread.so.0']

/** Libraries of the system that a program for macOS needs. */
const MACOS = [
  '/usr/lib/libSystem.B.dylib',
  '/usr/lib/libc++.1.dylib',
  '/usr/lib/libicucore.A.dylib',
  '/usr/lib/libresolv.9.dylib',
]

/** Oldest macOS that the executables run with. */
export const MACOS_LEAST = '13.0'

/**
 * The released targets for Linux. There is no build for older x64 processors: for this version of Bun the packages
 * bun-linux-x64 and bun-linux-x64-baseline contain the same bytes.
 */
export const LINUX: readonly LinuxTarget[] = [
  {
    name: 'linux-x64',
    target: 'bun-linux-x64',
    runtime: '@oven/bun-linux-x64',
    elf: {
      machine: 'x86-64',
      interpreter: '/lib64/ld-linux-x86-64.so.2',
      needed: ['ld-linux-x86-64.so.2', ...GLIBC],
      glibc: GLIBC_LEAST,
    },
    deb: 'amd64',
  },
  {
    name: 'linux-arm64',
    target: 'bun-linux-arm64',
    runtime: '@oven/bun-linux-aarch64',
    elf: {
      machine: 'aarch64',
      interpreter: '/lib/ld-linux-aarch64.so.1',
      needed: ['ld-linux-aarch64.so.1', ...GLIBC],
      glibc: GLIBC_LEAST,
    },
    deb: 'arm64',
  },
  {
    name: 'linux-x64-musl',
    target: 'bun-linux-x64-musl',
    runtime: '@oven/bun-linux-x64-musl',
    elf: {
      machine: 'x86-64',
      interpreter: '/lib/ld-musl-x86_64.so.1',
      needed: ['libc.musl-x86_64.so.1', 'libstdc++.so.6'],
      glibc: '',
    },
  },
  {
    name: 'linux-arm64-musl',
    target: 'bun-linux-arm64-musl',
    runtime: '@oven/bun-linux-aarch64-musl',
    elf: {
      machine: 'aarch64',
      interpreter: '/lib/ld-musl-aarch64.so.1',
      needed: ['libc.musl-aarch64.so.1', 'libstdc++.so.6'],
      glibc: '',
    },
  },
]

/** All released targets. Those for macOS run on no machine that builds a release. */
export const TARGETS: readonly Target[] = [
  ...LINUX,
  {
    name: 'macos-x64',
    target: 'bun-darwin-x64',
    runtime: '@oven/bun-darwin-x64',
    macho: { machine: 'x86-64', needed: MACOS, macos: MACOS_LEAST },
  },
  {
    name: 'macos-arm64',
    target: 'bun-darwin-arm64',
    runtime: '@oven/bun-darwin-aarch64',
    macho: { machine: 'aarch64', needed: MACOS, macos: MACOS_LEAST },
  },
]

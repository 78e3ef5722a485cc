import type { Elf } from './elf.ts'

/** One of the executables of a release: what it is called, what it is made of, and what the system finds in it. */
export type Target = {
  name: 'linux-x64' | 'linux-arm64' | 'linux-x64-musl' | 'linux-arm64-musl'
  target: Bun.Build.CompileTarget
  /** The npm package of its runtime, as scripts/release/package-lock.json holds it. */
  runtime: string
  elf: Elf
  /** The architecture of its Debian package; without one there is none. */
  deb?: 'amd64' | 'arm64'
}

/** The oldest glibc that the executables run with. */
export const GLIBC_LEAST = '2.17'

/** What a program for glibc needs; the rest is in it. */
const GLIBC = ['libc.so.6', 'libdl.so.2', 'libm.so.6', 'libpthread.so.0']

/**
 * What is released. There is no build for older x64 processors: of this version of Bun the packages bun-linux-x64 and
 * bun-linux-x64-baseline hold the same bytes.
 */
export const TARGETS: readonly Target[] = [
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

import { existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { runCommand } from './run-command.ts'

/**
 * Environment to run a musl executable on this machine, with a description; or the reason why it cannot run.
 */
export type Musl = { env: Record<string, string>; how: string } | { why: string }

/** Per machine: names of musl's libc and of glibc's loader, in whose place the shim is installed. */
const NAMES = {
  x64: {
    libc: 'libc.musl-x86_64.so.1',
    loader: 'ld-linux-x86-64.so.2',
    cc: 'x86_64-linux-gnu-gcc',
  },
  arm64: {
    libc: 'libc.musl-aarch64.so.1',
    loader: 'ld-linux-aarch64.so.1',
    cc: 'aarch64-linux-gnu-gcc',
  },
} as const

/**
 * A musl system needs nothing for its own machine. Another system uses musl's libc (Debian's package musl for
 * that machine), which is the library under test, and a libstdc++ with a shim, because Debian has none for
 * musl.
 */
export async function muslHere(
  arch: keyof typeof NAMES,
  interpreter: string,
  work: string,
): Promise<Musl> {
  if (!existsSync(interpreter)) return { why: `${interpreter} is missing` }
  if (arch === process.arch && existsSync('/etc/alpine-release'))
    return { env: {}, how: 'on this machine' }
  const { libc, loader, cc } = NAMES[arch]
  if (Bun.which(cc) === null) return { why: `no libstdc++ for musl, and no ${cc} to build a shim` }
  const folder = join(work, 'musl')
  mkdirSync(folder)
  const link = (to: string, name: string) => symlinkSync(realpathSync(to), join(folder, name))
  link(interpreter, libc)
  for (const name of ['libstdc++.so.6', 'libgcc_s.so.1'])
    link((await runCommand([cc, `-print-file-name=${name}`])).trim(), name)
  const shim = join(folder, loader)
  await runCommand([
    cc,
    '-shared',
    '-fPIC',
    '-nostdlib',
    '-o',
    shim,
    join(import.meta.dir, 'musl-shim.c'),
  ])
  return {
    env: { LD_LIBRARY_PATH: folder, LD_PRELOAD: shim },
    how: 'on musl’s libc, with glibc’s libstdc++ through a shim',
  }
}

import { existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { runCommand } from './run-command.ts'

/** What an executable for musl is given to run here, and in words what that is; or why it cannot be run. */
export type Musl = { env: Record<string, string>; how: string } | { why: string }

/** By machine: what musl's libc is called, and glibc's loader, in whose place the shim stands. */
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
 * On a system of musl's nothing is needed for its own machine. On another one it takes musl's own libc (Debian's package
 * musl, of that machine), which is what is to be tried, and a libstdc++ over a shim, for Debian has none for musl.
 */
export async function muslHere(
  arch: keyof typeof NAMES,
  interpreter: string,
  work: string,
): Promise<Musl> {
  if (!existsSync(interpreter)) return { why: `${interpreter} is not here` }
  if (arch === process.arch && existsSync('/etc/alpine-release'))
    return { env: {}, how: 'on this machine' }
  const { libc, loader, cc } = NAMES[arch]
  if (Bun.which(cc) === null)
    return { why: `no libstdc++ for musl is here, and no ${cc} for a shim` }
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
    how: 'on musl’s libc, with a libstdc++ that was built for glibc over a shim',
  }
}

import { existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { ask } from './ask.ts'

/** How an executable for musl is run here: with which libraries, or why it cannot be. */
export type Musl = { library_path: string | null; how: string } | { why: string }

/** The name that Debian's libstdc++ has for glibc's loader, in whose place the shim stands. */
const GLIBC_LOADER = 'ld-linux-x86-64.so.2'

/**
 * On a system of musl's nothing is needed. On another one it takes musl's own libc (Debian's package musl), which is what
 * is to be tried, and this system's libstdc++ over a shim, for Debian has none for musl. x64 alone.
 */
export async function muslHere(interpreter: string, work: string): Promise<Musl> {
  if (!existsSync(interpreter)) return { why: `${interpreter} is not here` }
  if (existsSync('/etc/alpine-release')) return { library_path: null, how: 'on this machine' }
  if (process.arch !== 'x64' || Bun.which('gcc') === null)
    return { why: 'no libstdc++ for musl is here, and no gcc for a shim' }
  const folder = join(work, 'musl')
  mkdirSync(folder)
  const link = (to: string, name: string) => symlinkSync(realpathSync(to), join(folder, name))
  link(interpreter, 'libc.musl-x86_64.so.1')
  for (const name of ['libstdc++.so.6', 'libgcc_s.so.1'])
    link((await ask(['gcc', `-print-file-name=${name}`])).trim(), name)
  const shim = join(import.meta.dir, 'musl-shim.c')
  await ask(['gcc', '-shared', '-fPIC', '-nostdlib', '-o', join(folder, GLIBC_LOADER), shim])
  return {
    library_path: folder,
    how: 'on musl’s libc of this machine, with a libstdc++ that was built for glibc over a shim',
  }
}

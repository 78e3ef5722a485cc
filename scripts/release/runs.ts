import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { ask } from './ask.ts'
import { muslHere } from './musl.ts'
import { BUN } from './runtimes.ts'
import type { Target } from './targets.ts'

/** How an executable was tried, or why it was not, in words for the notes of a release. */
export type Run = { ran: boolean; how: string }

type Way = { command: string[]; env?: Record<string, string>; how: string }

const HERE = process.arch
const QEMU = { x64: 'qemu-x86_64-static', arm64: 'qemu-aarch64-static' } as const
const CROSS = { x64: '/usr/x86_64-linux-gnu', arm64: '/usr/aarch64-linux-gnu' } as const

/**
 * Runs an executable on this machine as far as that can be: it tells its version, judges the example configuration, and
 * unless that is too long, its demo reads, matches and delivers. Throws when any of that does not come out right.
 */
export async function tryOut(
  target: Target,
  executable: string,
  { work, demo }: { work: string; demo: boolean },
): Promise<Run> {
  const way = await wayFor(target, work)
  if ('why' in way) return { ran: false, how: way.why }
  const arch = archOf(target)
  const forumd = (...args: string[]) =>
    ask([...way.command, executable, ...args], { cwd: work, env: way.env ?? {} })
  const said = (await forumd('version')).trim()
  const wanted = `forumd ${version} (bun ${BUN}, linux ${arch})`
  if (said !== wanted) throw new Error(`${target.name} says ${said}, and should say ${wanted}`)
  await forumd('check-config', '--config', join(import.meta.dir, '../../config.example.toml'))
  // It ends well only if a read, a match and a delivery whose signature fits all happened.
  if (demo) await forumd('demo', '--seconds', '20')
  return { ran: true, how: way.how }
}

const archOf = ({ name }: Target) => (name.includes('arm64') ? 'arm64' : 'x64')

async function wayFor(target: Target, work: string): Promise<Way | { why: string }> {
  const arch = archOf(target)
  const { interpreter } = target.elf
  const native = arch === HERE
  const qemu = Bun.which(QEMU[arch])
  if (!native && qemu === null) return { why: `${QEMU[arch]} is not here` }
  const command = native || qemu === null ? [] : [qemu]
  const under = native ? '' : 'under qemu-user, '
  if (target.name.endsWith('-musl')) {
    const musl = await muslHere(arch, interpreter, work)
    return 'why' in musl ? musl : { command, env: musl.env, how: under + musl.how }
  }
  if (native) return { command, how: 'on this machine' }
  if (!existsSync(CROSS[arch] + interpreter))
    return { why: `${CROSS[arch]}${interpreter} is not here` }
  return {
    command: [...command, '-L', CROSS[arch]],
    how: `${under}on Debian’s glibc of that machine`,
  }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { muslHere } from './musl.ts'
import { runCommand } from './run-command.ts'
import { BUN } from './runtimes.ts'
import type { LinuxTarget, Target } from './targets.ts'

/** Description of an executable's test run, or the reason for none, for the release notes. */
export type Run = { ran: boolean; how: string }

type Launch = { command: string[]; env?: Record<string, string>; how: string }

const HERE = process.arch
const QEMU = { x64: 'qemu-x86_64-static', arm64: 'qemu-aarch64-static' } as const
const CROSS = { x64: '/usr/x86_64-linux-gnu', arm64: '/usr/aarch64-linux-gnu' } as const

/**
 * Runs an executable on this machine where possible: its version, a check of the example configuration, and
 * with `demo` a read, a match and a delivery.
 *
 * @throws {Error} if a result is wrong
 */
export async function tryOut(
  target: Target,
  executable: string,
  { work, demo }: { work: string; demo: boolean },
): Promise<Run> {
  if ('macho' in target) return { ran: false, how: 'it needs macOS' }
  const launch = await launchFor(target, work)
  if ('why' in launch) return { ran: false, how: launch.why }
  const arch = archOf(target)
  const forumd = (...args: string[]) =>
    runCommand([...launch.command, executable, ...args], { cwd: work, env: launch.env ?? {} })
  const version_output = (await forumd('version')).trim()
  const wanted = `forumd ${version} (bun ${BUN}, linux ${arch})`
  if (version_output !== wanted)
    throw new Error(`${target.name} prints ${version_output} instead of ${wanted}`)
  // check-config refuses the example as long as it names no platform.
  const example = await Bun.file(join(import.meta.dir, '../../config.example.toml')).text()
  const config = join(work, 'example.toml')
  await Bun.write(config, example.replace('www.forum.example', 'www.forum.test'))
  await forumd('check-config', '--config', config)
  // The demo exits with 0 only if a read, a match and a delivery with a valid signature happened.
  if (demo) await forumd('demo', '--seconds', '20')
  return { ran: true, how: launch.how }
}

const archOf = ({ name }: LinuxTarget) => (name.includes('arm64') ? 'arm64' : 'x64')

async function launchFor(target: LinuxTarget, work: string): Promise<Launch | { why: string }> {
  const arch = archOf(target)
  const { interpreter } = target.elf
  const native = arch === HERE
  const qemu = Bun.which(QEMU[arch])
  if (!native && qemu === null) return { why: `${QEMU[arch]} is missing` }
  const command = native || qemu === null ? [] : [qemu]
  const under = native ? '' : 'under qemu-user, '
  if (target.name.endsWith('-musl')) {
    const musl = await muslHere(arch, interpreter, work)
    return 'why' in musl ? musl : { command, env: musl.env, how: under + musl.how }
  }
  if (native) return { command, how: 'on this machine' }
  if (!existsSync(CROSS[arch] + interpreter))
    return { why: `${CROSS[arch]}${interpreter} is missing` }
  return {
    command: [...command, '-L', CROSS[arch]],
    how: `${under}on Debian’s glibc of that machine`,
  }
}

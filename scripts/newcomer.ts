/**
 * What README has a newcomer type, from nothing to an alert, on a Debian that has nothing but Node, npm and curl:
 * `bun run newcomer` [--root FOLDER] [--keep]. Wants root, debootstrap and the registries. The walk itself runs in a network
 * namespace of its own, so that it cannot reach anything but this machine. Ends with 0 only when the alert came and all
 * of it took less than five minutes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { newcomerOf } from './docs/blocks.ts'

const MAX_S = 300
const root = join(import.meta.dir, '..')
const { values } = parseArgs({
  options: { root: { type: 'string' }, keep: { type: 'boolean', default: false } },
})
const system = values.root ?? mkdtempSync(join(tmpdir(), 'forumd-newcomer-'))

function run(command: string[], { input }: { input?: string } = {}): void {
  const { exitCode } = Bun.spawnSync(command, {
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(' ')} … ended with ${exitCode}`)
}

/** Where packages come from is this machine's own affair, and is not typed. */
function registry(): string {
  const { stdout } = Bun.spawnSync(['npm', 'config', 'get', 'registry'])
  return stdout.toString().trim()
}

/** Types a text in a shell of the new system; answers the seconds it took. */
function type(text: string, around: string[] = []): number {
  const env = ['env', '-i', 'HOME=/root', 'LANG=C.UTF-8', `npm_config_registry=${registry()}`]
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const began = performance.now()
  run([...around, 'chroot', system, ...env, path, 'bash', '-ec', `cd /root/forumd\n${text}`])
  return (performance.now() - began) / 1000
}

try {
  if (!existsSync(join(system, 'bin'))) {
    const include = '--include=ca-certificates,curl,nodejs,npm'
    run(['debootstrap', '--variant=minbase', include, 'bookworm', system])
  }
  rmSync(join(system, 'root/forumd'), { recursive: true, force: true })
  // The tree as it is committed: what lies beside it is not the newcomer's.
  const tree = Bun.spawnSync(['git', 'archive', '--prefix=forumd/', 'HEAD'], { cwd: root }).stdout
  writeFileSync(join(system, 'root/forumd.tar'), tree)
  run(['tar', '-C', join(system, 'root'), '-xf', join(system, 'root/forumd.tar')])

  const { install, walk } = newcomerOf(readFileSync(join(system, 'root/forumd/README.md'), 'utf8'))
  const installed_s = type(install)
  const alone = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'alone']
  const walked_s = type(walk, alone)
  const typed = (install + walk).trim().split('\n').filter(Boolean).length
  console.log(
    `From nothing to an alert: ${typed} lines, ${installed_s.toFixed(0)} s to install and build, ${walked_s.toFixed(0)} s from there.`,
  )
  if (installed_s + walked_s > MAX_S) throw new Error(`that is more than ${MAX_S} s`)
} finally {
  if (!values.keep) rmSync(system, { recursive: true, force: true })
}

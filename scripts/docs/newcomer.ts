/**
 * Runs README's commands from installation to a first alert, on a Debian with only Node, npm and curl: `bun run
 * newcomer` [--root FOLDER] [--keep]. Needs root, debootstrap, and access to the Debian and npm registries. The
 * walk runs in a network namespace of its own, so that it can only reach this machine. Exit code 0 only if the
 * alert arrived and everything took less than five minutes.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { newcomerOf } from './blocks.ts'

const MAX_S = 300
const OWN_AFFAIRS = [
  '/etc/apt/apt.conf.d',
  '/etc/apt/sources.list.d',
  '/etc/resolv.conf',
  '/usr/local/share/ca-certificates',
]
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const root = join(import.meta.dir, '../..')
const { values } = parseArgs({
  options: { root: { type: 'string' }, keep: { type: 'boolean', default: false } },
})
const system = values.root ?? mkdtempSync(join(tmpdir(), 'forumd-newcomer-'))

function run(command: string[]): void {
  const { exitCode } = Bun.spawnSync(command, {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(' ')} … ended with ${exitCode}`)
}

/** Installs a Debian with Node, npm and curl. */
function install(): void {
  const brought = '--include=ca-certificates,curl'
  run(['debootstrap', '--variant=minbase', brought, 'bookworm', system])
  // Package sources and trusted certificates are settings of this machine.
  for (const path of OWN_AFFAIRS)
    if (existsSync(path)) cpSync(path, join(system, path), { recursive: true, dereference: true })
  enter(['sh', '-ec', 'update-ca-certificates; apt-get update -qq'])
  enter(['apt-get', 'install', '-qq', '--yes', '--no-install-recommends', 'nodejs', 'npm'])
}

/** Runs a command inside the new system, with /proc and /dev mounted until it ends. */
function enter(command: string[], { alone = false } = {}): void {
  const within = `mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; ${alone ? 'ip link set lo up; ' : ''}exec chroot "$0" "$@"`
  const spaces = ['--mount', '--pid', '--fork', ...(alone ? ['--net'] : [])]
  const settings = [
    'HOME=/root',
    'LANG=C.UTF-8',
    'DEBIAN_FRONTEND=noninteractive',
    PATH,
    registry(),
  ]
  run(['unshare', ...spaces, 'sh', '-ec', within, system, 'env', '-i', ...settings, ...command])
}

function registry(): string {
  const { stdout } = Bun.spawnSync(['npm', 'config', 'get', 'registry'])
  return `npm_config_registry=${stdout.toString().trim()}`
}

/** Runs a text in a shell of the new system; returns the seconds it took. */
function type(text: string, how?: { alone: boolean }): number {
  const began = performance.now()
  enter(['bash', '-ec', `cd /root/forumd\n${text}`], how)
  return (performance.now() - began) / 1000
}

try {
  if (!existsSync(join(system, 'usr/bin/npm'))) install()
  rmSync(join(system, 'root/forumd'), { recursive: true, force: true })
  // The committed tree, without local files.
  const tree = Bun.spawnSync(['git', 'archive', '--prefix=forumd/', 'HEAD'], { cwd: root }).stdout
  writeFileSync(join(system, 'root/forumd.tar'), tree)
  run(['tar', '-C', join(system, 'root'), '-xf', join(system, 'root/forumd.tar')])

  const readme = readFileSync(join(system, 'root/forumd/README.md'), 'utf8')
  const lines = newcomerOf(readme)
  const installed_s = type(lines.install)
  const walked_s = type(lines.walk, { alone: true })
  const typed = (lines.install + lines.walk).split('\n').filter(Boolean).length
  console.log(
    `From nothing to an alert: ${typed} lines, ${installed_s.toFixed(0)} s to install and build, ${walked_s.toFixed(0)} s from there.`,
  )
  if (installed_s + walked_s > MAX_S) throw new Error(`that is more than ${MAX_S} s`)
} finally {
  if (!values.keep) rmSync(system, { recursive: true, force: true })
}

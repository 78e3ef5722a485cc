/**
 * Runs the unit under a real systemd through start failures: the data volume not mounted, a full disk, a disk
 * without inodes, a read-only mount, and a key file of another user. debootstrap builds a Debian whose systemd
 * boots as pid 1 in its own namespaces. Exit code 0 only if every scenario passes.
 *
 *     bun run bar:systemd [--root FOLDER] [--binary FILE] [--wait-s 5]
 *
 * Needs root, debootstrap and a Debian mirror. --root keeps the Debian in a folder for the next run; --binary
 * is the executable to test instead of a new build; --wait-s is the duration of each disk failure.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { builtFrom } from '../binary.ts'

const source = join(import.meta.dir, '../../..')
const MAX_S = 400
const SUITE = 'bookworm'
const { values } = parseArgs({
  options: {
    root: { type: 'string' },
    binary: { type: 'string' },
    'wait-s': { type: 'string', default: '5' },
  },
})
const NAMESPACES = ['--mount', '--cgroup', '--pid', '--ipc', '--uts', '--net']

/**
 * Runs a command and returns its output.
 *
 * @throws {Error} with the command's name if it fails
 */
function run(...command: string[]): string {
  const { exitCode, stdout } = Bun.spawnSync(command, { stdin: 'ignore', stderr: 'inherit' })
  if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(' ')} … ended with ${exitCode}`)
  return stdout.toString()
}

/** Expected lines of each scenario, in order. */
const EXPECTED = [
  'first start: active, volume active',
  'mount fails: not started, 0 files in its place',
  'not mounted: 78, exit-code, restarts 0, files 0',
  'not mounted: the journal says so at priority warning',
  'mounted again: it serves the same instance',
  ...['full disk', 'no inodes', 'read-only'].flatMap((name, index) => [
    `${name}: active, restarts 0, ready 503`,
    `${name}: waiting for the disk: at /var/lib/forumd ${['the disk is full', 'the disk has room but no inodes left', 'the file system is mounted read-only'][index]}`,
    `${name}: the journal says "reason":"${['disk_full', 'no_inodes', 'read_only'][index]}"`,
    `${name}: it serves again, restarts 0, same instance yes`,
  ]),
  'key file: the journal names the remedy',
  'key file: it serves, after restarts',
  'serve --new: another instance serves',
]

const folder = mkdtempSync(join(tmpdir(), 'forumd-systemd-'))
const debian = values.root ?? join(folder, 'debian')
try {
  if (process.getuid?.() !== 0) throw new Error('it takes root')
  if (!existsSync(join(debian, 'usr/lib/systemd/systemd')))
    run('debootstrap', '--variant=minbase', '--include=systemd,curl,iproute2', SUITE, debian)
  const forumd = join(folder, 'forumd')
  if (values.binary === undefined) await builtFrom(source, forumd)
  else copyFileSync(values.binary, forumd)
  chmodSync(forumd, 0o755)
  writeFileSync(
    join(folder, 'forumd.service'),
    run(forumd, 'service-unit', '--binary', '/usr/bin/forumd'),
  )
  writeFileSync(
    join(folder, 'forumd.toml'),
    readFileSync(join(source, 'config.example.toml'), 'utf8')
      .replace(/^port = 8080$/m, 'port = 8099')
      .replace(/^dir = "\.\/data"$/m, 'dir = "/var/lib/forumd"')
      .replace(/^instance_file = ""$/m, 'instance_file = "/var/lib/forumd-instance/id"')
      .replace(/^base_url = .*$/m, 'base_url = "http://127.0.0.1:1"'),
  )
  const probe = readFileSync(join(import.meta.dir, 'probe.sh'), 'utf8')
  writeFileSync(join(folder, 'probe.sh'), `WAIT_S=${Number(values['wait-s'])}\n${probe}`)
  const boot = join(import.meta.dir, 'boot.sh')
  const began = performance.now()
  const bounded = ['timeout', '--signal=KILL', String(MAX_S)]
  const inside = ['unshare', '--kill-child', ...NAMESPACES, '--fork', 'bash', boot, debian, folder]
  Bun.spawnSync([...bounded, ...inside], { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
  const log = join(folder, 'log')
  if (!existsSync(log)) throw new Error('systemd did not start: it needs all the namespaces')
  const seen = readFileSync(log, 'utf8').trim().split('\n')
  let failed = 0
  for (const line of EXPECTED) {
    const isSeen = seen.some((it) => it.trimEnd().startsWith(line))
    if (!isSeen) failed += 1
    console.log(`${isSeen ? 'ok  ' : 'FAIL'}  ${line}`)
  }
  if (failed > 0) console.log(`\nActual:\n${seen.join('\n')}`)
  console.log(
    `\n${EXPECTED.length - failed} of ${EXPECTED.length}, in ${((performance.now() - began) / 1000).toFixed(0)} s`,
  )
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

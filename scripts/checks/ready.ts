/**
 * Prepares a fresh checkout: `bun run demo` and `bun run test` call it first, so that one command is enough on
 * a machine with only Node and npm. Silent if nothing is to do; imports no package that it would have to
 * install.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const stamp = join(root, 'node_modules', '.ready')

function give_up(...lines: string[]): never {
  console.error(lines.join('\n'))
  process.exit(1)
}

// The types are pinned to the Bun they describe, so their version is the required version of Bun.
const { devDependencies } = await Bun.file(join(root, 'package.json')).json()
const wanted = String(devDependencies['bun-types'])
if (!Bun.semver.satisfies(Bun.version, `~${wanted}`))
  give_up(
    `forumd needs Bun ${wanted}; this is ${Bun.version}.`,
    `With Node and npm, any command runs under the right one: npx --yes bun@${wanted} run demo`,
  )

const lock = readFileSync(join(root, 'bun.lock'))
const state = `${Bun.version} ${createHash('sha256').update(lock).digest('hex')}\n`
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== state) install()

function install() {
  console.error('Fetching the packages that bun.lock names …')
  // The running Bun: `bun` may not be on PATH.
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, 'ci'], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  if (exitCode !== 0)
    give_up(
      stdout.toString() + stderr.toString(),
      'The packages could not be installed. They come from the npm registry, as ~/.npmrc or npm_config_registry name it:',
      'check that `npm ping` answers, then run the same command again.',
    )
  writeFileSync(stamp, state)
}

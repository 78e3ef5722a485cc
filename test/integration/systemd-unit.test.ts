// Goal: systemd accepts the printed unit, its sandboxing is strict, and the daemon runs under it.
// Method: systemd's own checkers, and a systemd booted in separate namespaces, if the kernel
// permits it.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { serviceUnit } from '../../src/cli/serve/systemd.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { runForumd } from '../support/process.ts'

setDefaultTimeout(90_000)

const root = join(import.meta.dir, '../..')
const judge = Bun.which('systemd-analyze')
if (judge === null && process.env['CI'])
  throw new Error('systemd-analyze is needed: apt-get install systemd')
if (judge === null) console.log('skipped: systemd-analyze is missing')

/** The printed unit, in a file with a unit's name. */
async function printed(folder: Folder, ...options: string[]): Promise<string> {
  const binary = folder.file('forumd')
  writeFileSync(binary, '#!/bin/sh\n')
  chmodSync(binary, 0o755)
  const unit = folder.file('forumd.service')
  writeFileSync(unit, await runForumd(['service-unit', '--binary', binary, ...options]))
  return unit
}

function analyze(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([judge ?? '', ...args])
  return { exitCode, output: stdout.toString() + stderr.toString() }
}

/** systemd's exposure score of a unit: 0 none, 10 everything. */
function exposure(unit: string): number {
  const { output } = analyze('security', '--offline=true', '--no-pager', unit)
  return Number(/exposure level for \S+: ([\d.]+)/.exec(output)?.[1] ?? Number.NaN)
}

describe.skipIf(judge === null)('systemd', () => {
  test.each([[[]], [['--with-browser']]])(
    'reports nothing about the unit with %j',
    async (options) => {
      using folder = tempFolder()

      const unit = await printed(folder, ...options)

      expect(analyze('verify', '--man=no', unit)).toEqual({ exitCode: 0, output: '' })
    },
  )

  test('scores the unit at most 2.0 of 10', async () => {
    using folder = tempFolder()

    expect(exposure(await printed(folder))).toBeLessThanOrEqual(2)
  })

  test('scores the unit with a browser higher, and less than half of a plain one', async () => {
    using folder = tempFolder()
    const without = exposure(await printed(folder))

    const score = exposure(await printed(folder, '--with-browser'))

    console.log(`the unit leaves ${without} of 10 open, with a browser ${score}`)
    expect(score).toBeGreaterThan(without)
    expect(score).toBeLessThan(4.6)
  })
})

test('the unit permits the JIT, with a comment', () => {
  const unit = serviceUnit({
    binary: '/usr/bin/forumd',
    config: '/etc/f.toml',
    with_browser: false,
  })

  expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m)
  expect(unit).toContain('# Not MemoryDenyWriteExecute')
})

test("a path with systemd's special characters is quoted as one word", () => {
  const unit = serviceUnit({ binary: '/a b/100%', config: '/c"$d', with_browser: false })

  expect(unit).toContain(String.raw`ExecStart="/a b/100%%" serve --config "/c\"$$d"`)
})

test.each([
  ['forumd.toml', '--config is "forumd.toml": a unit needs a path that begins with /'],
  ['/x\nExecStartPre=/bin/evil', 'a unit needs a path that begins with /'],
])('a configuration at %j is refused', async (config, sentence) => {
  const ended = await runForumd(['service-unit', '--config', config]).catch(String)

  expect(ended).toContain(sentence)
  expect(ended).toContain('ended with 2')
})

const NAMESPACES = [
  'unshare',
  '--kill-child',
  '--mount',
  '--cgroup',
  '--pid',
  '--ipc',
  '--uts',
  '--fork',
]
const canBoot =
  judge !== null &&
  process.getuid?.() === 0 &&
  Bun.spawnSync([...NAMESPACES, 'mount', '-t', 'cgroup2', 'none', '/mnt']).exitCode === 0
if (!canBoot) console.log('no systemd is booted here: it takes root and namespaces')

const PROBE = `
property() { systemctl show forumd --property="$1" --value; }
echo "state $(property ActiveState) $(property StatusText)"
pid=$(property MainPID)
metrics() { curl --silent --output /dev/null --write-out '%{http_code}' -H "Authorization: Bearer $1" http://127.0.0.1:8099/metrics; }
echo "metrics $(metrics wrong) $(metrics key-from-credential)"
sed -i 's/account_per_minute = 30/account_per_minute = 5/; s/port = 8099/port = 8098/' /etc/forumd/forumd.toml
# It returns once the signal is sent: the log shows when the reload has ended.
systemctl reload forumd
until journalctl --sync && journalctl --unit forumd --output cat | grep --quiet config.reloaded; do sleep 0.2; done
until [ "$(property ActiveState)" != reloading ]; do sleep 0.2; done
echo "reloaded $(property ActiveState)"
[ "$(property MainPID)" = "$pid" ] && echo "the same process"
journalctl --unit forumd --priority warning --output cat | grep --invert-match auth.failed | sed 's/^/warned /'
kill -STOP "$pid"
until [ "$(property Result)" = watchdog ] || [ "$(property NRestarts)" = 1 ]; do sleep 0.2; done
until [ "$(property ActiveState)" = active ]; do sleep 0.2; done
echo "bitten and back, $(property NRestarts) restart"
systemctl stop forumd && echo "stopped $(property ActiveState) $(property Result)"
chmod 600 /etc/forumd/forumd.toml; chown root /etc/forumd/forumd.toml
systemctl start forumd 2>/dev/null || echo "not started, $(property ExecMainStatus), $(property ActiveState)"
`

test.skipIf(!canBoot)(
  'under a real systemd the unit starts, reports its state, reloads, is killed by the watchdog when it stalls, and stops',
  async () => {
    // It mounts a /dev/shm of its own.
    using folder = tempFolder('/tmp')
    const unit = await runForumd(['service-unit', '--binary', '/usr/bin/forumd'])
    expect(unit).toContain('\nWatchdogSec=8s\n')
    writeFileSync(
      folder.file('forumd.service'),
      unit
        .replace('WatchdogSec=8s', 'WatchdogSec=3s')
        // Only root may read the token's file.
        .replace(
          '#LoadCredential=secrets.key',
          'LoadCredential=metrics:/probe/credential\n#LoadCredential=secrets.key',
        ),
    )
    writeFileSync(
      folder.file('forumd.toml'),
      '[server]\nport = 8099\n[storage]\ndir = "/var/lib/forumd"\ninstance_file = "/var/lib/forumd-instance/id"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n[limits]\naccount_per_minute = 30\n[metrics]\ntoken = "file:metrics"\n',
    )
    writeFileSync(folder.file('credential'), 'key-from-credential\n', { mode: 0o600 })
    writeFileSync(folder.file('probe.sh'), PROBE)

    const vm = Bun.spawn(
      [
        ...NAMESPACES,
        join(import.meta.dir, 'systemd-boot.sh'),
        folder.path,
        root,
        process.execPath,
      ],
      { stdout: 'ignore', stderr: 'inherit' },
    )
    await vm.exited

    const log_text = await Bun.file(folder.file('log')).text()
    expect(log_text.trim().split('\n')).toEqual([
      'state active listening on http://127.0.0.1:8099; 0 monitors on 0 feeds, 0 deliveries waiting',
      'metrics 403 200',
      'reloaded active',
      'the same process',
      expect.stringMatching(/^warned \{.*"event":"config.needs_restart","key":"server.port"/),
      'bitten and back, 1 restart',
      'stopped inactive success',
      'not started, 2, failed',
    ])
  },
)

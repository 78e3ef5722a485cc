import { expect, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

import {
  createLaunch,
  environmentOf,
  flagsOf,
} from '../../../../../src/platforms/reddit/browser/launch.ts'
import { realClock } from '../../../../../src/runtime/runtime.ts'
import { tempFolder } from '../../../../support/folder.ts'

/** Starts a script in place of Chromium; `named` maps the paths of the script and of its files. */
async function launched(
  script: string | null,
  sandbox: 'auto' | boolean = 'auto',
  named = (path: string) => path,
) {
  using folder = tempFolder()
  const executable = folder.file('chromium')
  if (script !== null) {
    writeFileSync(executable, `#!/bin/sh\n${script}\n`)
    chmodSync(executable, 0o755)
  }
  const profiles = folder.file('profiles')
  const done = await createLaunch({
    executable: named(executable),
    sandbox,
    folder: named(profiles),
    user_agent: 'forumd/1.0',
    believed: null,
    clock: realClock,
  })()
  const why = done.ok ? 'it started' : done.why.replaceAll(executable, 'chromium')
  return { why, left: existsSync(profiles) ? readdirSync(profiles) : [] }
}

test.each([
  [
    null,
    '[browser] executable names chromium, which cannot be run: install Chromium or Chrome there, or leave it empty to search PATH',
  ],
  [
    'echo "chromium: error while loading shared libraries: libnss3.so: cannot open shared object file" >&2; exit 127',
    'chromium needs the library libnss3.so, which is not installed',
  ],
  [
    'echo "[1:1:FATAL:zygote.cc(132)] No usable sandbox! Update your kernel" >&2; exit 1',
    'chromium cannot use its sandbox here: run the daemon as a user that may use it, or set [browser] sandbox = false',
  ],
  [
    'echo "[12:34:ERROR:x.cc(1)] Out of luck." >&2; exit 1',
    'chromium ended before it answered: Out of luck.',
  ],
  ['exit 0', 'chromium ended before it answered'],
])(
  'a browser that does not start reports the reason and leaves no files (%#)',
  async (script, why) => {
    expect(await launched(script, true)).toEqual({ why, left: [] })
  },
)

test('relative paths of the executable and of the files start from the working folder of the daemon', async () => {
  const script =
    'for it; do test "$it" = "--user-data-dir=${PWD%/tmp}" && echo "in its profile" >&2; done; exit 1'

  const { why } = await launched(script, true, (path) => relative(process.cwd(), path))

  expect(why).toEndWith(': in its profile')
})

test('auto starts without a sandbox if the system does not permit one', async () => {
  // Fails with a sandbox, and fails differently without one.
  const script =
    'case "$*" in *--no-sandbox*) echo bare >&2;; *) echo "No usable sandbox!" >&2;; esac; exit 1'

  const refused = await launched(script, true)
  const tried = await launched(script, 'auto')

  expect(refused.why).toContain('cannot use its sandbox')
  // As root there is only one attempt, without a sandbox.
  expect(tried.why).toMatch(process.getuid?.() === 0 ? /: bare$/ : /cannot use its sandbox/)
})

test('no flag hides that a program drives the browser', () => {
  const flags = flagsOf({
    profile: '/p',
    sandboxed: true,
    user_agent: 'Own/1 forumd/1.0',
    believed: null,
  })

  expect(flags).toContain('--enable-automation')
  expect(flags).toContain('--user-agent=Own/1 forumd/1.0')
  expect(
    flags.filter((flag) => /AutomationControlled|exclude-switches|no-sandbox/.test(flag)),
  ).toEqual([])
})

test("the browser's environment contains only search paths and the language", () => {
  const expected_env = { PATH: '/bin', LANG: 'C' }
  const ours = {
    ...expected_env,
    SECRET: 'x',
    https_proxy: 'http://p',
    HOME: '/root',
    TMPDIR: '/tmp',
  }

  expect(environmentOf('/profile', ours)).toEqual({
    ...expected_env,
    HOME: '/profile',
    TMPDIR: '.',
  })
})

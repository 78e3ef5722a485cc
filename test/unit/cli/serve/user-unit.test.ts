import { expect, test } from 'bun:test'

import { userUnit } from '../../../../src/cli/serve/systemd.ts'

test('the unit of a user starts this program with this configuration and names no other user', () => {
  const unit = userUnit({ binary: '/opt/my tools/forumd', config: '/home/ann/100%/forumd.toml' })

  expect(unit).toContain(
    '\nExecStart="/opt/my tools/forumd" serve --config /home/ann/100%%/forumd.toml\n',
  )
  expect(unit).toContain('\nWantedBy=default.target\n')
  expect(unit).toContain('\nRestartPreventExitStatus=2 78\n')
  // These belong to the service manager of the system.
  expect(unit).not.toMatch(/^(User|Group|StateDirectory|ProtectSystem)=/m)
})

import { expect, test } from 'bun:test'

import { hasEtcd } from '../../support/lease-servers.ts'
import { isLongForm } from '../../support/long-form.ts'
import { hasNamespaces } from './network.ts'

// Goal: two nodes do not act at the same time, under any fault of the primary.
// Method: one takeover for each fault, judged by the logs of the platform and the receivers alone. `bun run bar:failover`
// makes many, with a replication, and checks that a planted fault is detected.

test.skipIf(!isLongForm || !hasEtcd() || !hasNamespaces())(
  'no request of the old primary arrives after the first one of the new primary',
  async () => {
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/run.ts`, '--rounds', '17', '--system', 'etcd'],
      { stdout: 'pipe', stderr: 'inherit' },
    )
    const out = await new Response(child.stdout).text()

    expect(out).toContain('"overlaps":0')
    expect(await child.exited).toBe(0)
  },
  600_000,
)

// Run by a test with a low limit of open files: fills them, and prints what a transport makes of it.
import { closeSync, openSync } from 'node:fs'

import { createAllowed } from '../../src/core/base/address.ts'
import { createGuard } from '../../src/net/guard.ts'
import { createTransport } from '../../src/net/transport.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'

const { clock, resolve } = createRuntime(() => {})
const allowed = createAllowed({ allow_targets: ['127.0.0.0/8', '::1'], allow_http: true })
const guard = createGuard({ resolve, clock, allowed, timeout_ms: 5000 })
const transport = createTransport({ fetch, clock, guard, timeout_ms: 5000 })
const port = process.argv[2] ?? ''
const post = (host: string) =>
  transport({ url: `http://${host}:${port}/`, headers: {}, body: new Uint8Array(1) })

// Bun opens files of its own with the first request.
const results: unknown[] = [await post('localhost')]
const held: number[] = []
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch {
  // The limit is reached.
}
results.push(await post('127.0.0.1'), await post('localhost'))
for (const fd of held) closeSync(fd)
console.log(
  JSON.stringify(
    results.map((it) => {
      const { kind, error } = it as { kind: string; error?: string }
      return error ?? kind
    }),
  ),
)
process.exit(0)

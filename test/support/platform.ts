import { type Config, homeOf } from '../../src/config/schema.ts'
import { createEgress } from '../../src/net/egress.ts'
import type { Guard } from '../../src/net/guard.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { openPlatform, type PlatformDeps } from '../../src/wiring/platform.ts'

const guard: Guard = () => Promise.resolve({ ok: false, refusal: 'unresolved' })

/** The first Reddit-style platform of a configuration, as the daemon opens it, and what it leaves by. */
export function openHome(
  config: Config,
  runtime: Runtime,
  deps: Partial<PlatformDeps> & Pick<PlatformDeps, 'signal'>,
) {
  const at = homeOf(config)
  if (at === null) throw new Error('the configuration has no source of the kind reddit')
  const egress = createEgress({ ...runtime, guard })
  const opened = openPlatform(at, config, runtime, { guard, egress, ...deps })
  return {
    ...opened,
    async close() {
      egress.close()
      await opened.close()
    },
  }
}

import type { Clock, Fetch } from '../runtime/runtime.ts'
import type { Register } from './register.ts'

/**
 * Opens the register that an address names; its library is loaded on demand.
 * @throws {RangeError} the address has no known scheme
 */
export async function openRegister(
  address: string,
  deps: {
    timeout_ms: number
    env: Readonly<Record<string, string | undefined>>
    fetch: Fetch
    sleep: Clock['sleep']
  },
): Promise<Register> {
  const { protocol } = new URL(address)
  switch (protocol) {
    case 'postgres:':
    case 'postgresql:': {
      const { openPostgres } = await import('./postgres.ts')
      return openPostgres(address, deps)
    }
    case 'etcd:':
    case 'etcds:': {
      const { openEtcd } = await import('./etcd.ts')
      return openEtcd(address, deps)
    }
    case 's3:': {
      const { openS3 } = await import('./s3.ts')
      return openS3(address, deps)
    }
    default:
      throw new RangeError(`${protocol} is not the scheme of a lease`)
  }
}

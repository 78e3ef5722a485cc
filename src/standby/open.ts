import type { Clock, Fetch } from '../runtime/runtime.ts'
import type { Register } from './register.ts'

/** Name of the register beside that of the lease. */
const NODES = 'nodes'

/** The address of a second register beside that of a lease, in which the nodes announce themselves. */
export function addressOfNodes(address: string): string {
  const url = new URL(address)
  switch (url.protocol) {
    case 'postgres:':
    case 'postgresql:':
      url.searchParams.set('lease', `${url.searchParams.get('lease') ?? 'forumd'}/${NODES}`)
      return url.href
    case 's3:':
      url.pathname = `${url.pathname.length > 1 ? url.pathname : '/forumd-lease.json'}.${NODES}`
      return url.href
    default:
      url.pathname = `${url.pathname.length > 1 ? url.pathname : '/forumd/lease'}/${NODES}`
      return url.href
  }
}

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

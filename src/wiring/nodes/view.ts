import type { Config } from '../../config/schema.ts'
import { type LeaseRecord, readRecord } from '../../core/standby/lease.ts'
import { type NodeState, readNodes } from '../../core/standby/nodes.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { addressOfNodes, openRegister } from '../../standby/open.ts'

const TIMEOUT_MS = 5000

/** The lease and what the nodes last said of themselves, as the system of the lease has them. */
export type NodesView = AsyncDisposable & {
  /** @throws {LeaseUnreachable | ForeignRecord} */
  read(): Promise<{ record: LeaseRecord | null; nodes: NodeState[] }>
}

/** Opens the view of a command. It changes nothing. */
export async function openNodesView(
  { standby }: Pick<Config, 'standby'>,
  runtime: Runtime,
): Promise<NodesView> {
  const open = (address: string) =>
    openRegister(address, {
      timeout_ms: TIMEOUT_MS,
      env: process.env,
      fetch: runtime.fetch,
      sleep: runtime.clock.sleep,
    })
  const lease = await open(standby.lease)
  const beside = await open(addressOfNodes(standby.lease))
  return {
    async read() {
      const [found, others] = await Promise.all([lease.read(), beside.read()])
      return {
        record: found === null ? null : readRecord(found.text),
        nodes: (others && readNodes(others.text)) ?? [],
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([lease.close(), beside.close()])
    },
  }
}

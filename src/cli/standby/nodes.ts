import type { Config } from '../../config/schema.ts'
import type { LeaseRecord } from '../../core/standby/lease.ts'
import type { NodeState } from '../../core/standby/nodes.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { type CommandContext, CommandRefusal } from '../command.ts'
import { openConfig } from '../configuration.ts'

/** The lease and its nodes, as a command reads them. */
export type NodesFound = { record: LeaseRecord | null; nodes: NodeState[] }

/** A command with the nodes of its lease. */
export type WithNodes = {
  config: Config
  /** Name of this node. */
  own: string
  clock: Clock
  /** @throws {CommandRefusal} The system of the lease gives no usable answer. */
  read: () => Promise<NodesFound>
}

/**
 * Opens the system of the lease for the time of `work`.
 *
 * @throws {CommandRefusal} This is a single node, or its lease is given by hand.
 */
export async function withNodes<T>(
  context: CommandContext,
  work: (it: WithNodes) => Promise<T>,
): Promise<T> {
  const { config } = openConfig(context, { create: false })
  const { lease, name } = config.standby
  if (lease === '')
    throw new CommandRefusal(
      'this is a single node: [standby].lease is not set, so that there is neither a standby nor a replica to report',
    )
  if (lease === 'manual')
    throw new CommandRefusal(
      '[standby].lease is "manual": no system knows which node is the primary, or of a standby',
    )
  const runtime = await context.factories.createRuntime(config.log, context.stdout)
  await using view = await context.factories.openNodes(config, runtime)
  const read = async () => {
    try {
      return await view.read()
    } catch (error) {
      // Its message holds neither address nor credentials.
      throw new CommandRefusal(
        `the system of [standby].lease gives no usable answer: ${error instanceof Error ? error.message : 'unknown'}`,
      )
    }
  }
  return await work({ config, own: name, clock: runtime.clock, read })
}

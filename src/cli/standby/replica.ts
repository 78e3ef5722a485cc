import { iso } from '../../core/base/time.ts'
import { isSilent, judgeReplica, type NodeState } from '../../core/standby/nodes.ts'
import { command, EXIT, JSON_OPTION } from '../command.ts'
import { parseSpan } from '../inputs.ts'
import { card, table } from '../output.ts'
import { type NodesFound, withNodes } from './nodes.ts'

const LAG_S_MAX = 86_400
const NOT_KNOWN = 'not known'

export const replicaStatus = command({
  name: 'replica status',
  summary: 'shows the primary and the lag of the replica',
  options: {
    'max-lag': {
      type: 'string',
      value: 'TIME',
      help: 'exit code 1 if the replica is further behind, such as 30s or 5m, or if that is not known',
    },
    json: JSON_OPTION,
  },
  examples: ['forumd replica status', 'forumd replica status --max-lag 30s --json'],
  notes:
    'Asks the system of [standby].lease, from any of the nodes. The lag is that of the last restore by a standby, to five seconds: the age of the oldest change that the restored copy lacked. With --max-lag, exit code 1 and a sentence on standard error also if the replication has ended, no standby restores, or a node is silent.',
  async run({ values, ...context }) {
    const { stdout, warn } = context
    const given = values['max-lag']
    const max_lag_ms = given === undefined ? null : parseSpan('max-lag', given, LAG_S_MAX) * 1000
    return withNodes(context, async ({ own, clock, read }) => {
      const found = await read()
      const now = clock.now()
      const report = reportOf(found, own, now)
      const { primary } = report
      const problem =
        max_lag_ms === null
          ? null
          : primary === null
            ? 'no node holds the lease'
            : judgeReplica(found.nodes, { primary, max_lag_ms, now })
      stdout.write(
        values.json
          ? `${JSON.stringify({ ...report, ...(max_lag_ms !== null && { problem }) })}\n`
          : `${card(cardOf(report))}\n${table(rowsOf(report.nodes), 'No node has announced itself.')}`,
      )
      if (problem !== null) warn(`forumd: ${problem}`)
      return problem === null ? EXIT.done : EXIT.failed
    })
  },
})

type Report = ReturnType<typeof reportOf>

/** The state of the pair; `lease_ends_at`: at the earliest, since the last announcement of the primary. */
function reportOf({ record, nodes }: NodesFound, own: string, now: number) {
  const primary = record === null || record.released ? null : record.holder
  const announced = nodes.find(({ node }) => node === primary)
  const state = announced?.primary ?? null
  return {
    node: own,
    role: primary === own ? 'primary' : 'standby',
    primary,
    epoch: record?.epoch ?? null,
    lease_ends_at:
      announced === undefined || state === null ? null : iso(announced.at + state.lease_left_ms),
    replication: state?.replication ?? null,
    unsettled_until: iso(state?.unsettled_until ?? null),
    lag_s: state?.lag ? state.lag.ms / 1000 : null,
    lag_measured_at: iso(state?.lag?.measured_at ?? null),
    lag_measured_by: state?.lag?.by ?? null,
    nodes: nodes.map((it) => nodeOf(it, now)),
  }
}

function nodeOf(it: NodeState, now: number) {
  const { node, at, primary, standby } = it
  const copy = standby?.copy ?? null
  return {
    node,
    role: primary === null ? 'standby' : 'primary',
    seen_at: iso(at),
    is_silent: isSilent(it, now),
    epoch: primary?.epoch ?? copy?.epoch ?? null,
    copy_age_s:
      copy?.marked_at == null ? null : Math.round(Math.max(0, now - copy.marked_at) / 1000),
    copied_at: iso(copy?.began_at ?? null),
    error: standby?.error || null,
  }
}

const cardOf = (report: Report) => ({
  node: report.node,
  role: report.role,
  primary: report.primary ?? 'none: the lease is free',
  epoch: report.epoch,
  lease:
    report.lease_ends_at === null ? NOT_KNOWN : `renewed, and lasts until ${report.lease_ends_at}`,
  replication: report.replication ?? NOT_KNOWN,
  unsettled: report.unsettled_until === null ? 'no' : `until ${report.unsettled_until}`,
  lag:
    report.lag_s === null
      ? `${NOT_KNOWN}: no standby has restored the replica`
      : `${report.lag_s} s when ${report.lag_measured_by} restored it at ${report.lag_measured_at}`,
})

const rowsOf = (nodes: Report['nodes']) =>
  nodes.map(({ node, role, seen_at, is_silent, epoch, copy_age_s, error }) => ({
    node,
    role,
    last_seen: is_silent ? `${seen_at} (silent)` : seen_at,
    epoch,
    copy_age_s,
    error,
  }))

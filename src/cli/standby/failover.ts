import type { LeaseRecord } from '../../core/standby/lease.ts'
import { announcementOf, judgeTarget, type NodeState } from '../../core/standby/nodes.ts'
import { askMove, isMoveAsked, withdrawMove } from '../../store/startup/moves.ts'
import { settleWrites } from '../../store/startup/unsettled.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  UsageError,
} from '../command.ts'
import { withInstance } from '../configuration.ts'
import { parseSpan } from '../inputs.ts'
import { type NodesFound, type WithNodes, withNodes } from './nodes.ts'

const WAIT_S = 600
const WAIT_S_MAX = 86_400
const LOOK_MS = 500
/** A daemon looks for requests every second. */
const TAKEN_MS = 15_000
/** A new primary announces itself in this time. */
const ANNOUNCED_MS = 15_000
/** Announcements within which a standby has to show that it lives. */
const BEATS = 2
const BEAT_MS = 3000

export const failover = command({
  name: 'failover',
  summary: 'moves the primary without loss; settles a failover',
  options: {
    to: { type: 'string', value: 'NAME', help: 'the standby that is to be the primary' },
    settle: {
      type: 'boolean',
      help: 'permits what is refused with FAILOVER_UNSETTLED after a failover',
    },
    wait: {
      type: 'string',
      value: 'TIME',
      help: `time to wait until it is the primary (default: ${WAIT_S / 60}m)`,
    },
    json: JSON_OPTION,
  },
  examples: [
    'forumd failover --to b',
    'forumd failover --to b --wait 30m --json',
    'forumd failover --settle',
  ],
  notes:
    'Runs on the host of the primary, beside its daemon. Checks that the standby lives and that its copy is fresh; then the daemon finishes what is in progress, replicates the rest, keeps the lease for that standby for one term, and is the standby itself. The other node is the primary only if its copy holds the last change; otherwise, or if it does not take the lease, this node goes on as the primary, and the exit code is 1. Run no other command of forumd meanwhile. --settle: after a failover that was not planned, comments and messages that the former primary may have sent are refused for [standby].unsettled_s; run it when you have looked, or do not mind a second one.',
  run({ values, ...context }) {
    if (values.settle === (values.to !== undefined))
      throw new UsageError('either --to NAME or --settle is needed')
    if (values.to === undefined) return settleFailover(context, values.json)
    const wait_ms =
      values.wait === undefined ? WAIT_S * 1000 : parseSpan('wait', values.wait, WAIT_S_MAX) * 1000
    const { to, json } = values
    const say = (line: string) => {
      if (!json) context.stdout.write(`${line}\n`)
    }
    return withNodes(context, async (nodes) => {
      const before = await requirePrimary(nodes)
      await requireStandby(nodes, to, before)
      say(`${to} lives, and its copy is fresh`)
      await handIn(context, nodes, { to, epoch: before.epoch })
      const began = nodes.clock.mono()
      say(`${nodes.own} finishes what is in progress`)
      const epoch = await arrival(nodes, { to, before, wait_ms, say })
      const took_s = Math.round((nodes.clock.mono() - began) / 100) / 10
      context.stdout.write(
        json
          ? `${JSON.stringify({ from: nodes.own, to, epoch, took_s })}\n`
          : `${to} is the primary in epoch ${epoch}, after ${took_s} s; ${nodes.own} is the standby\n`,
      )
      return EXIT.done
    })
  },
})

async function settleFailover(context: CommandContext, json: boolean): Promise<number> {
  const settled = await withInstance(context, ({ db, now }) => settleWrites(db, now))
  context.stdout.write(
    json
      ? `${JSON.stringify({ settled })}\n`
      : `${settled ? 'settled: comments and messages are accepted again' : 'nothing was unsettled'}\n`,
  )
  return EXIT.done
}

async function requirePrimary({ own, read }: WithNodes): Promise<LeaseRecord> {
  const { record } = await read()
  if (record === null || record.released)
    throw new CommandRefusal('no node is the primary: the lease is free')
  if (record.holder !== own)
    throw new CommandRefusal(
      `this node is ${own}, and the primary is ${record.holder}: run the command there`,
    )
  return record
}

async function requireStandby(
  { own, clock, read }: WithNodes,
  to: string,
  { epoch }: LeaseRecord,
): Promise<void> {
  if (to === own) throw new CommandRefusal(`${own} is the primary already`)
  const first = await read()
  const found = standbyNamed(first, to)
  const replication = first.nodes.find(({ node }) => node === own)?.primary?.replication
  if (replication !== 'running')
    throw new CommandRefusal(
      replication === 'ended'
        ? 'the process of [standby].replicate does not run: the replica would lack the last changes'
        : '[standby].replicate is not set: there is no replica that another node could restore',
    )
  const limit_ms = found.every_ms * BEATS + BEAT_MS
  let latest = found
  for (const began = clock.mono(); announcementOf(latest) === announcementOf(found);) {
    if (clock.mono() - began > limit_ms)
      throw new CommandRefusal(
        `${to} has not announced itself within ${Math.round(limit_ms / 1000)} s: is it running?`,
      )
    await clock.sleep(LOOK_MS)
    latest = standbyNamed(await read(), to)
  }
  const objection = judgeTarget(latest, { epoch, now: clock.now() })
  if (objection !== null) throw new CommandRefusal(`${to} cannot take over: ${objection}`)
}

function standbyNamed({ nodes }: NodesFound, name: string): NodeState {
  const found = nodes.find(({ node }) => node === name)
  if (found !== undefined) return found
  const names = nodes.filter(({ standby }) => standby !== null).map(({ node }) => node)
  throw new CommandRefusal(
    `there is no standby "${name}": ${names.length === 0 ? 'none has announced itself' : `there is ${names.join(', ')}`}`,
  )
}

/** Hands the request to the daemon of this host, by its database. */
async function handIn(
  context: CommandContext,
  { clock }: WithNodes,
  { to, epoch }: { to: string; epoch: number },
): Promise<void> {
  await withInstance(context, ({ db }) => askMove(db, to, epoch))
  for (const began = clock.mono(); clock.mono() - began < TAKEN_MS;) {
    await clock.sleep(LOOK_MS)
    if (!(await withInstance(context, ({ db }) => isMoveAsked(db)))) return
  }
  if (await withInstance(context, ({ db }) => withdrawMove(db)))
    throw new CommandRefusal('the daemon of this host does not take the request: is it running?')
}

/** Waits until the standby is the primary; returns its epoch. */
async function arrival(
  { own, clock, read }: WithNodes,
  {
    to,
    before,
    wait_ms,
    say,
  }: { to: string; before: LeaseRecord; wait_ms: number; say: (line: string) => void },
): Promise<number> {
  let said = ''
  let is_handed_over = false
  let arrived_at: number | null = null
  const once = (line: string) => {
    if (line !== said) say(line)
    said = line
  }
  for (const began = clock.mono(); clock.mono() - began < wait_ms; await clock.sleep(LOOK_MS)) {
    // The system of the lease may be away for a moment.
    const found = await read().catch(() => null)
    const record = found?.record ?? null
    if (found === null || record === null) continue
    // The last mark of a primary that stopped in order is in the record until the next one has entered its epoch.
    is_handed_over ||= record.data_epoch === before.epoch && record.data_mark !== null
    if (record.released && record.to === to)
      once(`everything is replicated; the lease is kept for ${to}`)
    else if (record.holder === to && record.epoch > before.epoch) {
      if (record.data_epoch === record.epoch) {
        arrived_at ??= clock.mono()
        const state = found.nodes.find(({ node }) => node === to)?.primary
        const is_announced = state?.epoch === record.epoch
        if (!is_handed_over && is_announced && state.unsettled_until !== null)
          throw new CommandRefusal(
            `${own} ended before everything was replicated: ${to} is the primary in epoch ${record.epoch} by a failover, and the last changes may be lost`,
          )
        if (is_handed_over || is_announced || clock.mono() - arrived_at > ANNOUNCED_MS)
          return record.epoch
        continue
      }
      once(`${to} restores the last changes`)
    } else if (record.epoch > before.epoch && record.data_epoch === record.epoch) {
      const error = found.nodes.find(({ node }) => node === to)?.standby?.error ?? ''
      throw new CommandRefusal(
        `${to} did not take over${error === '' ? '' : ` (${error})`}: ${record.holder} is the primary in epoch ${record.epoch}, and nothing is lost`,
      )
    }
  }
  throw new CommandRefusal(
    `${to} is not the primary yet, and ${own} does not act: see forumd replica status and the logs of both nodes`,
  )
}

import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { type InboxPosition, NO_FILTER, spanOf } from '../../core/inbox/filter.ts'
import { itemOfRow, MUTES } from '../../core/inbox/mute.ts'
import { createProposals, type Decision, withExclusions } from '../../core/inbox/proposals.ts'
import { searchableText } from '../../core/inbox/row.ts'
import { PROMPT_MAX, readRelevance } from '../../core/relevance/rules.ts'
import type { Db } from '../../store/db/connection.ts'
import { listMonitorMatches, type MonitorMatch } from '../../store/inbox/stats.ts'
import { findMonitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { querySchema, required } from '../http/fields.ts'
import { inboxPaths } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { proposalsExample } from './examples.ts'
import { createBodies } from './rows.ts'

const DAY_MS = 86_400_000
const DAYS = 30
/** Matches of a monitor that are read. */
const EXAMINED_MAX = 5000
const BYTES_MAX = 32_000_000
/** Matches that are read before other work runs, which takes milliseconds. */
const SLICE = 50

const proposalsQuery = querySchema(() => ({
  monitor: required('monitor', { max: 64 }).meta({ description: 'Id of the monitor.' }),
}))

/** Proposals from decisions in the inbox. */
export const inboxProposals = (context: RouteContext, db: Db) =>
  new Elysia({ name: `inbox proposals `, prefix: inboxPaths(context.words)[0] })
    .use(context.keyed)
    .get(
      '/proposals',
      ({ customer, query: { monitor } }) => proposals(context, db, customer.id, monitor),
      {
        query: proposalsQuery,
        detail: {
          summary: 'Exclusions that dismissed matches of a monitor propose',
          description: `Authors, places and words that at least three dismissed matches of the last ${DAYS} days have in common, that no answered or starred one has, and that are three times as frequent in dismissed matches as in others. Changes nothing: send preview.body to preview.path for the edit of the filter and its effect.`,
          tags: ['Inbox'],
          operationId: 'inboxProposals',
          ...answers(proposalsShape, proposalsExample(context.words)),
          ...refuses('NOT_FOUND'),
        },
      },
    )

const decisionOf = ({ state, starred }: MonitorMatch): Decision => {
  if (state === 'answered' || starred === 1) return 'kept'
  return state === 'dismissed' ? 'dismissed' : 'open'
}

const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

async function proposals(
  { words, clock }: RouteContext,
  db: Db,
  customer_id: string,
  monitor_id: string,
) {
  const monitor = findMonitor(db, customer_id, monitor_id)
  if (monitor === null)
    throw new ApiError('NOT_FOUND', { message: 'there is no such monitor', absent: 'monitor' })
  const collected = createProposals()
  const bodies = createBodies(db)
  const from = clock.now() - DAYS * DAY_MS
  let cursor: InboxPosition | null = null
  let [examined, rows] = [0, 0]
  do {
    const span = spanOf({ ...NO_FILTER, from }, cursor)
    const slice = listMonitorMatches(db, { customer_id, monitor_id, span, limit: SLICE })
    for (const match of slice) {
      const row = bodies.rowOf(match.match_row, match.item_id)
      const item = row === null ? null : itemOfRow(row, words.community)
      if (row === null || item === null) continue
      examined += 1
      const { author, subforum: place } = item
      const read = { id: match.item_id, author, place, text: searchableText(row) }
      collected.add(read, decisionOf(match))
    }
    rows = slice.length
    cursor = slice.at(-1) ?? cursor
    await pause()
  } while (rows === SLICE && examined < EXAMINED_MAX && bodies.bytes() < BYTES_MAX)
  const found = collected.list()
  const rules = readRelevance(monitor.relevance)
  const prompt = rules && withExclusions(rules.prompt, found, PROMPT_MAX)
  return {
    monitor_id,
    monitor_name: monitor.name,
    days: DAYS,
    examined,
    complete: rows < SLICE,
    ...collected.totals(),
    proposals: found.map(({ sample, ...it }) => ({
      ...it,
      preview: {
        path: `${words.monitor.replace(/\/monitor$/, '')}/inbox/mute`,
        body: {
          id: sample,
          mute: it.mute,
          monitor_id,
          ...(it.mute === 'phrase' && { phrase: it.value }),
        },
      },
    })),
    prompt:
      rules === null || prompt === null
        ? null
        : {
            before: rules.prompt,
            after: prompt,
            apply: {
              path: `${words.monitor}/update`,
              body: { id: monitor_id, relevance: { ...rules, prompt } },
            },
          },
  }
}

const counts = () => ({
  dismissed: z.int().meta({ description: 'Dismissed matches.' }),
  kept: z.int().meta({ description: 'Answered or starred matches.' }),
  open: z.int().meta({ description: 'Matches without a decision.' }),
})

const callShape = (description: string) =>
  z
    .object({
      path: z.string().meta({ description: 'Path of the call.' }),
      body: z.looseObject({}).meta({ description: 'Body to send there.' }),
    })
    .meta({ description })

const proposalsShape = () =>
  z.object({
    monitor_id: z.string(),
    monitor_name: z.string().nullable(),
    days: z.int().meta({ description: 'Days that were looked back.' }),
    examined: z.int().meta({ description: 'Matches of the monitor that were read.' }),
    complete: z.boolean().meta({ description: 'False: only the newest were read.' }),
    ...counts(),
    proposals: z
      .array(
        z.object({
          mute: z.enum(MUTES),
          value: z.string().meta({ description: 'Author, place or word.' }),
          ...counts(),
          preview: callShape('Call that shows the edit of the filter and its effect.'),
        }),
      )
      .meta({ description: 'At most ten of a kind, those with most dismissed matches first.' }),
    prompt: z
      .object({
        before: z.string().meta({ description: 'The present prompt.' }),
        after: z.string().meta({ description: 'The prompt with the proposed words.' }),
        apply: callShape('Call that makes the edit.'),
      })
      .nullable()
      .meta({
        description:
          'Addition to the prompt of the relevance rules; its effect is not known without calls of the model. Null: none is proposed, or the monitor has no such rules.',
      }),
  })

import type { Words } from '../core/wire.ts'
import { EXAMPLES_OF_ACCOUNT } from './openapi-example-account.ts'
import { exampleMonitoring } from './openapi-example-monitoring.ts'
import { exampleReads } from './openapi-example-reads.ts'
import { IDS } from './openapi-example-rows.ts'

const { monitor: MONITOR, webhook: WEBHOOK } = IDS

/** An answer of each of these routes, by its method and path, for the document; those of writes and health stand beside them. */
export const exampleAnswers = (words: Words): Readonly<Record<string, unknown>> => ({
  ...below(words.api, exampleReads(words)),
  ...below(words.monitor, exampleMonitoring(words)),
  ...EXAMPLES_OF_ACCOUNT,
})

const below = (prefix: string, answers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(answers).map(([route, answer]) => [route.replace(' ', ` ${prefix}`), answer]),
  )

/** A body that each of these routes takes, for the document; those of writes stand beside their fields. */
export function exampleBodies(words: Words): Readonly<Record<string, object>> {
  const { api, monitor, community } = words
  const filter_spec = { [community]: 'coffee', include_any: ['grinder', 'burr set'] }
  return {
    [`${api}/comments/verify`]: { ids: ['n3k01ab', 't1_n3k01ac'] },
    [`${monitor}/add`]: { filter_spec, webhook_ids: [WEBHOOK], name: 'grinders' },
    [`${monitor}/update`]: { id: MONITOR, active: false },
    [`${monitor}/remove`]: { id: MONITOR },
    [`${monitor}/preview`]: { filter_spec },
    [`${monitor}/feed/rotate`]: { id: MONITOR },
    [`${monitor}/webhook/create`]: { url: 'https://receiver.example.com/hook' },
    [`${monitor}/webhook/update`]: { id: WEBHOOK, max_per_second: 5 },
    [`${monitor}/webhook/rotate`]: { id: WEBHOOK },
    [`${monitor}/webhook/test`]: { id: WEBHOOK },
    [`${monitor}/webhook/delete`]: { id: WEBHOOK },
    [`${monitor}/deliveries/redeliver`]: { webhook_id: WEBHOOK, since: '2026-01-31T12:00:00Z' },
    '/feedback': {
      type: 'idea',
      title: 'Weekly summaries',
      details: 'One mail a week with what a monitor matched.',
    },
    '/drafts': {
      action: 'vote',
      body: { id: 't3_1abcde', direction: 'up' },
    },
  }
}

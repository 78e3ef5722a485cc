import type { Words } from '../core/wire.ts'

const MONITOR = 'mon_0199a000-0000-7000-8000-000000000001'
const WEBHOOK = 'wh_0199a000-0000-7000-8000-000000000002'

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

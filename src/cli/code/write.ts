import { decodeFilterSpec, renderFilterSpec } from '../../core/filter.ts'
import { isChat } from '../../core/webhook-kind.ts'
import type { Words } from '../../core/wire.ts'
import type { SetWebhook } from '../../store/as-code.ts'
import { VERSION } from './document.ts'
import type { Held } from './held.ts'

/** What customers have, as a document that declares it. What has its default is left out, and so is every secret. */
export function toDocument(all: readonly Held[], words: Words) {
  return {
    version: VERSION,
    customers: all.map(({ customer, webhooks, monitors }) => {
      const referenceOf = referencing(webhooks)
      return {
        name: customer.name,
        webhooks: webhooks.map((it) => ({
          id: it.id,
          ...(it.name !== null && { name: it.name }),
          kind: it.kind,
          ...(!isSecret(it) && { url: it.url }),
          ...(!it.active && { active: false }),
          ...(it.ordered && { ordered: true }),
          ...(it.max_per_second !== null && { max_per_second: it.max_per_second }),
        })),
        monitors: monitors.map((it) => ({
          id: it.id,
          ...(it.name !== null && { name: it.name }),
          ...(it.requested_cadence_s !== null && { cadence_s: it.requested_cadence_s }),
          ...(it.webhook_ids !== null && { webhooks: it.webhook_ids.map(referenceOf) }),
          ...(!it.active && { active: false }),
          filter_spec: renderFilterSpec(decodeFilterSpec(it.filter_spec), words),
        })),
      }
    }),
  }
}

/** Whoever knows the address of a chat service's hook may post there, and so may whoever knows a token in a query. */
const isSecret = ({ kind, url }: Pick<SetWebhook, 'kind' | 'url'>): boolean =>
  isChat(kind) || url.includes('?')

/** Webhooks by their names where a name is one's own, else by their ids. */
function referencing(webhooks: readonly SetWebhook[]): (id: string) => string {
  const names = webhooks.map(({ name }) => name)
  return (wanted) => {
    const name = webhooks.find(({ id }) => id === wanted)?.name ?? null
    return name !== null && names.indexOf(name) === names.lastIndexOf(name) ? name : wanted
  }
}

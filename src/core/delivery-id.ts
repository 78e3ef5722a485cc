import { hash } from 'node:crypto'

const ID_LENGTH = 22

/**
 * The stable id of what one monitor has to tell one target about these items, in this order: `dlv_` and 22
 * characters. The same match found again after a crash gets the same id, so that receivers can deduplicate.
 * `webhook_id` is null for a row that has no target.
 */
export function deliveryId(
  instance_id: string,
  monitor_id: string,
  webhook_id: string | null,
  item_ids: readonly string[],
): string {
  // No id holds a bar, so two different lists never run together into the same text.
  const parts = [instance_id, monitor_id, webhook_id ?? '', ...item_ids].join('|')
  return `dlv_${hash('sha256', parts, 'base64url').slice(0, ID_LENGTH)}`
}

import type { Config } from './schema.ts'

/** Warnings about valid but probably unintended settings, logged at start. */
export function warningsOf({
  guard,
  delivery,
  platform,
  plans,
  smtp,
  relevance,
}: Config): string[] {
  const warnings: string[] = []
  const delays = delivery.retry_delays_s.length
  if (delays !== 6)
    warnings.push(
      `delivery.retry_delays_s has ${delays} entries; the documented retry schedule has six attempts`,
    )
  if (guard.allow_http && guard.allow_targets.length === 0)
    warnings.push('guard.allow_http has no effect while guard.allow_targets is empty')
  if (platform.read_deadline_s < platform.timeout_s)
    warnings.push('platform.read_deadline_s is shorter than platform.timeout_s of a single request')
  if (smtp.url === '' && smtp.from !== '')
    warnings.push('smtp.from has no effect while smtp.url is empty')
  const { price_input_per_million_micros: input, price_output_per_million_micros: output } =
    relevance
  if (relevance.key !== '' && input === 0 && output === 0)
    warnings.push(
      'relevance.max_cost_usd_per_day has no effect while both prices of [relevance] are 0',
    )
  for (const [name, { slots, sitewide_slots }] of Object.entries(plans))
    if (sitewide_slots > slots)
      warnings.push(`plans.${name}.sitewide_slots is above slots, which bounds it`)
  return warnings
}

import type { Config } from './schema.ts'

/** Warnings about valid but probably unintended settings, logged at start. */
export function warningsOf({ guard, delivery, platform, plans, smtp }: Config): string[] {
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
  for (const [name, { slots, sitewide_slots }] of Object.entries(plans))
    if (sitewide_slots > slots)
      warnings.push(`plans.${name}.sitewide_slots is above slots, which bounds it`)
  return warnings
}

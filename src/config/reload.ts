import { isObject } from '../core/base/object.ts'
import type { Config } from './schema.ts'

/** A key whose value differs from that of the running daemon. */
export type Change = {
  /** Dotted name as in the file, such as `limits.key_rate`. */
  key: string
  /** true: applied on reload; false: needs a restart. */
  live: boolean
}

/** Keys that a reload applies. Cache ages and `tree_fetches` are fixed at start: they are not limits on callers. */
const LIVE = [
  /^log\.(level|access)$/,
  /^plans\./,
  /^billing\.(prices\.\w+|starting_credit|default_plan)$/,
  /^limits\.(?!tree_fetches$|read_cache_s$|health_cache_s$)/,
]

/** All keys that differ between two configurations, in the order of the first. */
export function changesBetween(now: Config, next: Config): Change[] {
  const before = settingsOf(now)
  const after = settingsOf(next)
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => ({ key, live: LIVE.some((it) => it.test(key)) }))
}

/**
 * Applies the live keys of `next` to `now`, the object that the running daemon reads. All other keys keep their values:
 * a partly applied change would match neither configuration.
 */
export function takeLive(now: Config, next: Config): void {
  now.log.level = next.log.level
  now.log.access = next.log.access
  for (const name of Object.keys(now.plans)) if (!(name in next.plans)) delete now.plans[name]
  Object.assign(now.plans, next.plans)
  const { price_micros, starting_credit_micros, default_plan } = next.billing
  Object.assign(now.billing.price_micros, price_micros)
  Object.assign(now.billing, { starting_credit_micros, default_plan })
  const { tree_fetches, read_cache_s, health_cache_s } = now.limits
  Object.assign(now.limits, next.limits, { tree_fetches, read_cache_s, health_cache_s })
}

/** Settings by their names in the file, with comparable texts as values. */
function settingsOf(value: object, above = ''): Map<string, string> {
  const settings = new Map<string, string>()
  for (const [name, it] of Object.entries(value)) {
    // Amounts are micro-dollars internally, in keys with the suffix `_micros`.
    const key = above + name.replace('price_micros', 'prices').replace(/_micros$/, '')
    if (isObject(it))
      for (const [inner, text] of settingsOf(it, `${key}.`)) settings.set(inner, text)
    else settings.set(key, JSON.stringify(it))
  }
  return settings
}

import { isObject } from '../core/object.ts'
import type { Config } from './schema.ts'

/** One key whose value is another than the running daemon's. */
export type Change = {
  /** As the file calls it: `limits.key_rate`. */
  key: string
  /** Whether the daemon takes it while it runs; what it does not takes a restart. */
  live: boolean
}

/** What a running daemon takes. A cache's age and a tree's size are no limits on callers: they are set at start. */
const LIVE = [
  /^log\.level$/,
  /^plans\./,
  /^billing\.(prices\.\w+|starting_credit|default_plan)$/,
  /^limits\.(?!tree_fetches$|read_cache_s$|health_cache_s$)/,
]

/** Every key in which two configurations differ, in the order of the first. */
export function changesBetween(now: Config, next: Config): Change[] {
  const before = settingsOf(now)
  const after = settingsOf(next)
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => ({ key, live: LIVE.some((it) => it.test(key)) }))
}

/**
 * Puts into `now`, which a running daemon reads from, what it can take of `next`. All else stays: half of a change that
 * needs a restart would be neither the old nor the new.
 */
export function takeLive(now: Config, next: Config): void {
  now.log.level = next.log.level
  for (const name of Object.keys(now.plans)) if (!(name in next.plans)) delete now.plans[name]
  Object.assign(now.plans, next.plans)
  const { price_micros, starting_credit_micros, default_plan } = next.billing
  Object.assign(now.billing.price_micros, price_micros)
  Object.assign(now.billing, { starting_credit_micros, default_plan })
  const { tree_fetches, read_cache_s, health_cache_s } = now.limits
  Object.assign(now.limits, next.limits, { tree_fetches, read_cache_s, health_cache_s })
}

/** Settings by the names that the file has for them, their values as texts that can be compared. */
function settingsOf(value: object, above = ''): Map<string, string> {
  const settings = new Map<string, string>()
  for (const [name, it] of Object.entries(value)) {
    // Money is micro-dollars inside, under a name that says so.
    const key = above + name.replace('price_micros', 'prices').replace(/_micros$/, '')
    if (isObject(it))
      for (const [inner, text] of settingsOf(it, `${key}.`)) settings.set(inner, text)
    else settings.set(key, JSON.stringify(it))
  }
  return settings
}

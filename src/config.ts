import { certificatesRefused } from './config/certificates.ts'
import { findPositions } from './config/positions.ts'
import { placed, refusalsOf } from './config/problems.ts'
import { isTable, type Refused, resolveReferences, type Surroundings } from './config/references.ts'
import { ABSENT, type Config, schema } from './config/schema.ts'
import { ConfigError, parseToml } from './config/toml.ts'

const NOTHING_AROUND: Surroundings = {
  env: {},
  readFile: () => {
    throw new Error('files are not read here')
  },
  credentials_dir: null,
}

/**
 * Reads a configuration and checks all of it. Throws one {@link ConfigError} whose message has a line
 * `file:line:column: key: what was found; what is allowed` for every problem.
 */
export function parseConfig(
  text: string,
  { file = 'forumd.toml', ...around }: Partial<Surroundings> & { file?: string } = {},
): Config {
  const parsed = parseToml(text, file, 'the file must be TOML before its keys can be read')
  const resolved = resolveReferences(parsed, { ...NOTHING_AROUND, ...around })
  const result = schema.safeParse({ ...ABSENT, ...resolved.value }, { jitless: true })
  const refused = [
    ...refusalsOf(result.error?.issues ?? [], resolved),
    ...contradictionsOf(resolved.value),
    // Where no files are read, as with a text alone, there is nobody to ask.
    ...(around.readFile ? certificatesRefused(resolved.value, around.readFile) : []),
  ]
  if (result.success && refused.length === 0) return result.data

  const positionOf = findPositions(text)
  const problems = refused.map((it) => placed(it, positionOf))
  throw new ConfigError(
    file,
    problems.toSorted((a, b) => a.line - b.line || a.column - b.column),
  )
}

/** What is right key by key, but not together. Looks at the text as it is: other keys may be wrong. */
function contradictionsOf(value: Readonly<Record<string, unknown>>): Refused[] {
  const refused: Refused[] = []
  const section = (name: string) => {
    const it = value[name]
    return isTable(it) ? it : {}
  }
  const isSet = (table: string, key: string) => (section(table)[key] ?? '') !== ''

  const plans = value['plans'] === undefined ? ['entry'] : Object.keys(section('plans'))
  const chosen = section('billing')['default_plan'] ?? 'entry'
  if (typeof chosen === 'string' && !plans.includes(chosen))
    refused.push({
      path: ['billing', 'default_plan'],
      found: `found ${JSON.stringify(chosen)}, but there is no such plan`,
      allowed: `add [plans.${chosen}]${plans.length > 0 ? `, or name one of ${plans.join(', ')}` : ''}`,
    })
  if (isSet('smtp', 'url') && !isSet('smtp', 'from'))
    refused.push({
      path: ['smtp', 'from'],
      found: 'missing',
      allowed: 'the address that mail comes from is needed when smtp.url is set',
    })
  if (isSet('operator', 'secret') && !isSet('operator', 'webhook'))
    refused.push({
      path: ['operator', 'webhook'],
      found: 'missing',
      allowed: 'the address to send to is needed when operator.secret is set',
    })
  return refused
}

/** What is allowed but probably not meant, a sentence each, for the operator to read at start. */
export function warningsOf({ guard, delivery, platform, plans, smtp }: Config): string[] {
  const warnings: string[] = []
  const rungs = delivery.retry_delays_s.length
  if (rungs !== 6)
    warnings.push(`delivery.retry_delays_s has ${rungs} rungs; receivers are promised six attempts`)
  if (guard.allow_http && guard.allow_targets.length === 0)
    warnings.push('guard.allow_http has no effect while guard.allow_targets is empty')
  if (platform.read_deadline_s < platform.timeout_s)
    warnings.push('platform.read_deadline_s is shorter than the time-out of a single request')
  if (smtp.url === '' && smtp.from !== '')
    warnings.push('smtp.from has no effect while smtp.url is empty')
  for (const [name, { slots, sitewide_slots }] of Object.entries(plans))
    if (sitewide_slots > slots)
      warnings.push(`plans.${name}.sitewide_slots is above slots, which bounds it`)
  return warnings
}

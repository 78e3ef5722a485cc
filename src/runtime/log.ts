import { type Clock, type Log, LOG_LEVELS, type LogLevel } from './runtime.ts'

export type LogSettings = {
  /** The lowest level that is written. Read at each line: it may change at run time. */
  level: LogLevel
  /** JSON lines, or lines for a person. */
  json: boolean
  /** ANSI colours in lines for a person. */
  color: boolean
  /** Prefixes each line with its priority for the journal: `<4>` (sd-daemon(3)). */
  journal?: boolean
  clock: Pick<Clock, 'now'>
  /** Writes one line, given without its line end. */
  write: (line: string) => void
}

/**
 * Allowed fields of a log line. Other fields are left out and counted, so that external text, a
 * header or a body cannot get into the log by being passed along.
 */
export const LOG_FIELDS: ReadonlySet<string> = new Set(
  `account act address addresses area at attempt attempts billed bytes call calls code config count customer cut_reason days
  delay_ms delivery delivery_id dir due duration_ms ends_at epoch error errors event_id fault feed feeds field file freed from gap holder host
  http_status id identity idle_ms instance instance_id interval_s item item_id items jump_ms key key_id kind last_error late_ms
  limit loop matched matches message method missed missed_estimate monitor monitor_id monitors name new_items next_at
  offset_ms page pages path path_kind pending pid place plan platform port purpose queued rate reason refused released
  remaining request request_id rest_ms retries retry_after_s retry_index round route rows schema seconds sent
  signal size state status status_code source stopped subforum subject suppressed target targets
  tier tries turn until uptime_s url value version waited_ms warning what webhook webhook_id why`.split(
    /\s+/,
  ),
)

const LONGEST_TEXT = 500
const LONGEST_LIST = 10

/**
 * Creates a log that writes events as lines: JSON for the journal, or aligned text for a person.
 * Times are the clock's.
 */
export function createLog(settings: LogSettings): Log {
  const { json, color, journal = false, clock, write } = settings
  return (at, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(at) < LOG_LEVELS.indexOf(settings.level)) return
    const time = new Date(clock.now()).toISOString()
    const safe_fields = safeFields(fields)
    const line = json
      ? JSON.stringify({ time, level: at, event, ...safe_fields })
      : pretty({ time, level: at, event, fields: safe_fields, color })
    write(journal ? `<${PRIORITIES[at]}>${line}` : line)
  }
}

/** Syslog priorities of the levels. */
const PRIORITIES: Record<LogLevel, number> = { debug: 7, info: 6, warn: 4, error: 3 }

type Scalar = string | number | boolean | null

function safeFields(fields: Readonly<Record<string, unknown>>): Record<string, Scalar> {
  const safe_fields: Record<string, Scalar> = {}
  let left_out = 0
  for (const [name, value] of Object.entries(fields)) {
    const scalar = LOG_FIELDS.has(name) ? scalarOf(value) : undefined
    if (scalar !== undefined) safe_fields[name] = scalar
    else if (value !== undefined) left_out++
  }
  return left_out > 0 ? { ...safe_fields, left_out } : safe_fields
}

function scalarOf(value: unknown): Scalar | undefined {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return masked(value.slice(0, LONGEST_LIST).filter(isText).join(' < '))
  return isText(value) ? masked(value) : undefined
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Masks keys, webhook secrets and credentials of addresses in a text. */
function masked(text: string): string {
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text
  return cut
    .replace(/\b(f[ko]_|whsec_)[\w+/=-]{8,}/g, '$1…')
    .replace(/\bBearer\s+\S+/gi, 'Bearer …')
    .replace(/:\/\/[^/\s@]*@/g, '://…@')
}

const COLORS: Record<LogLevel, number> = { debug: 90, info: 32, warn: 33, error: 31 }

function pretty(line: {
  time: string
  level: LogLevel
  event: string
  fields: Record<string, Scalar>
  color: boolean
}): string {
  const paint = (code: number, text: string) =>
    line.color ? `\u001b[${code}m${text}\u001b[0m` : text
  const fields = Object.entries(line.fields).map(
    ([name, value]) => `${paint(90, `${name}=`)}${formatScalar(value)}`,
  )
  const head = `${paint(90, line.time.slice(11, 19))} ${paint(COLORS[line.level], line.level.padEnd(5))}`
  return [head, line.event, ...fields].join(' ')
}

// Quoted if it is ambiguous or would move the cursor.
const formatScalar = (value: Scalar): string =>
  typeof value === 'string' && !/^[\x21-\x7e]+$/.test(value) ? JSON.stringify(value) : String(value)

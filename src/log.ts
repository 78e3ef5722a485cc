import { type Clock, type Log, LOG_LEVELS, type LogLevel } from './outside.ts'

/** How a log is written, and where. */
export type LogSettings = {
  /** The least that is written, asked at each line: it may change while we run. */
  level: LogLevel
  /** Lines of JSON, or lines for a person. */
  json: boolean
  /** ANSI colours in lines for a person. */
  color: boolean
  /** Each line begins with its priority as the journal reads it (sd-daemon(3)): `<4>`. */
  journal?: boolean
  clock: Pick<Clock, 'now'>
  /** Takes one line, without its end. */
  write: (line: string) => void
}

/**
 * What may stand in a log, by name. A field that is not here is left out and counted: what a stranger
 * wrote, a header or a body, cannot get in by being passed along.
 */
export const FIELDS: ReadonlySet<string> = new Set(
  `account act address area at attempt attempts billed boot bytes call calls code config count customer cut_reason
  delay_ms delivery delivery_id dir due duration_ms error errors event_id eyes fault field file freed from gap host
  http_status id idle_ms instance instance_id interval_s item item_id items jump_ms key key_id kind last_error late_ms
  limit loop matched matches message method missed missed_estimate monitor monitor_id monitors name new_items next_at
  offset_ms page pages path path_kind pending pid place plan platform port purpose queued rate reason refused released
  remaining request request_id rest_ms retries retry_after_s round route rows rung rungs schema seconds sent
  signal size state status status_code stopped stream stream_id streams subforum suppressed target targets
  tier tries turn uptime_s url value version waited_ms warning what webhook webhook_id why`.split(
    /\s+/,
  ),
)

const LONGEST_TEXT = 500
const LONGEST_LIST = 10

/** Writes events as lines: JSON for the journal, or aligned text for a person. Times are the clock's. */
export function createLog(settings: LogSettings): Log {
  const { json, color, journal = false, clock, write } = settings
  return (at, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(at) < LOG_LEVELS.indexOf(settings.level)) return
    const time = new Date(clock.now()).toISOString()
    const kept = keep(fields)
    const line = json
      ? JSON.stringify({ time, level: at, event, ...kept })
      : pretty({ time, level: at, event, fields: kept, color })
    write(journal ? `<${PRIORITIES[at]}>${line}` : line)
  }
}

/** syslog's numbers for our levels. */
const PRIORITIES: Record<LogLevel, number> = { debug: 7, info: 6, warn: 4, error: 3 }

type Scalar = string | number | boolean | null

function keep(fields: Readonly<Record<string, unknown>>): Record<string, Scalar> {
  const kept: Record<string, Scalar> = {}
  let left_out = 0
  for (const [name, value] of Object.entries(fields)) {
    const scalar = FIELDS.has(name) ? scalarOf(value) : undefined
    if (scalar !== undefined) kept[name] = scalar
    else if (value !== undefined) left_out++
  }
  return left_out > 0 ? { ...kept, left_out } : kept
}

function scalarOf(value: unknown): Scalar | undefined {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return masked(value.slice(0, LONGEST_LIST).filter(isText).join(' < '))
  return isText(value) ? masked(value) : undefined
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Keys, webhook secrets and the credentials of an address, wherever a text may have picked them up. */
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
    ([name, value]) => `${paint(90, `${name}=`)}${shown(value)}`,
  )
  const head = `${paint(90, line.time.slice(11, 19))} ${paint(COLORS[line.level], line.level.padEnd(5))}`
  return [head, line.event, ...fields].join(' ')
}

// Quoted when it could be mistaken for more than one thing, or would move the cursor.
const shown = (value: Scalar): string =>
  typeof value === 'string' && !/^[\x21-\x7e]+$/.test(value) ? JSON.stringify(value) : String(value)

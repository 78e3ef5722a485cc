import type { Stdout } from '../command.ts'
import { FIRST, SECOND } from './kinds.ts'

const WIDTH = 100

type Painted = {
  item: Record<string, unknown>
  monitor: string
  delivery_id: string
  after_ms: number
}

export type DemoOutput = ReturnType<typeof createDemoOutput>

export function createDemoOutput({ write, color }: Pick<Stdout, 'write' | 'color'>) {
  const paint = (code: number) => (text: string) =>
    color ? `\u001B[${code}m${text}\u001B[0m` : text
  const [bold, dim, red, green, cyan] = [paint(1), paint(2), paint(31), paint(32), paint(36)]
  const print = (line = '') => write(`${line}\n`)

  const line = (mark: string, text: string, after: string) => {
    // Escape sequences have no width.
    const width = WIDTH - 13 - after.length
    print(`  ${mark} ${truncate(text, width).padEnd(width)} ${dim(after)}`)
  }

  return {
    opening({
      daemon,
      platform,
      second,
      receiver,
      key,
      dir,
      link,
    }: Record<'daemon' | 'platform' | 'second' | 'receiver' | 'key' | 'dir' | 'link', string>) {
      const auth = '-H "Authorization: Bearer $KEY"'
      print(bold('forumd demo'))
      print('Two simulated forums, the daemon and a webhook receiver, all on this machine.')
      print(dim(`Nothing leaves it; ${dir} is removed at the end.`))
      print()
      print(`  daemon     ${cyan(daemon)}    reference: ${cyan(`${daemon}/docs`)}`)
      print(
        `  ${FIRST.padEnd(10)} ${platform}    the first [[source]]; posts and comments keep appearing`,
      )
      print(`  ${SECOND.padEnd(10)} ${second}    a [[source]] beside it; likewise`)
      print(`  receiver   ${receiver}`)
      print()
      print(bold('Try it from another terminal'))
      print(`  KEY=${key}`)
      print(`  curl -s ${auth} '${daemon}/api/forum/posts?subforum=coffee&limit=3'`)
      print(
        `  curl -s ${auth} '${daemon}/api/forum/posts?source=${SECOND}&subforum=coffee&limit=3'`,
      )
      print(`  curl -s ${auth} '${daemon}/forum/monitor/deliveries?limit=3'`)
      print()
      print(bold('In a browser (the link signs in once, within 15 minutes)'))
      print(`  ${cyan(link)}`)
      print()
      print(bold('Monitors'))
    },

    watching(name: string, filter: { subforum?: string | string[]; source?: string }) {
      const { subforum, source, ...rest } = filter
      const places = subforum === undefined ? source : [subforum].flat().join(', ')
      print(`  ${name.padEnd(34)} ${dim(truncate(`in ${places}: ${termsOf(rest)}`, WIDTH - 37))}`)
    },

    begin() {
      print()
      print(
        `${bold('As it happens')} ${dim('(a delivery: signature verified, seconds since its post appeared)')}`,
      )
    },

    read({
      path,
      rows,
      what,
      took_ms,
      remaining,
    }: {
      path: string
      rows: number
      what: string
      took_ms: number
      remaining: string | null
    }) {
      const left = remaining === null ? 'not billed' : `$${remaining} left`
      line(cyan('read     '), path, `${rows} ${what}, ${took_ms.toFixed(1)} ms, ${left}`)
    },

    posted({ place, title }: { place: string; title: string }) {
      line(bold('posted   '), `${place}: ${title}`, 'by the demo itself')
    },

    delivered({ item, monitor, after_ms }: Painted) {
      const { kind, source, subforum, title, body, enrichment } = item
      const place = [source, subforum]
        .map(singleLine)
        .filter((it) => it !== '')
        .join(' ')
      const text = kind === 'comment' ? `comment: ${singleLine(body)}` : singleLine(title)
      const seconds = Math.max(0, after_ms / 1000).toFixed(1)
      line(green('delivered'), `${place}: ${text}`, `verified, ${seconds} s`)
      print(
        `            ${dim(truncate(`${monitor}; matched ${matchedIn(enrichment)}`, WIDTH - 12))}`,
      )
    },

    trouble(event: string, fields: Record<string, unknown> = {}) {
      line(red('trouble  '), `${event} ${JSON.stringify(fields)}`, '')
    },

    closing(seen: {
      reads: number
      matches: number
      verified: number
      refused: number
      sources: readonly string[]
      credits_used: number
      total_requests: number
    }) {
      const { reads, matches, verified, refused, sources, credits_used, total_requests } = seen
      print()
      print(bold('Summary'))
      print(
        `  ${reads} reads by this program; the daemon counts ${total_requests} calls, $${credits_used} in all`,
      )
      print(
        `  ${matches} matches from ${sources.join(' and ') || 'no source'}; ${verified} deliveries with a valid signature, ${refused} refused`,
      )
    },
  }
}

const singleLine = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll(/\s+/g, ' ').trim() : ''

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).trimEnd()}…`

function termsOf(filter: object): string {
  return Object.entries(filter)
    .filter(([field]) => field !== 'kind')
    .map(([field, terms]) => `${field} ${Array.isArray(terms) ? terms.join(', ') : String(terms)}`)
    .join('; ')
}

function matchedIn(enrichment: unknown): string {
  const { relevance, sentiment, intent } = Object(enrichment)
  const terms: unknown[] = relevance?.matched_terms ?? []
  return `${terms.join(', ')}; ${sentiment?.label ?? ''}, ${String(intent?.tag ?? '').replaceAll('_', ' ')}`
}

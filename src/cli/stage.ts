import type { Stdout } from './command.ts'

const WIDTH = 100

type Painted = {
  item: Record<string, unknown>
  monitor: string
  delivery_id: string
  after_ms: number
}

/** What the demo shows, a line for each thing that happened. */
export type Stage = ReturnType<typeof createStage>

/** Writes the demo's lines; colours only where the terminal shows them. */
export function createStage({ write, color }: Pick<Stdout, 'write' | 'color'>) {
  const paint = (code: number) => (text: string) =>
    color ? `\u001B[${code}m${text}\u001B[0m` : text
  const [bold, dim, red, green, cyan] = [paint(1), paint(2), paint(31), paint(32), paint(36)]
  const say = (line = '') => write(`${line}\n`)

  const line = (mark: string, text: string, after: string) => {
    // Measured without its colours: the terminal does not show those.
    const room = WIDTH - 13 - after.length
    say(`  ${mark} ${cut(text, room).padEnd(room)} ${dim(after)}`)
  }

  return {
    opening({
      daemon,
      platform,
      receiver,
      key,
      dir,
    }: Record<'daemon' | 'platform' | 'receiver' | 'key' | 'dir', string>) {
      const auth = '-H "Authorization: Bearer $KEY"'
      say(bold('forumd demo'))
      say('A simulated platform, the daemon and a webhook receiver, all on this machine.')
      say(dim(`Nothing here leaves it, and ${dir} is removed at the end.`))
      say()
      say(`  daemon     ${cyan(daemon)}    reference: ${cyan(`${daemon}/docs`)}`)
      say(`  platform   ${platform}    (simulated; new posts and comments keep appearing)`)
      say(`  receiver   ${receiver}`)
      say()
      say(bold('Try it from another terminal'))
      say(`  KEY=${key}`)
      say(`  curl -s ${auth} '${daemon}/api/forum/posts?subforum=coffee&limit=3'`)
      say(`  curl -s ${auth} '${daemon}/api/forum/search/comments/deep?q=grinder&limit=3'`)
      say(`  curl -s ${auth} '${daemon}/forum/monitor/deliveries?limit=3'`)
      say(`  curl -s ${auth} '${daemon}/account/me'`)
      say(`  curl -s ${daemon}/health`)
      say()
      say(`  ${cyan(`${daemon}/dashboard`)}    in a browser, signed in with the same key`)
      say()
      say(bold('Monitors'))
    },

    watching(name: string, filter: { subforum: string | string[] }) {
      const { subforum, ...rest } = filter
      const places = [subforum].flat().join(', ')
      say(`  ${name.padEnd(30)} ${dim(cut(`in ${places}: ${termsOf(rest)}`, WIDTH - 33))}`)
    },

    begin() {
      say()
      say(
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

    posted({ subforum, title }: { subforum: string; title: string }) {
      line(bold('posted   '), `${subforum}: ${title}`, 'by the demo itself')
    },

    delivered({ item, monitor, after_ms }: Painted) {
      const { kind, subforum, title, body, enrichment } = item
      const text = kind === 'comment' ? `comment: ${plain(body)}` : plain(title)
      const seconds = Math.max(0, after_ms / 1000).toFixed(1)
      line(green('delivered'), `${plain(subforum)}: ${text}`, `verified, ${seconds} s`)
      say(`            ${dim(cut(`${monitor}; matched ${matchedIn(enrichment)}`, WIDTH - 12))}`)
    },

    trouble(event: string, fields: Record<string, unknown> = {}) {
      line(red('trouble  '), `${event} ${JSON.stringify(fields)}`, '')
    },

    closing(seen: {
      reads: number
      matches: number
      verified: number
      refused: number
      credits_used: number
      total_requests: number
    }) {
      const { reads, matches, verified, refused, credits_used, total_requests } = seen
      say()
      say(bold('What was seen'))
      say(
        `  ${reads} reads by this program; the daemon counts ${total_requests} calls, $${credits_used} in all`,
      )
      say(
        `  ${matches} matches, ${verified} deliveries with a signature that fits, ${refused} refused`,
      )
    },
  }
}

const plain = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll(/\s+/g, ' ').trim() : ''

const cut = (text: string, room: number): string =>
  text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1)).trimEnd()}…`

/** The keywords of a filter, as a person would say them. */
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

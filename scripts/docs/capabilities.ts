import { parseConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { createEgress } from '../../src/net/egress.ts'
import { capabilityText } from '../../src/page/lib/sources.ts'
import { KIND_NAMES, KINDS } from '../../src/platforms/kinds.ts'
import { ACCOUNT_CAPABILITIES } from '../../src/platforms/reddit/source.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { createSource } from '../../src/wiring/sources.ts'

/** The line above each table, and the page's other text, stay as they are. */
const TABLE = /(<!-- (capabilities|kinds): written by scripts\/docs\/docs\.ts -->\n\n)(?:\|.*\n)+/g

/** docs/sources.md with the tables of how each kind spells names and what it can do, from the adapters. */
export const withCapabilities = (page: string): string =>
  page.replace(
    TABLE,
    (_, head: string, name: string) => head + (name === 'kinds' ? kindTable() : capabilityTable()),
  )

const kindTable = (): string =>
  drawn([
    [
      'Kind',
      'Place (`subforum`)',
      'User',
      'Post',
      'Comment',
      'Completeness of monitors is proved by',
    ],
    ...KINDS.map(({ kind, syntax: { place, user, post, comment, proof } }) => [
      `\`${kind}\``,
      place,
      user,
      post,
      comment,
      proof,
    ]),
  ])

function capabilityTable(): string {
  const egress = createEgress({
    fetch: () => Promise.reject(new Error('no request is sent')),
    clock: realClock,
    resolve: () => Promise.resolve([]),
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
  const config = parseConfig(
    KIND_NAMES.flatMap((kind) => [
      '[[source]]',
      `name = "${kind}"`,
      `kind = "${kind}"`,
      `base_url = "https://${kind}.example"`,
      ...(kind === 'reddit' ? ['session_cookie = "session"'] : []),
    ]).join('\n'),
  )
  const columns = config.source.map((it) => {
    const { capabilities, watch, has_listings } = sourceOf(it, config, egress)
    const is_watched = watch !== null || has_listings === true
    return {
      name: `\`${it.kind}\``,
      capabilities: [
        ...capabilities,
        ...(it.kind === 'reddit' ? ACCOUNT_CAPABILITIES : []),
        ...(is_watched ? ['monitor'] : []),
      ],
      proof: has_listings === true ? 'time_listing' : (watch?.proof ?? null),
    }
  })
  egress.close()
  const codes = [...new Set(columns.flatMap(({ capabilities }) => [...capabilities]))]
  const rows = codes.map((code) => [
    `\`${code}\`: ${capabilityText(code)}`,
    ...columns.map(({ capabilities }) => (capabilities.includes(code) ? 'yes' : '')),
  ])
  const proofs = columns.map(({ proof }) => (proof === null ? '' : `\`${proof}\``))
  return drawn([
    ['Capability', ...columns.map(({ name }) => name)],
    ...rows,
    ['Proof of completeness', ...proofs],
  ])
}

const sourceOf = (
  source: Config['source'][number],
  config: Config,
  egress: ReturnType<typeof createEgress>,
) =>
  createSource(source, config, {
    clock: realClock,
    log: () => {},
    random: { uuid: () => '', fraction: () => 0, bytes: (size) => new Uint8Array(size) },
    egress,
  })

/** A Markdown table as the formatter writes it. */
export function drawn([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, at) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[at] ?? '').length)),
  )
  const line = (row: string[]) =>
    `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |\n`
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('')
}

import { FIGURES, MATCHING, POINTS } from './figures.ts'
import {
  archiveOf,
  ASSUMED,
  carriedBy,
  deliveryUs,
  isExtrapolated,
  type Load,
  MACHINES,
  matchingUs,
  memoryMb,
  most,
  needOf,
  sitewideItemsPerS,
} from './model.ts'

export const BEGIN = '<!-- bun run capacity: begin -->'
export const END = '<!-- bun run capacity: end -->'

const UNITS = [1, 10, 100, 1000]
const MONITORS = [1000, 10_000, 100_000, 1_000_000]
const ARCHIVES = [1e6, 1e7, 1e8, 1e9]
const MEASURED_MONITORS = MATCHING.at(-1)?.[0] ?? 0
const MEASURED_ARCHIVE = 1e7

const number = (value: number, digits = value < 10 ? 1 : 0): string =>
  value.toLocaleString('en', { maximumFractionDigits: digits })

function size(bytes: number): string {
  if (bytes >= 1e12) return `${number(bytes / 1e12, 1)} TB`
  if (bytes >= 1e9) return `${number(bytes / 1e9)} GB`
  return `${number(bytes / 1e6, 0)} MB`
}

function time(seconds: number): string {
  if (seconds >= 86_400) return `${number(seconds / 86_400)} days`
  if (seconds >= 3600) return `${number(seconds / 3600)} h`
  return `${number(seconds / 60, 0)} min`
}

/** Two digits of a small share: a part is never shown as nothing. */
const percent = (share: number): string =>
  share > 0 && share < 0.0005
    ? `${(share * 100).toLocaleString('en', { maximumSignificantDigits: 2 })} %`
    : `${number(share * 100)} %`

const starred = (text: string, is_extrapolated: boolean): string =>
  is_extrapolated ? `${text} *` : text

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function carried(load: Load, at: number): string {
  const machine = MACHINES[at]
  if (machine === undefined) return ''
  const { instances, ends } = carriedBy(load, machine)
  if (ends !== null) return `no: ${ends}`
  return instances === 1 ? 'yes' : `${instances} instances`
}

function loads(kind: Load['kind']): string {
  const unit = kind === 'accounts' ? 'accounts' : 'forums'
  const rows = UNITS.flatMap((units) =>
    MONITORS.map((monitors) => {
      const load: Load = { kind, units, monitors }
      const need = needOf(load)
      const beyond = isExtrapolated(load)
      return [
        number(units),
        number(monitors),
        ...(kind === 'accounts' ? [number(need.places)] : []),
        number(need.items_per_s),
        number(need.deliveries_per_s),
        starred(percent(need.main.all), beyond.main),
        starred(`${number(need.memory_mb / 1000, 1)} GB`, beyond.memory),
        `${size(need.database)}, ${size(need.with_snapshots)}`,
        ...MACHINES.map((_, at) => carried(load, at)),
      ]
    }),
  )
  return table(
    [
      unit,
      'monitors',
      ...(kind === 'accounts' ? ['places at 60 s'] : []),
      'items/s',
      'deliveries/s',
      'main thread',
      'memory',
      'database, with snapshots',
      ...MACHINES.map(({ cores }) => `${cores} cores`),
    ],
    rows,
  )
}

function limits(): string {
  const { planned } = ASSUMED
  const accounts = most(
    (units) => needOf({ kind: 'accounts', units, monitors: 1000 }).main.all <= planned,
  )
  const forums = most(
    (units) => needOf({ kind: 'forums', units, monitors: 1000 }).main.all <= planned,
  )
  const deliveries = (1e6 / deliveryUs()) * planned
  const memory = (gb: number) => most((it) => memoryMb(it) / 1000 <= gb * planned)
  const disk = (gb: number, snapshots: number) =>
    most(
      (monitors) =>
        (needOf({ kind: 'accounts', units: 1, monitors }).database * (1 + snapshots)) / 1e9 <=
        gb * planned,
    )
  const by = (of: (it: (typeof MACHINES)[number]) => number) =>
    MACHINES.map((it) => number(of(it))).join(', ')
  return table(
    ['Resource of one instance', 'Ends at'],
    [
      [
        'requests a minute of an account',
        `${number(FIGURES.places_per_account.value)} places of ordinary traffic at a cadence of 60 s *`,
      ],
      ['main thread, by accounts at their limit of requests', `${number(accounts)} accounts`],
      [
        'main thread, by forums at a cadence of 30 s',
        starred(
          `${number(forums)} forums`,
          isExtrapolated({ kind: 'forums', units: forums, monitors: 1000 }).main,
        ),
      ],
      [
        'main thread, by matching, if every monitor sees every item',
        MONITORS.map((it) =>
          starred(
            `${number(sitewideItemsPerS(it) * planned)} items/s against ${number(it)}`,
            it > MEASURED_MONITORS,
          ),
        ).join('; '),
      ],
      [
        'main thread, by deliveries with their matches',
        `${number(deliveries)} deliveries/s, those of ${number((deliveries * 86_400) / ASSUMED.matches_per_monitor_day / 1e6)} million monitors`,
      ],
      ['memory of 4, 32 and 128 GB', `${by(({ memory_gb }) => memory(memory_gb))} monitors *`],
      ...[ASSUMED.snapshots, ASSUMED.default_snapshots].map((snapshots) => [
        `disk of 80, 500 and 4,000 GB, with ${snapshots} snapshots`,
        `${by(({ disk_gb }) => disk(disk_gb, snapshots))} monitors`,
      ]),
      [
        'thread of the archive, by copying',
        `${number(FIGURES.copied_wall_per_s.value * planned)} items/s`,
      ],
    ],
  )
}

function archives(): string {
  const rows = ARCHIVES.map((items) => {
    const it = archiveOf(items)
    const star = items > MEASURED_ARCHIVE ? ' *' : ''
    const cell = (disk_gb: number) =>
      it.bytes / 1e9 <= disk_gb * ASSUMED.planned ? 'yes' : 'no: disk'
    return [
      number(items),
      size(it.bytes) + star,
      time(it.copy_s) + star,
      `${number(it.search_p50_ms)} ms, ${number(it.search_p99_ms)} ms${star}`,
      percent(it.trial_share) + star,
      ...MACHINES.map(({ disk_gb }) => cell(disk_gb)),
    ]
  })
  return table(
    [
      'items',
      'file',
      'time to copy them',
      'search of two words, p50, p99',
      'trial of a pattern reaches',
      ...MACHINES.map(({ cores, disk_gb }) => `${cores} cores, ${number(disk_gb)} GB`),
    ],
    rows,
  )
}

const basis = (): string =>
  table(
    ['Figure', 'Value', 'Measured by'],
    [
      ...Object.entries(FIGURES).map(([name, { value, measurement }]) => [
        `\`${name}\``,
        number(value, value < 100 ? 4 : 0),
        measurement,
      ]),
      ...MATCHING.map(([monitors, us]) => [
        `matching, ${number(monitors)} monitors`,
        `${number(us, 1)} µs an item`,
        '`bench:match`',
      ]),
      [
        `matching, ${number(1_000_000)} monitors`,
        `${number(matchingUs(1_000_000), 0)} µs an item`,
        `extrapolated beyond ${number(MEASURED_MONITORS)}`,
      ],
      ...POINTS.memory.map(({ monitors, rss_mb }) => [
        `memory, ${number(monitors)} ${monitors === 1 ? 'monitor' : 'monitors'}`,
        `${number(rss_mb, 0)} MB resident`,
        '`capacity --measure`',
      ]),
      ...POINTS.forums.map(({ forums, core, rss_mib }) => [
        `${number(forums)} ${forums === 1 ? 'forum' : 'forums'} of Discourse`,
        `${percent(core)} of a core, ${number(rss_mib, 0)} MiB`,
        '`capacity --measure`',
      ]),
    ],
  )

/** The generated section of docs/capacity.md. */
export function section(): string {
  const { matches_per_monitor_day, retention_days, snapshots, planned, cores_per_instance } =
    ASSUMED
  const machines = MACHINES.map(
    ({ cores, memory_gb, disk_gb }) =>
      `${cores} cores, ${memory_gb} GB and ${number(disk_gb)} GB of disk`,
  )
  return [
    BEGIN,
    `Assumed, not measured: a monitor has twenty terms, watches one place or forum, and matches ${matches_per_monitor_day} items a day; deliveries and
inbox are kept ${retention_days} days, with ${snapshots} snapshots; ${planned * 100} % of a resource is planned for. The machines have ${machines.join('; ')}.
An instance uses ${cores_per_instance} cores at most, one of them with its main thread. \`*\`: extrapolated.`,
    '### Where one instance ends',
    limits(),
    '### Accounts of one platform',
    'Each account uses its 100 requests a minute, polls and audits together. "yes": one instance carries it. "no": the resource that ends first.',
    loads('accounts'),
    '### Forums of their own',
    'Forums of Discourse with 0.2 posts a second each, at a cadence of 30 s.',
    loads('forums'),
    '### Archive',
    'Beside the database, without copies: the archive is not in snapshots. A search ends after 300 ms of work and says how far it came, so that a p99 above that is an answer that goes on with its cursor.',
    archives(),
    '### Figures of the model',
    `The rows of \`capacity --measure\`: ${POINTS.at}, ${POINTS.machine}, revision ${POINTS.revision}, load ${POINTS.load.toFixed(1)}. All others have their conditions in [benchmarks.md](benchmarks.md).`,
    basis(),
    END,
  ].join('\n\n')
}

/**
 * A page with its section replaced.
 *
 * @throws {Error} if it has no markers
 */
export function withSection(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from === -1 || to < from) throw new Error(`the page must hold ${BEGIN} and ${END}`)
  return page.slice(0, from) + section() + page.slice(to + END.length)
}

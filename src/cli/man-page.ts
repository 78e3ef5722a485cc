import type { Command, Option } from './command.ts'
import { EXIT } from './command.ts'
import { COMMON, exampleLines, usageLines } from './help.ts'
import { wrap } from './wrap.ts'

/** Text as roff reads it: nothing of it is a request, and a dash is a dash that can be copied. */
const roff = (text: string): string =>
  text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')

const LINE_MAX = 76
/** What man leaves, of a terminal 80 wide, to lines that it does not fill: it puts examples in by 14. */
const WIDTH = 64

/** Text that is filled: roff joins its lines again, and a person who reads the source has lines to read. */
const filled = (text: string): string => roff(wrap(text, LINE_MAX).join('\n'))

const FILES: [string, string][] = [
  ['./forumd.toml, /etc/forumd/forumd.toml', 'the configuration, the first of these that is there'],
  ['DIR/forumd.sqlite', 'the database, in the folder that [storage].dir names'],
  ['DIR/secrets.key', 'what secrets are sealed with: keep a copy of it apart from the backups'],
  ['DIR/forumd.address', 'where the daemon listens, for as long as it does'],
  ['DIR/snapshots/', 'copies of the database, as [upkeep] asks for them'],
]
const ENVIRONMENT: [string, string][] = [
  ['CREDENTIALS_DIRECTORY', 'where a file: name without a slash in it is looked up'],
  ['NO_COLOR', 'set to anything: no colours, on a terminal either'],
  ['NOTIFY_SOCKET, WATCHDOG_USEC', 'as systemd(1) sets them: whom to tell how things stand'],
]
const SIGNALS: [string, string][] = [
  [
    'SIGTERM, SIGINT',
    'serve finishes what is under way; a second one, or 15 seconds, end it at once',
  ],
  [
    'SIGHUP',
    'serve reads the configuration again: log.level, [limits], [plans] and [billing.prices] change under way, and the log names every key that takes a restart',
  ],
]
const STATUS: [string, string][] = [
  [String(EXIT.done), 'done'],
  [String(EXIT.failed), 'failed'],
  [String(EXIT.usage), 'bad usage or bad configuration'],
  [String(EXIT.restart), 'start me again'],
  [String(EXIT.broken), 'the database is missing or damaged: do not start me again'],
]

/** The manual page of the program, in man(7), made of the table of its commands. */
export function manPage(commands: readonly Command[], version: string): string {
  return [
    '.\\" Made by forumd man.',
    `.TH FORUMD 1 "" "forumd ${version}" "User Commands"`,
    '.SH NAME',
    roff('forumd - read, act on and watch a forum platform through your own accounts'),
    '.SH SYNOPSIS',
    '.B forumd',
    '.I command',
    roff('[options]'),
    '.SH DESCRIPTION',
    filled(
      'One daemon with an HTTP API, live monitors and signed webhooks, in one executable with one database file. Begin with',
    ),
    '.BR "forumd demo" .',
    '.SH OPTIONS',
    'Every command takes these.',
    ...optionsOf(COMMON),
    '.SH COMMANDS',
    ...commands.flatMap(section),
    '.SH EXIT STATUS',
    ...STATUS.flatMap(paragraph),
    '.SH SIGNALS',
    ...SIGNALS.flatMap(paragraph),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(paragraph),
    '.SH FILES',
    ...FILES.flatMap(paragraph),
    '',
  ].join('\n')
}

function section(it: Command): string[] {
  const { name, summary, notes, examples, options } = it
  const [first = '', ...rest] = summary
  return [
    `.SS ${roff(name)}`,
    filled(`${first.toUpperCase()}${rest.join('')}.`),
    '.PP',
    '.nf',
    roff(usageLines(it, WIDTH).join('\n    ')),
    '.fi',
    ...optionsOf(options),
    ...(notes === undefined ? [] : ['.PP', filled(notes)]),
    '.PP',
    '.RS',
    '.nf',
    ...examples.flatMap((example) => exampleLines(example, WIDTH)).map(roff),
    '.fi',
    '.RE',
  ]
}

const optionsOf = (options: Readonly<Record<string, Option>>): string[] =>
  Object.entries(options).flatMap(([option, { value, help }]) =>
    paragraph([`--${option}${value ? ` ${value}` : ''}`, help]),
  )

const paragraph = ([term, text]: readonly [string, string]): string[] => [
  '.TP',
  `.B ${roff(term)}`,
  filled(text),
]

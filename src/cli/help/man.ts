import { version } from '../../../package.json'
import { type Command, command, EXIT, type Option } from '../command.ts'
import { COMMON, exampleLines, usageOf, wrap } from './help.ts'

/** Escapes text for roff: no line is a request, and a dash stays a dash when copied. */
const roff = (text: string): string =>
  text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')

const LINE_MAX = 76
/** Columns for unfilled lines on a terminal of 80: man indents examples by 14. */
const WIDTH = 64

/** A filled paragraph: roff joins its lines, which keep the source readable. */
const filled = (text: string): string => roff(wrap(text, LINE_MAX).join('\n'))

const FILES: [string, string][] = [
  [
    './forumd.toml, /etc/forumd/forumd.toml',
    'the configuration, the first of these that exists; the one of the current folder only if you own it and no other user can write it',
  ],
  [
    './forumd.instance',
    'beside the configuration, unless [storage].instance_file names another: which instance belongs in DIR',
  ],
  ['DIR/forumd.sqlite', 'the database, in the folder that [storage].dir names'],
  ['DIR/secrets.key', 'the key that encrypts secrets: keep a copy of it apart from the backups'],
  ['DIR/forumd.address', 'the address of the running daemon'],
  ['DIR/command.key', 'the key with which commands request it'],
  ['DIR/snapshots/', 'copies of the database, as configured in [maintenance]'],
]
const ENVIRONMENT: [string, string][] = [
  ['NAME', 'a value of the configuration that is written as env:NAME'],
  ['CREDENTIALS_DIRECTORY', 'folder of file: names without a slash'],
  ['FORUMD_KEY', 'the key of forumd mcp'],
  [
    'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL',
    'access to the object store of [standby]',
  ],
  ['NO_COLOR', 'with any value: no colours, also on a terminal'],
  [
    'JOURNAL_STREAM, NOTIFY_SOCKET, WATCHDOG_PID, WATCHDOG_USEC',
    'set by systemd(1): the log has priorities, and status messages are sent',
  ],
]
const SIGNALS: [string, string][] = [
  [
    'SIGTERM, SIGINT',
    'serve finishes work in progress; a second signal, or 15 seconds, end it at once',
  ],
  [
    'SIGHUP',
    'serve reloads the configuration: log.level, log.access, [limits], [plans] and [billing] take effect, and the log names every key that needs a restart',
  ],
]
const STATUS: [string, string][] = [
  [String(EXIT.done), 'done'],
  [String(EXIT.failed), 'failed'],
  [String(EXIT.usage), 'bad usage or bad configuration'],
  [String(EXIT.restart), 'restart'],
  [String(EXIT.broken), 'the database is missing or damaged: do not restart'],
]

export function manPage(commands: readonly Command[], release: string): string {
  return [
    '.\\" Made by forumd man.',
    `.TH FORUMD 1 "" "forumd ${release}" "User Commands"`,
    '.SH NAME',
    roff('forumd - read, act on and watch a forum platform through your own accounts'),
    '.SH SYNOPSIS',
    '.B forumd',
    '.I command',
    roff('[options]'),
    '.SH DESCRIPTION',
    filled(
      'One daemon with an HTTP API, live monitors and signed webhooks, in one executable with one database file. Start with',
    ),
    '.BR "forumd init" ,',
    'or with',
    '.BR "forumd demo" ,',
    'which needs no configuration.',
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
    roff(usageOf(it)),
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

export const man = command({
  name: 'man',
  summary: 'prints the manual page in man(7) format',
  options: {},
  examples: ['forumd man | man -l -', 'forumd man > /usr/local/share/man/man1/forumd.1'],
  async run({ stdout, listCommands }) {
    stdout.write(manPage(await listCommands(), version))
    return EXIT.done
  },
})

// Here, since the other commands that print about the program load the configuration's schema.
export const versionCommand = command({
  name: 'version',
  summary: 'prints the version',
  options: {},
  examples: ['forumd version'],
  run({ stdout }) {
    stdout.write(`forumd ${version} (bun ${Bun.version}, ${process.platform} ${process.arch})\n`)
    return Promise.resolve(EXIT.done)
  },
})

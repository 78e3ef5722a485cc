import { command, EXIT, UsageError } from './command.ts'
import { parseWhole } from './inputs.ts'

const ANY_PORT = 0
const LAST_PORT = 65_535

export const playSandbox = command({
  name: 'sandbox',
  summary: 'runs a simulated platform to practise on',
  options: {
    port: { type: 'string', value: 'N', help: 'where it listens on 127.0.0.1; without it any' },
    seed: { type: 'string', value: 'N', help: 'the same seed gives the same world; 1' },
    speed: { type: 'string', value: 'X', help: '1 is lively, 0 adds only what is asked for; 1' },
  },
  examples: ['forumd sandbox --port 8090', 'forumd sandbox --port 8090 --seed 7 --speed 0'],
  notes: 'What can be done to it from outside, GET /__sandbox/ tells.',
  async run({ values, stdout, stopped, parts }) {
    const stop = stopped()
    const outside = await parts.createOutside({ level: 'info', json: 'auto' }, stdout)
    await using sandbox = await parts.startSandbox({
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      seed: parseWhole('seed', values.seed ?? '1', 0, 999_999_999),
      speed: parseSpeed(values.speed ?? '1'),
      outside,
    })
    stdout.write(
      [
        `The platform is at ${sandbox.url}. For a daemon that reads it:`,
        '',
        '[platform]',
        `base_url = "${sandbox.url}"`,
        `session_cookie = "${sandbox.session_cookie}"`,
        '',
      ].join('\n'),
    )
    await stop
    return EXIT.done
  },
})

export const playDemo = command({
  name: 'demo',
  summary: 'shows all of it at work: a platform, a daemon and a receiver in one process',
  options: {
    port: { type: 'string', value: 'N', help: 'where the daemon listens; without it any' },
    seconds: { type: 'string', value: 'N', help: 'end by itself after this long' },
  },
  examples: ['forumd demo', 'forumd demo --port 8080 --seconds 60'],
  notes:
    'Nothing is kept: the data folder is a temporary one. With --seconds the exit code is 0 only when a read, a match and a verified delivery all happened.',
  async run({ values, stdout, stopped, parts }) {
    const { seconds } = values
    const { demo } = await import('./demo.ts')
    return demo({
      port: parseWhole('port', values.port ?? '0', ANY_PORT, LAST_PORT),
      seconds: seconds === undefined ? null : parseWhole('seconds', seconds, 1, 86_400),
      stdout,
      stopped,
      parts,
    })
  },
})

function parseSpeed(text: string): number {
  const speed = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (speed <= 1000) return speed
  throw new UsageError(`--speed is "${text}": allowed is a number from 0 to 1000`)
}

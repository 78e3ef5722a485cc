import { readFileSync } from 'node:fs'

import { errorCode } from '../core/error-code.ts'
import { base32 } from '../core/totp.ts'
import { Refusal, type Surroundings, UsageError } from './command.ts'

/** Where a secret may be named to be: never on the command line, which every process of the machine can read. */
export const FROM = 'FILE|-|env:NAME'

type Around = Pick<Surroundings, 'env' | 'readStdin' | 'stdinIsTerminal' | 'warn' | 'askSecret'>

/** Reads what options name, standard input once at most. */
export function createSources(around: Around) {
  let taken_by: string | null = null

  async function read(option: string, from: string): Promise<string> {
    if (from.startsWith('env:')) return fromEnvironment(option, from.slice('env:'.length))
    if (from !== '-') return fromFile(option, from)
    if (taken_by !== null)
      throw new UsageError(
        `--${option} and --${taken_by} cannot both be read from standard input: put one into a file`,
      )
    taken_by = option
    if (around.stdinIsTerminal) around.warn(`Paste what --${option} needs, then press Ctrl-D:`)
    return around.readStdin()
  }

  function fromEnvironment(option: string, name: string): string {
    const value = around.env[name]
    if (value !== undefined && value !== '') return value
    throw new UsageError(`--${option}: the environment has no ${name}, or an empty one`)
  }

  /** A secret of one line; the end of the line is not part of it. */
  async function secret(option: string, from: string): Promise<string> {
    const text = (await read(option, from)).replace(/\r?\n$/, '')
    if (text !== '' && text.length <= LONGEST && !/[\r\n\0]/.test(text)) return text
    throw new UsageError(
      `--${option}: allowed is one line of 1 to ${LONGEST} characters; its content is not shown`,
    )
  }

  /** Asks the person at the terminal, without showing what is typed; null when nobody is there. Throws Refusal. */
  async function ask(question: string): Promise<string | null> {
    if (!around.stdinIsTerminal || around.askSecret === undefined) return null
    const typed = await around.askSecret(question)
    // The platform counts sign-ins that fail: one with nothing in it is not tried.
    if (typed === '') throw new Refusal('nothing was typed, and nothing is done')
    return typed
  }

  return { read, secret, ask }
}

export type Sources = ReturnType<typeof createSources>

const LONGEST = 4096

function fromFile(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = errorCode(error) || 'unreadable'
    throw new UsageError(`--${option}: the file ${path} cannot be read (${code})`)
  }
}

/** A second factor's secret as it may be. Throws UsageError, which does not repeat it. */
export function checkTotp(text: string): string {
  if (base32(text) !== null) return text
  throw new UsageError(
    '--totp-file: allowed is the base32 secret of the second factor: letters A to Z and digits 2 to 7',
  )
}

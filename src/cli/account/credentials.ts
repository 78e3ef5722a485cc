import { readFileSync } from 'node:fs'

import { errorCode } from '../../core/base/errors.ts'
import { type CommandContext, CommandRefusal, UsageError } from '../command.ts'

/** Sources of a secret. The command line is none of them: every process of the machine can read it. */
export const FROM = 'FILE|-|env:NAME'

type SourceContext = Pick<
  CommandContext,
  'env' | 'readStdin' | 'stdinIsTerminal' | 'warn' | 'promptSecret'
>

/**
 * Reads the sources that options name, standard input at most once. Files are read first: opening the data folder may
 * change to a user that may not read them.
 */
export function createSources(context: SourceContext, values: Readonly<Record<string, unknown>>) {
  const texts = new Map<string, string | UsageError>()
  for (const [option, from] of Object.entries(values))
    if (/^jar$|-file$/.test(option) && typeof from === 'string' && isFile(from))
      texts.set(option, fromFile(option, from))
  let taken_by: string | null = null

  async function read(option: string, from: string): Promise<string> {
    if (from.startsWith('env:')) return fromEnvironment(option, from.slice('env:'.length))
    if (isFile(from)) {
      const text = texts.get(option) ?? fromFile(option, from)
      if (typeof text === 'string') return text
      throw text
    }
    if (taken_by !== null)
      throw new UsageError(
        `--${option} and --${taken_by} cannot both be read from standard input: put one in a file`,
      )
    taken_by = option
    if (context.stdinIsTerminal)
      context.warn(`Paste the content for --${option}, then press Ctrl-D:`)
    return context.readStdin()
  }

  function fromEnvironment(option: string, name: string): string {
    const value = context.env[name]
    if (value !== undefined && value !== '') return value
    throw new UsageError(`--${option}: the environment variable ${name} is not set, or is empty`)
  }

  /**
   * Prompts on the terminal without echo; null without a terminal.
   * @throws {CommandRefusal} The line is empty.
   */
  async function prompt(question: string): Promise<string | null> {
    if (!context.stdinIsTerminal || context.promptSecret === undefined) return null
    const typed = await context.promptSecret(question)
    // The platform counts failed sign-ins: an empty password is not tried.
    if (typed === '') throw new CommandRefusal('the input is empty; no action was taken')
    return typed
  }

  return {
    read: async (option: string, from: string) => (await read(option, from)).replace(/\r?\n$/, ''),
    prompt,
  }
}

export type Sources = ReturnType<typeof createSources>

const isFile = (from: string) => from !== '-' && !from.startsWith('env:')

function fromFile(option: string, path: string): string | UsageError {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = errorCode(error) || 'unreadable'
    return new UsageError(`--${option}: the file ${path} cannot be read (${code})`)
  }
}

/** The part of a terminal that input without echo needs. */
type Keys = {
  setRawMode?(raw: boolean): unknown
  on(event: 'data', take: (chunk: Uint8Array) => void): unknown
  off(event: 'data', take: (chunk: Uint8Array) => void): unknown
  resume(): unknown
  pause(): unknown
}

const LINE_END = 10
const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f']

/** @throws {CommandRefusal} Ctrl-C was pressed. */
export async function readHidden(
  question: string,
  keys: Keys,
  screen: { write(text: string): unknown },
): Promise<string> {
  const typed = Promise.withResolvers<string>()
  const decoder = new TextDecoder()
  let line: string[] = []

  const take = (chunk: Uint8Array) => {
    for (const key of decoder.decode(chunk, { stream: true })) {
      if (key === '\r' || key === '\n' || key === CTRL_D) return typed.resolve(line.join(''))
      if (key === CTRL_C) return typed.reject(new CommandRefusal('cancelled'))
      if (key === BACKSPACE || key === DELETE) line = line.slice(0, -1)
      else line.push(key)
    }
  }

  screen.write(question)
  keys.setRawMode?.(true)
  keys.on('data', take)
  keys.resume()
  try {
    return await typed.promise
  } finally {
    keys.off('data', take)
    keys.pause()
    keys.setRawMode?.(false)
    screen.write('\n')
  }
}

/** Standard input, whose next line may arrive with this one. */
type LineKeys = Keys & {
  once(event: 'end', then: () => void): unknown
  unshift(rest: Uint8Array): unknown
}

/**
 * Reads one line that the terminal echoes and lets edit. Ctrl-C ends the process, as everywhere.
 * @throws {CommandRefusal} The terminal is closed, or the person pressed Ctrl-D.
 */
export async function readLine(
  question: string,
  keys: LineKeys,
  screen: { write(text: string): unknown },
): Promise<string> {
  const typed = Promise.withResolvers<string>()
  let bytes = new Uint8Array()
  const take = (chunk: Uint8Array) => {
    bytes = Buffer.concat([bytes, chunk])
    const end = bytes.indexOf(LINE_END)
    if (end === -1) return
    keys.pause()
    keys.off('data', take)
    if (end + 1 < bytes.length) keys.unshift(bytes.subarray(end + 1))
    typed.resolve(new TextDecoder().decode(bytes.subarray(0, end)))
  }
  screen.write(question)
  keys.on('data', take)
  keys.once('end', () => typed.reject(new CommandRefusal('cancelled: nothing was written')))
  keys.resume()
  try {
    return await typed.promise
  } finally {
    keys.off('data', take)
    keys.pause()
  }
}

import type { Change } from '../config/reload.ts'
import type { Config } from '../config/schema.ts'
import type { Outside } from '../outside.ts'
import type { Stuck } from '../systemd/progress.ts'
import type { Desk } from './desk.ts'

/** A daemon that runs until it is disposed of. */
export type Running = AsyncDisposable & {
  readonly url: string
  /** Resolves with the reason when the daemon cannot go on and wants to be started again. */
  readonly failed?: Promise<string>
  /** What of it is more than so late with what it has to do; null when it advances. */
  stuck(slack_ms: number): Stuck | null
  /** Takes up what was written beside it. */
  lookBeside(): void
  /** How things stand, in a line. */
  standing(): string
  /** Takes what it can of another configuration, and tells every key that differs. */
  reconfigure(next: Config): Change[]
}

/** A simulated platform that runs until it is disposed of. */
type RunningSandbox = AsyncDisposable & {
  readonly url: string
  /** Where a bearer is spoken to; null where there is no such host. */
  readonly bearer_url: string | null
  /** Where its chats are; null where there is no such host. */
  readonly chat_url: string | null
  readonly session_cookie: string
}

/** Where a command writes its answer. */
export type Stdout = {
  /** Takes text as it is. */
  write: (text: string) => void
  isTerminal: boolean
  color: boolean
}

/** The rooms that the command line may not see itself; `main` hands them over, each loaded when it is called. */
export type Parts = {
  /** The real world, with a log that writes to `stdout` as the configuration says. */
  createOutside: (log: Config['log'], stdout: Stdout) => Promise<Outside>
  startDaemon: (config: Config, outside: Outside) => Promise<Running>
  openApiDocument: (config: Config) => Promise<unknown>
  /** Speaks MCP over standard input and output for the daemon at `url`, until the other end closes it. */
  serveMcp: (options: {
    url: string
    key: string
    /** The cookies of the caller's own account, by the names of a body's fields. */
    session: Readonly<Record<string, string>>
    within_ms: number
    warn: (line: string) => void
    stopped: Promise<unknown>
  }) => Promise<void>
  /** What asks the platform for the operator's accounts, without a daemon. */
  openDesk: (config: Config, outside: Outside) => Promise<Desk>
  startSandbox: (options: {
    port: number
    bearer_port?: number
    /** Of the chat host; 0: any free port. */
    chat_port?: number
    /** Whose names tell its hosts apart on one port. */
    domain?: string
    /** Certificate and key, in PEM. */
    tls?: { cert: string; key: string }
    seed: number
    speed: number
    /** Calls that nobody's eyes have in ten minutes; without it as the platform allows. */
    allowance?: number
    outside: Pick<Outside, 'clock'>
  }) => Promise<RunningSandbox>
}

/** What surrounds one run of the program. */
export type Surroundings = {
  env: Readonly<Record<string, string | undefined>>
  stdout: Stdout
  /** Takes one line, without its end. */
  warn: (line: string) => void
  /** A terminal beside standard output, for what is only of this moment; null where nobody watches. */
  screen: { write: (text: string) => void; columns: () => number } | null
  /** All of standard input, up to a size that no key and no jar has. */
  readStdin: () => Promise<string>
  stdinIsTerminal: boolean
  /** Asks the person at the terminal, without showing what is typed. */
  askSecret?: (question: string) => Promise<string>
  /** The name of the first SIGTERM or SIGINT. After it, a second one ends the process at once, and so do 15 s. */
  stopped: () => Promise<string>
  /** Calls back whenever the process is asked to read its configuration again, until disposed of. */
  onReload: (take: () => void) => Disposable
  parts: Parts
}

/** An option of a command, as `parseArgs` takes it, with what help says of it. */
export type Option = {
  type: 'string' | 'boolean'
  help: string
  /** What stands for the value in help, such as NAME. */
  value?: string
  required?: true
}

/** For every command whose answer a program may want to read. */
export const JSON_OPTION = { type: 'boolean', help: 'answer as JSON' } as const satisfies Option

type Values<O> = {
  readonly [K in keyof O]: O[K] extends { type: 'boolean' }
    ? boolean
    : O[K] extends { required: true }
      ? string
      : string | undefined
}

/** One use of a command: its options and operands as given, and what surrounds it. */
export type Call<O> = Surroundings & {
  values: Values<O> & { readonly config: string | undefined }
  operands: readonly string[]
}

type About = {
  /** As typed: `key create`. */
  name: string
  /** One line. */
  summary: string
  /** Names of what stands without an option; in brackets when it may be left out. */
  operands?: readonly string[]
  examples: readonly string[]
  /** Further sentences for its own help. */
  notes?: string
}

/** A command as the table holds it. `run` does it, and answers the exit code. */
export type Command = About & {
  options: Readonly<Record<string, Option>>
  run(call: Surroundings & { values: object; operands: readonly string[] }): Promise<number>
}

/** A command, with the types of its options inferred. */
export const command = <const O extends Readonly<Record<string, Option>>>(
  it: About & { options: O; run(call: Call<O>): Promise<number> },
): Command => it

/** 0 done, 1 failed, 2 bad usage or bad configuration, 75 restart me, 78 do not restart (contract 1). */
export const EXIT = { done: 0, failed: 1, usage: 2, restart: 75, broken: 78 } as const

/** What was typed cannot be meant. Its message is for the person who typed it. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** It was meant, but cannot be done now. Its message says why. */
export class Refusal extends Error {
  override name = 'Refusal'
}

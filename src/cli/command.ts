import type { Change } from '../config/reload.ts'
import type { Config } from '../config/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Stuck } from '../runtime/systemd.ts'
import type { InstancePaths } from '../store/maintenance/paths.ts'
import type { PlatformTools } from './account/platform-tools.ts'

export type RunningDaemon = AsyncDisposable & {
  readonly url: string
  /** Resolves with the reason when the daemon cannot go on and wants to be started again. */
  readonly failed?: Promise<string>
  /** Set while it only answers health and waits, for its disk or for the lease; resolves when another start is worth a try. */
  readonly recovered?: Promise<void>
  /** Set on a standby: ends it and starts what it waited for. Called after `recovered`. */
  proceed?(): Promise<RunningDaemon>
  /** The first loop overdue by more than the given time; null if none is. */
  stuck(slack_ms: number): Stuck | null
  /** Picks up changes that another process made to the database. */
  noticeExternalWrites(): void
  statusLine(): string
  /** Applies the reloadable keys of a new configuration and returns every key that differs. */
  reconfigure(next: Config): Change[]
  /** Records that a configuration was refused and had no effect. */
  noteRefusedReload(): void
}

/** A simulated platform that runs until it is disposed. */
type RunningSandbox = AsyncDisposable & {
  readonly url: string
  /** Address for requests with a bearer token; null: no such host. */
  readonly bearer_url: string | null
  /** Address of the chat host; null: no such host. */
  readonly chat_url: string | null
  readonly session_cookie: string
}

export type Stdout = {
  write: (text: string) => void
  isTerminal: boolean
  color: boolean
}

/** Parts that the command line may not import; `main` passes them in, each loaded on its first call. */
export type Factories = {
  /** The real runtime, with a log that writes to `stdout` as configured. */
  createRuntime: (log: Pick<Config['log'], 'level' | 'json'>, stdout: Stdout) => Promise<Runtime>
  startDaemon: (config: Config, runtime: Runtime) => Promise<RunningDaemon>
  openApiDocument: (config: Config) => Promise<unknown>
  /** Answers a request to the API in this process, without listening. */
  answer: (
    config: Config,
    runtime: Runtime,
    storage: OpenConfig['storage'],
    request: Request,
  ) => Promise<Response>
  /** Speaks MCP over standard input and output for the daemon at `url`, until the other end closes it. */
  serveMcp: (options: {
    url: string
    key: string
    /** Cookies of the caller's own account, by the field names of a request body. */
    session: Readonly<Record<string, string>>
    toolsets: string | null
    within_ms: number
    warn: (line: string) => void
    stopped: Promise<unknown>
  }) => Promise<void>
  /** Requests to the platform for the operator's accounts, without a daemon. */
  openPlatformTools: (config: Config, runtime: Runtime) => Promise<PlatformTools>
  startSandbox: (options: {
    port: number
    bearer_port?: number
    /** Port of the chat host; 0: any free port. */
    chat_port?: number
    /** Parent domain of its hosts, which share one port. */
    domain?: string
    /** Certificate and key, in PEM. */
    tls?: { cert: string; key: string }
    seed: number
    speed: number
    /** Anonymous requests per ten minutes; default: the platform's limit. */
    allowance?: number
    runtime: Pick<Runtime, 'clock'>
  }) => Promise<RunningSandbox>
  /** Starts a simulated platform of a further kind, which has one host. */
  startSource: (
    kind: string,
    options: {
      port: number
      domain?: string
      tls?: { cert: string; key: string }
      seed: number
      speed: number
      runtime: Pick<Runtime, 'clock'>
    },
  ) => Promise<AsyncDisposable & { readonly url: string }>
}

export type ProcessContext = {
  env: Readonly<Record<string, string | undefined>>
  stdout: Stdout
  /** Writes one line to standard error; the line end is added. `info`: its priority in the journal. */
  warn: (line: string, level?: 'info') => void
  /** A terminal beside standard output, for progress; null: no terminal. */
  screen: { write: (text: string) => void; columns: () => number } | null
  /** All of standard input, up to a size above that of any key or cookie jar. */
  readStdin: () => Promise<string>
  stdinIsTerminal: boolean
  /** Asks a question on the terminal; the answer in one line. */
  ask?: (question: string) => Promise<string>
  /** Prompts on the terminal without echo. */
  promptSecret?: (question: string) => Promise<string>
  /** The name of the first SIGTERM or SIGINT. After it, a second one ends the process at once, and so do 15 s. */
  stopped: () => Promise<string>
  /** Calls back at each request to reload the configuration, until disposed. */
  onReload: (take: () => void) => Disposable
  factories: Factories
}

export type ReadConfig = { file: string; text: string; config: Config; warnings: string[] }

/** A configuration whose data folder this process may now use. */
export type OpenConfig = ReadConfig & {
  storage: Pick<InstancePaths, 'dir' | 'key_file' | 'instance_file'> & {
    key_bytes: Uint8Array | null
  }
}

/** The configuration of one run. It is read once: the user that the process becomes may not be allowed to read it. */
type ConfigState = {
  /** The value of --config. */
  readonly named: string | undefined
  /** The user that started the process. */
  readonly caller: number
  found?: ReadConfig
  opened?: OpenConfig
}

export type CommandContext = ProcessContext & { configuration: ConfigState }

/** An option of a command for `parseArgs`, with its help text. */
export type Option = {
  type: 'string' | 'boolean'
  help: string
  /** Placeholder of the value in help, such as NAME. */
  value?: string
  required?: true
}

export const JSON_OPTION = { type: 'boolean', help: 'answer as JSON' } as const satisfies Option

type Values<O> = {
  readonly [K in keyof O]: O[K] extends { type: 'boolean' }
    ? boolean
    : O[K] extends { required: true }
      ? string
      : string | undefined
}

export type Invocation<O> = CommandContext & {
  values: Values<O> & { readonly config: string | undefined }
  operands: readonly string[]
  listCommands: () => Promise<Command[]>
}

type About = {
  /** As typed: `key create`. */
  name: string
  /** One line. */
  summary: string
  /** Names of the operands; in brackets when optional. */
  operands?: readonly string[]
  examples: readonly string[]
  notes?: string
}

/** A command in the table. `run` returns the exit code. */
export type Command = About & {
  options: Readonly<Record<string, Option>>
  run(call: Omit<Invocation<object>, 'values'> & { values: object }): Promise<number>
}

/** A command, with the types of its options inferred. */
export const command = <const O extends Readonly<Record<string, Option>>>(
  it: About & { options: O; run(call: Invocation<O>): Promise<number> },
): Command => it

/** 0 done, 1 failed, 2 bad usage or bad configuration, 75 restart, 78 do not restart. */
export const EXIT = { done: 0, failed: 1, usage: 2, restart: 75, broken: 78 } as const

/** Invalid command line or configuration. The message is for the person who typed it. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A valid command that cannot be run now. The message gives the reason. */
export class CommandRefusal extends Error {
  override name = 'Refusal'
}

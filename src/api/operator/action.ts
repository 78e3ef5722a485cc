import type { HTTPHeaders } from 'elysia'
import type * as z from 'zod'

import type { Outcome } from '../../core/base/result.ts'
import type { Ring } from '../../core/base/secrets.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import type { Clock, Log, Random } from '../../runtime/runtime.ts'
import type { OperatorAction } from '../../store/customers/operator-actions.ts'
import type { Db } from '../../store/db/connection.ts'
import type { MonitorView } from '../account/problems.ts'
import type { DraftExecutor } from '../drafts/executor.ts'
import type { PoolControl, RequestCounts } from './accounts.ts'

export type ActionDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  random: Random
  pool: PoolControl
  requests: RequestCounts
  allow_anonymous: boolean
  /** Sends what is due now. */
  nudgeSender(): void
  plans: () => { names: string[]; default_plan: string }
  starting_credit_micros: number
  words: Naming
  view?: MonitorView | undefined
  /** The address of the service, as browsers of this machine reach it. */
  public_url: () => string
  drafts: DraftExecutor
  /** Requests the platform through a proxy; null: no source has accounts, to which proxies belong. */
  tryProxy(proxy: Proxy): Promise<Outcome<unknown>> | null
}

/** One call of an action. */
export type Call<T> = ActionDeps & {
  /** Values of the path, and of the body or the query. */
  input: T
  /** Id of the operator's key. */
  key_id: string
  /** Records the change with its operator, in its transaction. */
  record(
    what: Pick<OperatorAction, 'action' | 'subject' | 'subject_name'> & {
      detail?: Record<string, string | number | boolean | null>
    },
  ): void
  idempotency_key: string | null
  /** Status and headers of the answer. */
  set: { status?: number | string; headers: HTTPHeaders }
}

type Row = Readonly<Record<string, string | number | boolean | null>>

/** An action of an operator: a route of `/operator`, and a command that requests it. */
export type Action<T = Record<string, unknown>> = {
  /** As typed. */
  command: string
  summary: string
  route: `${'GET' | 'POST'} /${string}`
  /** Fields that are positional arguments of the command, path fields first. The others are options; a boolean has no value. */
  operands: readonly string[]
  /** Fields of the body (of the query for GET), each with its description. */
  fields?(): Record<string, z.ZodType>
  /** A field that the command reads from standard input: a secret must not be an argument. */
  stdin?: string
  /** A field that may hold a secret: `--FIELD-file` reads it, and an operand with an @ is refused. */
  secret?: string
  /** True if it cannot be done beside a stopped daemon. */
  needs_daemon?: boolean
  examples: readonly string[]
  notes?: string
  run(call: Call<T>): object | Promise<object>
  print(answer: object, input: T): Printed
  /** True for an answer after which the command ends with 1. */
  failed?(answer: object): boolean
}

/**
 * An answer as a person reads it: a sentence, a card, a table with a sentence for none and perhaps a line `below` each row, or
 * a `value` that a script takes from standard output, with `notes` on standard error.
 */
export type Printed = string | Row | PrintedTable | PrintedValue
export type PrintedTable = { rows: readonly Row[]; none: string; below?: readonly string[] }
export type PrintedValue = { value: string | null; notes: string[] }

export const action = <T extends Record<string, unknown>>(it: Action<T>): Action => it

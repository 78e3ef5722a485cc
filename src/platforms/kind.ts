import type * as z from 'zod'

import { integer, secret } from '../core/config/values.ts'
import type { Source, SourceOptions } from './source.ts'

type Keys = Readonly<Record<string, z.ZodType>>

/** A kind of source: everything that configuration, commands, dashboard and docs have to know of it. */
export type Kind<Name extends string = string, Own extends Keys = Keys> = {
  /** Value of `kind` in its table. */
  kind: Name
  /** For people: `Hacker News`. */
  title: string
  /** Short words that commands take for it beside its name. */
  words?: readonly string[]
  /** Requests a minute where its table sets none. */
  pace: number
  /** Keys of its table beside those of every source. */
  keys: Own
  /** An address such as a person would type; null: it has one fixed address. */
  address: string | null
  /** Keys that `forumd init` asks for after the address. */
  asks?: readonly string[]
  /** Anchor of its section in docs/sources.md. */
  docs: string
  /** How its places and users are written, and what proves the completeness of its monitors. */
  syntax: { place: string; user: string; post: string; comment: string; proof: string }
  open(options: SourceOptions): Source
}

export const defineKind = <const Name extends string, Own extends Keys>(
  it: Kind<Name, Own>,
): Kind<Name, Own> => it

/** Keys of a kind that one client paces, with one credential or none. */
export const PACED = { requests_per_minute: integer(0, 0, 6000), api_key: secret() }

import * as list from './list.ts'

type Listed = (typeof list)[keyof typeof list]

/** The kinds of sources. */
export const KINDS: readonly Listed[] = Object.values(list)

export type KindName = Listed['kind']

/** Own keys of the table of each kind, by its name. */
export type KeysOf<Name extends KindName> = Extract<Listed, { kind: Name }>['keys']

export const KIND_NAMES: readonly KindName[] = KINDS.map((it) => it.kind)

export const kindOf = (name: KindName): Listed => {
  const found = KINDS.find((it) => it.kind === name)
  if (found === undefined) throw new RangeError(`${name}: no kind of source`)
  return found
}

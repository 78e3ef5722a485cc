import { contradictionsOf, refusalsOf } from './load.ts'
import { type Config, EMPTY_TABLES, schema } from './schema.ts'

export type AddedSource = { name: string; kind: string; base_url: string }

/** `ok`: the table of the source with its defaults. Not ok: the keys that are not allowed, each with a sentence. */
type SourceCheck =
  | { ok: true; source: Config['source'][number] }
  | { ok: false; problems: { key: string; sentence: string }[] }

/** Checks a source beside those of a configuration by the rules of a `[[source]]` table. */
export function checkSource(
  config: Config,
  { name, kind, base_url: address }: AddedSource,
): SourceCheck {
  const others = config.source.map((it) => ({
    name: it.name,
    kind: it.kind,
    base_url: it.base_url,
    ...('session_cookie' in it && { session_cookie: it.session_cookie }),
  }))
  const value = { ...EMPTY_TABLES, source: [...others, { name, kind, base_url: address }] }
  const result = schema.safeParse(value, { jitless: true })
  const refused = [
    ...refusalsOf(result.error?.issues ?? [], { value, refused: [], originOf: () => null }),
    ...contradictionsOf(value),
  ].filter(({ path: [table, at] }) => table === 'source' && (at ?? others.length) === others.length)
  const source = result.data?.source.at(-1)
  if (refused.length === 0 && source !== undefined) return { ok: true, source }
  return {
    ok: false,
    problems: refused.map(({ path, found, allowed }) => ({
      key: String(path[2] ?? 'name'),
      sentence: `${found}; ${allowed}`,
    })),
  }
}

/** A configuration with more sources; `left_out`: names of those that it does not allow beside its own. */
export function withSources(
  config: Config,
  added: readonly AddedSource[],
): { config: Config; left_out: string[] } {
  let joined = config
  const left_out: string[] = []
  for (const it of added) {
    const checked = checkSource(joined, it)
    if (checked.ok)
      joined = { ...joined, source: [...joined.source, { ...checked.source, is_added: true }] }
    else left_out.push(it.name)
  }
  return { config: joined, left_out }
}

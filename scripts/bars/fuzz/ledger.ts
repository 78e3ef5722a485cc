/** A claim of completeness that a post refutes. Instants in ISO 8601. */
export type Refuted = {
  source: string
  monitor: string
  name: string
  created: string
  audited_until: string
  /** Mutation of an answer that may have hidden the post; null: none has. */
  hidden: string | null
}

type Post = { at: number; hidden: string | null }
type Claim = { status: string; audited_until: string | null }

/** Time by which a claim may be ahead of a post: platforms write whole seconds. */
const MARGIN_MS = 3000
/** Time that a post has to arrive after a claim covers it. */
const GRACE_MS = 60_000

/** What was posted, what arrived, and what was claimed. */
export function createLedger() {
  const posts = new Map<string, Map<string, Post>>()
  const monitors = new Map<string, { source: string; got: Set<string>; since: number }>()
  /** First instant at which a claim covered a post that had not arrived, by monitor and post. */
  const covered = new Map<string, number>()
  const refuted = new Map<string, Refuted>()
  const of = (source: string) => {
    const found = posts.get(source) ?? new Map<string, Post>()
    posts.set(source, found)
    return found
  }
  const expectedOf = (source: string) => {
    const since = Math.max(
      0,
      ...[...monitors.values()].filter((it) => it.source === source).map((it) => it.since),
    )
    return [...of(source)].filter(([, { at }]) => at > since + MARGIN_MS)
  }
  function* undelivered() {
    for (const [monitor, { source, got }] of monitors)
      for (const [name, post] of expectedOf(source))
        if (!got.has(name)) yield { monitor, source, name, post }
  }
  return {
    posted(source: string, { name, at }: { name: string; at: number }) {
      of(source).set(name, { at, hidden: null })
    },
    hidden(source: string, names: Readonly<Record<string, string>>) {
      for (const [name, mutation] of Object.entries(names)) {
        const post = of(source).get(name)
        if (post !== undefined) post.hidden = mutation
      }
    },
    watch(source: string, monitor: string) {
      monitors.set(monitor, { source, got: new Set(), since: Date.now() })
    },
    delivered(monitor: string, name: string) {
      monitors.get(monitor)?.got.add(name)
    },
    monitors: () => [...monitors].map(([monitor, { source }]) => ({ monitor, source })),
    /** Posts that a claim covers and that did not arrive in time, each once. */
    claimed(monitor: string, { status, audited_until }: Claim, now: number): Refuted[] {
      const watched = monitors.get(monitor)
      if (watched === undefined) return []
      const until = status === 'complete' && audited_until !== null ? Date.parse(audited_until) : 0
      const found: Refuted[] = []
      for (const [name, { at, hidden }] of expectedOf(watched.source)) {
        const key = `${monitor} ${name}`
        if (watched.got.has(name) || at + MARGIN_MS > until) {
          covered.delete(key)
          continue
        }
        const since = covered.get(key) ?? now
        covered.set(key, since)
        if (now - since < GRACE_MS || refuted.has(key)) continue
        const it = {
          source: watched.source,
          monitor,
          name,
          created: new Date(at).toISOString(),
          audited_until: audited_until ?? '',
          hidden,
        }
        refuted.set(key, it)
        found.push(it)
      }
      return found
    },
    refuted: () => [...refuted.values()],
    /** Posts that have not arrived though no answer has hidden them. */
    missing: () =>
      [...undelivered()]
        .filter(({ post }) => post.hidden === null)
        .map(({ source, name, post }) => `${source} ${name} of ${new Date(post.at).toISOString()}`),
    lost: () =>
      [...undelivered()]
        .filter(({ post }) => post.hidden !== null)
        .map(({ source, name, post }) => `${source} ${name} ${post.hidden}`),
    counts(source: string) {
      const expected = expectedOf(source)
      const watching = [...monitors.values()].filter((it) => it.source === source)
      const has = (name: string) => watching.every(({ got }) => got.has(name))
      const hidden = expected.filter(([, post]) => post.hidden !== null)
      return {
        posted: of(source).size,
        expected: expected.length - hidden.length,
        delivered: expected.filter(([name, post]) => post.hidden === null && has(name)).length,
        hidden: hidden.length,
        hidden_delivered: hidden.filter(([name]) => has(name)).length,
      }
    },
    /** Name of a post; null: there is none. */
    any(source: string, fraction: number): string | null {
      const names = [...of(source).keys()]
      return names[Math.floor(fraction * names.length)] ?? null
    },
    summary() {
      const waiting = [...undelivered()]
      return `${waiting.length} not delivered, ${waiting.filter(({ post }) => post.hidden === null).length} of them not hidden`
    },
  }
}

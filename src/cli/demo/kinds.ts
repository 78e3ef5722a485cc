/** Platforms that the sandbox simulates; the first one is the default. */
export const SANDBOX_KINDS = ['reddit', 'discourse', 'hackernews', 'lemmy'] as const

export type SandboxKind = (typeof SANDBOX_KINDS)[number]

/** Kind of the demo's further source, which is also its name. */
export const SECOND = SANDBOX_KINDS[1]

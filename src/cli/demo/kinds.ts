/** Platforms that the sandbox simulates; the first one is the default. */
export const SANDBOX_KINDS = [
  'reddit',
  'discourse',
  'hackernews',
  'lemmy',
  'piefed',
  'feed',
] as const

export type SandboxKind = (typeof SANDBOX_KINDS)[number]

/** Names of the sources of the demo. */
export const FIRST = 'forum'
export const SECOND = SANDBOX_KINDS[1]

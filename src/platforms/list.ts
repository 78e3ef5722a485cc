// The kinds of sources, one line each.
export { reddit } from './reddit/kind.ts'
export { discourse } from './discourse/kind.ts'
export { hackernews } from './hackernews/kind.ts'
export { lemmy } from './lemmy/kind.ts'
export { piefed } from './piefed/kind.ts'
export { feed } from './feed/kind.ts'

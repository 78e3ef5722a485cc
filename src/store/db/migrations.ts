import init from './migrations/0001_init.sql' with { type: 'text' }

/** Append only. A migration that has been released is never edited. */
export const migrations: readonly string[] = [init]

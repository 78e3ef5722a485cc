/** Folders that each folder may import, besides itself. ARCHITECTURE.md shows this table. */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  store: ['core'],
  net: ['core', 'runtime'],
  platforms: ['core', 'net', 'runtime'],
  accounts: ['core', 'store', 'platforms', 'runtime'],
  gateway: ['core', 'platforms', 'runtime'],
  patterns: ['core', 'runtime'],
  archive: ['core', 'store', 'runtime'],
  monitor: ['core', 'store', 'gateway', 'patterns', 'runtime'],
  delivery: ['core', 'store', 'net', 'runtime'],
  standby: ['core', 'runtime'],
  api: ['core', 'store', 'gateway', 'patterns', 'archive', 'delivery', 'runtime'],
  mcp: ['core', 'runtime'],
  page: [],
  sandbox: [],
  config: ['core', 'platforms'],
  cli: ['core', 'store', 'delivery', 'platforms', 'api', 'runtime', 'config'],
  runtime: [],
}

/** The composition root: it creates everything, and decides nothing. */
export const ROOTS = ['main', 'daemon', 'wiring']

/** Below `platforms`, callers see the ports alone; the one adapter that `accounts` calls directly is listed. */
export const PORTS: readonly string[] = [
  'src/platforms/port.ts',
  'src/platforms/source.ts',
  'src/platforms/kind.ts',
  'src/platforms/kinds.ts',
  'src/platforms/feed/discovery.ts',
  'src/platforms/feed/opml.ts',
]

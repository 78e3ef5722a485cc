/** What each room may import, besides itself. This table is the architecture; ARCHITECTURE.md shows it. */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  store: ['core'],
  net: ['core', 'outside'],
  platform: ['core', 'net', 'outside'],
  pool: ['core', 'store', 'platform', 'outside'],
  gateway: ['core', 'platform', 'outside'],
  monitor: ['core', 'store', 'gateway', 'outside'],
  delivery: ['core', 'store', 'net', 'outside'],
  api: ['core', 'store', 'gateway', 'outside'],
  mcp: ['core', 'outside'],
  page: [],
  sandbox: [],
  config: ['core'],
  cli: ['core', 'store', 'outside', 'config', 'systemd'],
  outside: [],
  log: ['outside'],
  loop: ['outside'],
  systemd: ['outside', 'loop'],
}

/** Files of the top floor that make everything and decide nothing. */
export const ROOTS = ['main', 'daemon', 'assembly', 'upstream', 'deeds']

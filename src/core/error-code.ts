/** The code by which an error names itself, such as ENOENT or SQLITE_FULL; empty where it has none. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/**
 * What of an error may stand in a log: its code, else the name of its class. Never its sentence, for what lies around an
 * error may hold an address or a secret.
 */
export const loggedCode = (error: unknown): string =>
  errorCode(error) || (error instanceof Error ? error.name : 'unknown')

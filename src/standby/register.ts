/** A stored text with the version that a change must name. */
type Versioned = { version: string; text: string }

/**
 * One text in another system, changed by compare-and-swap: all that a lease needs of PostgreSQL, etcd or an object store.
 * Every call ends within `timeout_ms`, and throws when the system gives no answer: whether a swap happened is then
 * not known.
 */
export type Register = {
  /** Null: there is no such text yet. */
  read(): Promise<Versioned | null>
  /**
   * Stores `text` if the version is still `expected` (null: if there is none). Returns the new version, or null if another
   * change came first.
   */
  swap(expected: string | null, text: string): Promise<string | null>
  close(): Promise<void>
}

/** The system of a lease gave no usable answer. The message holds neither addresses nor credentials. */
export class LeaseUnreachable extends Error {
  override name = 'LeaseUnreachable'
  readonly code = 'LEASE_UNREACHABLE'
}

/** The lease has ended, so another process may be the primary: nothing may be sent or stored any more. */
export class Fenced extends Error {
  override name = 'Fenced'
  readonly code = 'FENCED'

  constructor() {
    super('the lease has ended: another process may be the primary')
  }
}

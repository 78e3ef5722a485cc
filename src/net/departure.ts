import { errorCode } from '../core/error-code.ts'

/** No connection came about: nobody there, or nobody of that name. */
const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ERR_PROXY_TUNNEL)$/
/** The other side could not prove who it is, so nothing was said to it. */
const DISTRUSTED =
  /^(ERR_(TLS|SSL)_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|HOSTNAME_\w+|INVALID_CA|PATH_LENGTH_\w+)$/

/**
 * Whether a failed request may have reached the other side, in part or whole. Only what is known to fail before the
 * first byte is denied: a connection that breaks says nothing about what came through it.
 */
export function mayHaveLeft(error: unknown): boolean {
  if (!(error instanceof Error)) return true
  const code = errorCode(error)
  if (UNREACHED.test(code) || DISTRUSTED.test(code)) return false
  if (code === 'EPROTO') return !/handshake/i.test(error.message)
  // Our own lookup says so of a name; the SOCKS library fails only while it opens a way.
  return !(error.message === 'no address' || isOfSocks(error))
}

/** Its errors have no name of their own; they carry the options that it was called with. */
const isOfSocks = (error: Error): boolean =>
  'options' in error &&
  typeof error.options === 'object' &&
  error.options !== null &&
  'destination' in error.options

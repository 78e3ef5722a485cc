import { errorCode } from '../core/base/errors.ts'

/** No connection: nothing listens there, the name does not resolve, or this process may not act. */
const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ERR_PROXY_TUNNEL)$/
/** The server's certificate was not accepted, so nothing was sent. */
export const DISTRUSTED =
  /^(ERR_(TLS|SSL)_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|HOSTNAME_\w+|INVALID_CA|PATH_LENGTH_\w+)$/

/**
 * True if a failed request may have reached the other side, in part or whole. False only for
 * failures before the first byte: a broken connection says nothing about the bytes that were sent.
 */
export function mayHaveBeenSent(error: unknown): boolean {
  if (!(error instanceof Error)) return true
  const code = errorCode(error)
  if (UNREACHED.test(code) || DISTRUSTED.test(code)) return false
  if (code === 'EPROTO') return !/handshake/i.test(error.message)
  // Our own lookup throws this for a name; the SOCKS library fails only while it opens a tunnel.
  return !(error.message === 'no address' || isOfSocks(error))
}

/** Errors of the SOCKS library have no name of their own; they contain the options of the call. */
const isOfSocks = (error: Error): boolean =>
  'options' in error &&
  typeof error.options === 'object' &&
  error.options !== null &&
  'destination' in error.options

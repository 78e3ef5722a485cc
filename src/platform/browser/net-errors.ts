/** The browser's own names for what fails before anything of a request has left. */
const UNSENT =
  /ERR_(?:CONNECTION_REFUSED|CONNECTION_TIMED_OUT|NAME_NOT_RESOLVED|ADDRESS_\w+|INTERNET_DISCONNECTED|PROXY_\w+|TUNNEL_\w+|CERT_\w+|SSL_PROTOCOL_ERROR|SSL_VERSION\w*|BLOCKED_BY_CLIENT|INVALID_URL)\b/

/** Whether a request that failed with this error can have reached nobody. */
export const isUnsent = (error: string): boolean => UNSENT.test(error)

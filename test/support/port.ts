// Below what the system gives out by itself. Of its own ports, one that was free a moment ago may be the near end of any
// connection by now; and a client that retries until a server listens is sometimes connected to itself.
const [FIRST, PORTS] = [10_000, 20_000]

/** A port of this machine without a listener. */
export function freePort(hostname = '127.0.0.1'): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * PORTS)
    try {
      Bun.listen({ hostname, port, socket: { data() {} } }).stop(true)
      return port
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    }
  }
}

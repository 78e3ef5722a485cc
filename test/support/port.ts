// Below what the system gives out by itself. Of its own ports, one that was free a moment ago may be the near end of any
// connection by now; and whoever knocks at one until somebody listens is, now and then, connected with themselves.
const [FIRST, PORTS] = [10_000, 20_000]

/** A port of this machine that nobody listens on. */
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

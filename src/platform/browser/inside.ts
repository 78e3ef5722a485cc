import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

import { tls } from '../../net/tls.ts'
import { createOwnCertificate } from './own-certificate.ts'

/** For a platform whose certificate no browser knows: we check it, and the browser believes us. */
export type Inside = {
  /** The key that the browser is told to believe, for as long as the process lives. */
  fingerprint: string
  /** The connection as it is read and written between the two; null when the platform is not who it should be. */
  end(near: Socket, far: Socket): Promise<{ near: TLSSocket; far: TLSSocket } | null>
}

/**
 * Chromium takes no authority from a file. So where the operator names one, TLS to the platform ends here: checked
 * against that authority on the far side, and on the near side under a key that never leaves this process.
 */
export function createInside(home: URL, ca: string): Inside {
  const { cert, key, fingerprint } = createOwnCertificate()
  const name = home.hostname.replace(/^\[|\]$/g, '')
  return {
    fingerprint,
    async end(near, far) {
      const checked = await secured(
        tls().connect({
          socket: far,
          ca: [ca],
          ...(isIP(name) === 0 ? { servername: name } : { host: name }),
        }),
      )
      if (checked === null || near.destroyed) {
        far.destroy()
        return null
      }
      return { near: new (tls().TLSSocket)(near, { isServer: true, key, cert }), far: checked }
    },
  }
}

function secured(socket: TLSSocket): Promise<TLSSocket | null> {
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(socket.authorized ? socket : null))
    socket.once('close', () => resolve(null))
    socket.on('error', () => resolve(null))
  })
}

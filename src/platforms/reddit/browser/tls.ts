import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

import { tls } from '../../../net/transport.ts'

/** A certificate that only one browser trusts, by its key alone. */
type OwnCertificate = {
  /** In PEM. */
  cert: string
  key: string
  /** Base64 of the key's SHA-256, for the browser's command line. */
  fingerprint: string
}

const [INTEGER, BITS, OID, TEXT, TIME, SEQUENCE, SET] = [2, 3, 6, 12, 24, 48, 49]
const ECDSA_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
const COMMON_NAME = [0x55, 0x04, 0x03]

/** Creates a key and a self-signed certificate. Neither leaves the process. */
function createOwnCertificate(): OwnCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const algorithm = der(SEQUENCE, der(OID, ECDSA_SHA256))
  const common_name = der(SEQUENCE, der(OID, COMMON_NAME), der(TEXT, Buffer.from('forumd')))
  const name = der(SEQUENCE, der(SET, common_name))
  // The validity is never checked: the certificate lives as long as the process.
  const validity = der(
    SEQUENCE,
    ...['20200101000000Z', '20991231235959Z'].map((it) => der(TIME, Buffer.from(it))),
  )
  const body = der(SEQUENCE, der(INTEGER, [1]), algorithm, name, validity, name, spki)
  const signature = der(BITS, [0], sign('sha256', body, privateKey))
  const whole = der(SEQUENCE, body, algorithm, signature)
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint: hash('sha256', spki, 'base64'),
  }
}

/** One DER value: tag, length, content. */
function der(tag: number, ...parts: (readonly number[] | Uint8Array)[]): Buffer {
  const content = Buffer.concat(parts.map((it) => Uint8Array.from(it)))
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Uint8Array.of(tag, ...size), content])
}

/**
 * TLS for a platform whose authority no browser knows: this process verifies the platform, and the
 * browser trusts this process.
 */
export type ProxyTls = {
  /** Fingerprint of the key that the browser trusts for the lifetime of the process. */
  fingerprint: string
  /** Terminates TLS on both sides; null if the platform's certificate is invalid. */
  end(near: Socket, far: Socket): Promise<{ near: TLSSocket; far: TLSSocket } | null>
}

/**
 * Creates the TLS endpoints for a platform with a private authority, because Chromium reads no
 * authority from a file. The far side is verified against that authority. The near side uses a key
 * that never leaves this process.
 */
export function createProxyTls(home: URL, ca: string): ProxyTls {
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

import { createHash, generateKeyPairSync, sign } from 'node:crypto'

/** A certificate that only one browser believes: by its key, whatever it says. */
export type OwnCertificate = {
  /** In PEM. */
  cert: string
  key: string
  /** What the browser is told to believe: base64 of the key's SHA-256. */
  fingerprint: string
}

const [INTEGER, BITS, OID, TEXT, TIME, SEQUENCE, SET] = [2, 3, 6, 12, 24, 48, 49]
const ECDSA_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
const COMMON_NAME = [0x55, 0x04, 0x03]

/** Makes a key and signs a certificate with it. Neither leaves the process. */
export function createOwnCertificate(): OwnCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const algorithm = der(SEQUENCE, der(OID, ECDSA_SHA256))
  const common_name = der(SEQUENCE, der(OID, COMMON_NAME), der(TEXT, Buffer.from('forumd')))
  const name = der(SEQUENCE, der(SET, common_name))
  // Nobody looks at when: it lives as long as the process.
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
    fingerprint: createHash('sha256').update(spki).digest('base64'),
  }
}

/** One value of DER: its tag, its length, what it holds. */
function der(tag: number, ...parts: (readonly number[] | Uint8Array)[]): Buffer {
  const content = Buffer.concat(parts.map((it) => Uint8Array.from(it)))
  const { length } = content
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Uint8Array.of(tag, ...size), content])
}

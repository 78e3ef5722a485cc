import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Certificate = { cert: string; key: string }

const certificates = new Map<string, Promise<Certificate>>()

/** A self-signed certificate for these names and addresses, made by openssl on the spot: no key lies in the repository. */
export function certificate(
  names: readonly string[] = ['receiver.test', '*.receiver.test', '127.0.0.1', '::1'],
): Promise<Certificate> {
  const subjects = names.map((name) => `${/^[\d.]+$|:/.test(name) ? 'IP' : 'DNS'}:${name}`).join()
  const cached = certificates.get(subjects)
  if (cached) return cached
  const fresh = make(subjects)
  certificates.set(subjects, fresh)
  return fresh
}

async function make(subjects: string): Promise<Certificate> {
  const dir = await mkdtemp(join(tmpdir(), 'certificate-'))
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  try {
    const openssl = Bun.spawn(
      `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2
       -subj /CN=receiver -addext subjectAltName=${subjects} -keyout ${key} -out ${cert}`.split(
        /\s+/,
      ),
      { stdout: 'ignore', stderr: 'pipe' },
    )
    if ((await openssl.exited) !== 0)
      throw new Error(`openssl made no certificate: ${await new Response(openssl.stderr).text()}`)
    return { cert: await Bun.file(cert).text(), key: await Bun.file(key).text() }
  } finally {
    await rm(dir, { recursive: true })
  }
}

import { errorCode } from '../core/error-code.ts'
import { isTable, type Refused, type Surroundings } from './references.ts'

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/
const ALLOWED = 'allowed: the path of a PEM file that the user who runs forumd may read'

/** The tables whose `ca_file` leads to no certificate: the daemon would not start by one, or trust nobody more by it. */
export function certificatesRefused(
  value: Readonly<Record<string, unknown>>,
  readFile: Surroundings['readFile'],
): Refused[] {
  return ['platform', 'delivery'].flatMap((table) => {
    const section = value[table]
    const path = isTable(section) ? section['ca_file'] : undefined
    if (typeof path !== 'string' || path === '') return []
    const fault = faultOf(path, readFile)
    const found = `found ${JSON.stringify(path)}, ${fault}`
    return fault === null ? [] : [{ path: [table, 'ca_file'], found, allowed: ALLOWED }]
  })
}

function faultOf(path: string, readFile: Surroundings['readFile']): string | null {
  try {
    return CERTIFICATE.test(readFile(path)) ? null : 'which holds no certificate'
  } catch (error) {
    return `which cannot be read (${errorCode(error) || String(error)})`
  }
}

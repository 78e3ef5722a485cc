import { type Fault, faultText } from './result.ts'

/** A fault of a source for people. `customer` and `operator`: the fix; `customer` is absent where only the operator has one. */
type FaultDescription = { text: string; customer?: string; operator: string }

const NETWORK = 'Check its status and the network of this machine'

const FAULTS: Readonly<Record<string, (host: string) => FaultDescription>> = {
  unavailable: (host) => ({ text: `${host} cannot be reached, or fails`, operator: NETWORK }),
  'unavailable:unknown_host': (host) => ({
    text: `${host} has no address: its name does not resolve`,
    operator: 'Check the spelling of its address, and the DNS of this machine',
  }),
  'unavailable:refused': (host) => ({
    text: `${host} refuses connections`,
    operator: 'Check the port of its address, and whether it runs',
  }),
  'unavailable:no_route': (host) => ({
    text: `there is no route to ${host}`,
    operator: 'Check the network and the firewall of this machine',
  }),
  'unavailable:certificate': (host) => ({
    text: `the certificate of ${host} is not valid`,
    operator: 'Name the authority of its certificate in [requests].ca_file, or correct the address',
  }),
  'unavailable:no_tls': (host) => ({
    text: `${host} does not speak TLS on this port`,
    operator: 'Write http:// in its address if it has no TLS',
  }),
  'unavailable:guarded': (host) => ({
    text: `${host} is an address that an added source may not have`,
    operator: 'Allow it in [guard] of the configuration',
  }),
  timeout: (host) => ({ text: `${host} did not answer in time`, operator: NETWORK }),
  throttled: () => ({
    text: 'it limits the rate of requests',
    operator: 'Add an account with a proxy of its own, or watch less often',
  }),
  blocked: () => ({
    text: 'it shows a block page or a CAPTCHA in place of its API',
    operator: 'Ask its owner for access: forumd does not work around it',
  }),
  login_required: () => ({
    text: 'it answers signed-in readers only',
    operator: 'Set api_key in its [[source]] table, or sign its account in',
  }),
  forbidden: () => ({
    text: 'it refused the request',
    customer: 'Check that the places of the filter are public',
    operator:
      'Check that the places of its monitors are public, and that the account may read them',
  }),
  'forbidden:robots': () => ({
    text: 'its robots.txt forbids the request, which was not sent',
    operator: 'Ask its owner for access, or set api_key in its [[source]] table',
  }),
  not_found: () => ({
    text: 'there is no such site or place at this address',
    customer: 'Check the places of the filter for spelling',
    operator: 'Check its address and the places of its monitors',
  }),
  unreadable: () => ({
    text: 'its answer does not fit this kind of site',
    operator: 'Check its address and its kind',
  }),
  rejected: () => ({
    text: 'it rejected the request as invalid',
    operator: 'Check its address and its kind',
  }),
  proxy: () => ({ text: 'the proxy to it failed', operator: 'Test the proxy: forumd proxy test' }),
  not_configured: () => ({
    text: 'it is not configured any more',
    customer: 'Choose another source in the filter',
    operator: 'Add it again, or choose another source in the filters of its monitors',
  }),
}

/** A fault such as `unavailable:503` for people; `host`: the one that was requested. */
export function describeFault(code: string, host = 'its host'): FaultDescription {
  const [kind = '', detail] = code.split(':')
  const whole = FAULTS[code]
  if (whole !== undefined) return whole(host)
  if (kind === 'unavailable' && /^\d+$/.test(detail ?? ''))
    return { text: `${host} answers ${detail}`, operator: 'Wait: it may answer later' }
  const part = FAULTS[kind]?.(host)
  if (part === undefined)
    return {
      text: `the answer was not usable: ${code.replaceAll('_', ' ')}`,
      operator: 'See the log',
    }
  return detail === undefined
    ? part
    : { ...part, text: `${part.text} (${detail.replaceAll('_', ' ')})` }
}

/** A fault of this moment for people, with the host that was requested. */
export const describe = (fault: Fault): FaultDescription =>
  fault.kind === 'throttled'
    ? {
        ...describeFault('throttled'),
        text: `it limits the rate of this address for ${fault.retry_after_s} s`,
      }
    : describeFault(faultText(fault), ('host' in fault && fault.host) || 'its host')

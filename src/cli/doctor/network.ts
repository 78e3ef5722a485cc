import { isIP } from 'node:net'

import type { Config } from '../../config/schema.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Outside } from '../../outside.ts'
import type { Desk } from '../desk.ts'
import { bad, type Check, doubtful, type Finding, fine } from './finding.ts'

/** A code of a second factor is good for half a minute, a signature to a receiver for five. */
const CLOCK_WARN_MS = 10_000
const CLOCK_FAIL_MS = 120_000
const NAME_MS = 5000

/** Names, the platform and the clock, and the mail server where one is named. */
export function networkChecks(config: Config, outside: Outside, desk: Desk): Check[] {
  const asked: Awaited<ReturnType<Desk['tryPlatform']>>[] = []
  return [
    { title: 'looking names up', look: () => lookUp(config, outside) },
    {
      title: 'asking the platform',
      async look() {
        const tried = await desk.tryPlatform()
        asked.push(tried)
        return [platformOf(config.platform.base_url, tried.answer)]
      },
    },
    { title: 'comparing clocks', look: () => [clockOf(asked[0]?.ahead_ms ?? null)] },
    ...(config.smtp.url === ''
      ? []
      : [
          {
            title: 'signing in at the mail server',
            look: async () => [mailOf(await desk.tryMail())],
          },
        ]),
  ]
}

/** The hosts that the configuration names, each with the key that names it first. */
function hostsOf({ platform, smtp, operator }: Config): Map<string, string> {
  const named: [string, string][] = [
    ['platform.base_url', platform.base_url],
    ['platform.api_url', platform.api_url],
    ['platform.token_url', platform.token_url],
    ['platform.chat_url', platform.chat_url],
    ['smtp.url', smtp.url],
    ['operator.webhook', operator.webhook],
  ]
  const hosts = new Map<string, string>()
  for (const [key, text] of named) {
    const host = URL.parse(text)?.hostname.replace(/^\[|\]$/g, '') ?? ''
    if (host !== '' && isIP(host) === 0 && !hosts.has(host)) hosts.set(host, key)
  }
  return hosts
}

async function lookUp(config: Config, { resolve, clock }: Outside): Promise<Finding[]> {
  const hosts = hostsOf(config)
  if (hosts.size === 0)
    return [fine('dns', 'the configuration names no host that has to be looked up')]
  return Promise.all(
    [...hosts].map(async ([host, key]) => {
      const late = clock.sleep(NAME_MS).then((): string[] => [])
      const found = await Promise.race([resolve(host).catch((): string[] => []), late])
      return found.length > 0
        ? fine('dns', found.length === 1 ? 'one address' : `${found.length} addresses`, host)
        : bad('dns', 'it has no address', `look at ${key}, and at /etc/resolv.conf`, host)
    }),
  )
}

const SAID: Record<string, string> = {
  timeout: 'it does not answer in time',
  throttled: 'it wants to be left alone for a while',
  blocked: 'it shows a block page to this address',
}

function platformOf(base_url: string, answer: Outcome<unknown>): Finding {
  if (answer.ok) return fine('platform', `${base_url} answers`)
  const { fault } = answer
  switch (fault.kind) {
    case 'throttled':
    case 'blocked':
      return doubtful(
        'platform',
        `${base_url}: ${SAID[fault.kind]}`,
        'wait, or give the accounts another way out: forumd proxy add',
      )
    // That it wants somebody to be signed in is an answer too.
    case 'login_required':
    case 'forbidden':
      return fine('platform', `${base_url} answers`)
    case 'timeout':
      return bad(
        'platform',
        `${base_url}: ${SAID[fault.kind]}`,
        'look at the network of this machine',
      )
    case 'unavailable':
      return fault.status === null
        ? bad(
            'platform',
            `${base_url} cannot be reached`,
            'look at [platform].base_url and ca_file, and at what a firewall lets out',
          )
        : doubtful(
            'platform',
            `${base_url} answers ${fault.status}`,
            'wait: it has troubles of its own',
          )
    case 'not_found':
    case 'unreadable':
    case 'rejected':
    case 'proxy':
      return bad(
        'platform',
        `${base_url} answers, but not as the platform does`,
        'look at [platform].base_url',
      )
  }
}

function clockOf(ahead_ms: number | null): Finding {
  if (ahead_ms === null)
    return doubtful(
      'clock',
      'the platform has not told the time',
      'mend the way to the platform first',
    )
  const off_ms = Math.abs(ahead_ms)
  const seconds = `${Math.round(off_ms / 1000)} s ${ahead_ms > 0 ? 'behind' : 'ahead of'} the platform's`
  if (off_ms < CLOCK_WARN_MS) return fine('clock', "ours agrees with the platform's")
  const mend = 'let this machine keep the time: timedatectl set-ntp true'
  return off_ms < CLOCK_FAIL_MS
    ? doubtful('clock', `ours is ${seconds}`, mend)
    : bad('clock', `ours is ${seconds}: receivers refuse what is signed by it`, mend)
}

const MAIL: Record<string, string> = {
  dns_failed: 'its name has no address',
  tls_failed: 'its certificate is not trusted, or it speaks no TLS',
  timeout: 'it does not answer in time',
  connect_failed: 'it cannot be reached',
  smtp_535: 'it does not accept the user and the password',
}

const mailOf = (error: string | null): Finding =>
  error === null
    ? fine('smtp', 'the mail server lets us in')
    : bad(
        'smtp',
        MAIL[error] ?? `it says ${error}`,
        'look at [smtp].url; alerts by mail wait until then',
      )

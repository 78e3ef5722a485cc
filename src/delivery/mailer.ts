import { errorCode } from '../core/error-code.ts'
import type { Attempt, AttemptError, DeliveryError } from '../core/ladder.ts'
import { tls } from '../net/tls.ts'
import type { Clock } from '../outside.ts'

// A connection for each mail. A pool would save a handshake where seconds do not matter, and would keep the process
// alive and connections to go stale between two alerts.

/** One mail to one reader. */
export type Mail = {
  to: string
  subject: string
  text: string
  html: string
  /** What stands before the `@` of its Message-ID: the same mail sent again has the same. */
  id: string
  /** Further lines of the head, such as List-Unsubscribe. */
  headers: Record<string, string>
}

/** Hands a mail to the operator's mail server. Every outcome is a value. */
export type Mailer = (mail: Mail) => Promise<Attempt>

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/
/** Every step of the conversation may take the time-out; all of them together this many times as much. */
const STEPS = 3

/** The server that `[smtp]` names. */
type MailServer = {
  url: string
  from: string
  timeout_ms: number
  /** Trusted beside the public authorities. */
  ca?: string | undefined
  clock: Clock
}

function optionsOf({ url, timeout_ms, ca }: MailServer) {
  const { hostname, username } = new URL(url)
  return {
    url,
    connectionTimeout: timeout_ms,
    greetingTimeout: timeout_ms,
    socketTimeout: timeout_ms,
    dnsTimeout: timeout_ms,
    requireTLS: username !== '' && !LOCAL.test(hostname),
    // A mail is made of what strangers wrote: nothing in it may fetch a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(ca !== undefined && { tls: { ca: [...tls().getCACertificates('bundled'), ca] } }),
  }
}

/** Speaks SMTP to the server that `[smtp]` names, with STARTTLS where it is offered, and always before a password. */
export function createMailer(server: MailServer): Mailer {
  const { url, from, timeout_ms, clock } = server
  const domain = /@([^\s<>@]+)>?\s*$/.exec(from)?.[1] ?? new URL(url).hostname
  const options = optionsOf(server)

  async function hand({ id, ...mail }: Mail): Promise<Attempt> {
    // Few daemons send mail, and it is a lot to load.
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(options)
    try {
      const { response } = await transport.sendMail({
        ...mail,
        from,
        messageId: `<${id}@${domain}>`,
      })
      const code = Number(/^\d{3}/.exec(response)?.[0] ?? 250)
      return { kind: 'mailed', code, accepted: true, refused: false }
    } catch (error) {
      return toAttempt(error)
    } finally {
      transport.close()
    }
  }

  return async (mail) => {
    const done = new AbortController()
    const late = clock
      .sleep(timeout_ms * STEPS, done.signal)
      .then((): Attempt => ({ kind: 'failed', error: 'timeout' }))
    const attempt = await Promise.race([hand(mail), late])
    done.abort()
    return attempt
  }
}

/** Whether the server lets us in, without sending anything: what kept us out, as a delivery's last_error says it, or null. */
export async function tryMailServer(server: MailServer): Promise<DeliveryError | null> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport(optionsOf(server))
  try {
    await transport.verify()
    return null
  } catch (error) {
    const attempt = toAttempt(error)
    if (attempt.kind === 'mailed') return `smtp_${attempt.code}`
    return attempt.kind === 'failed' ? attempt.error : 'bad_answer'
  } finally {
    transport.close()
  }
}

const ERRORS: Record<string, AttemptError> = {
  ETIMEDOUT: 'timeout',
  EDNS: 'dns_failed',
  ETLS: 'tls_failed',
  EREQUIRETLS: 'tls_failed',
}
const UNTRUSTED = /certificate|altnames|\b(TLS|SSL)\b/i

// A server's own words are not looked at: they may repeat what we sent it.
function toAttempt(error: unknown): Attempt {
  const code = errorCode(error)
  const status = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
  if (status >= 400 && status < 600) {
    // That the server will not have us is for the operator to mend; the reader must not lose the alert by it.
    const about_mail = code === 'EENVELOPE' || code === 'EMESSAGE'
    return { kind: 'mailed', code: status, accepted: false, refused: about_mail && status >= 500 }
  }
  // nodemailer puts one code of its own over every fault of the connection; whose certificate it was only the text tells.
  if (code === 'ESOCKET' && error instanceof Error && UNTRUSTED.test(error.message))
    return { kind: 'failed', error: 'tls_failed' }
  return { kind: 'failed', error: ERRORS[code] ?? 'connect_failed' }
}

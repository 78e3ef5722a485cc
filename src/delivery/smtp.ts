import { errorCode } from '../core/base/errors.ts'
import type { Attempt, AttemptError, DeliveryError } from '../core/delivery/retry.ts'
import { tls } from '../net/transport.ts'
import type { Clock } from '../runtime/runtime.ts'

// One connection per mail. A pool would save a handshake where seconds do not matter, keep the process alive, and
// leave connections to go stale between two alerts.

export type Mail = {
  to: string
  subject: string
  text: string
  html: string
  /** The part before the `@` of the Message-ID. A mail that is sent again has the same one. */
  id: string
  /** Further header fields, such as List-Unsubscribe. */
  headers: Record<string, string>
}

/** Passes a mail to the operator's mail server. Every outcome is a value. */
export type Mailer = (mail: Mail) => Promise<Attempt>

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/
/** Total time of the conversation, in time-outs. Each step may take one time-out. */
const STEPS = 3

type MailServer = {
  url: string
  from: string
  tls: 'auto' | 'off'
  timeout_ms: number
  /** Trusted in addition to the public authorities. */
  ca?: string | undefined
  clock: Clock
}

function optionsOf({ url, from, tls: upgrade, timeout_ms, ca }: MailServer) {
  const { protocol, hostname, port, username, password } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
    secure: protocol === 'smtps:',
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    // The name with which the conversation begins; without it, an address of this machine is sent.
    name: domainOf(from) ?? hostname,
    ignoreTLS: upgrade === 'off',
    connectionTimeout: timeout_ms,
    greetingTimeout: timeout_ms,
    socketTimeout: timeout_ms,
    dnsTimeout: timeout_ms,
    requireTLS: upgrade === 'auto' && username !== '' && !LOCAL.test(hostname),
    // Mails contain untrusted text, which must not make nodemailer fetch a file or URL.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(ca !== undefined && { tls: { ca: [...tls().getCACertificates('bundled'), ca] } }),
  }
}

const domainOf = (from: string): string | undefined => /@([^\s<>@]+)>?\s*$/.exec(from)?.[1]

/**
 * Speaks SMTP to the server of `[smtp]`, with STARTTLS where it is offered, and always before a password.
 * @see https://www.rfc-editor.org/rfc/rfc5321
 */
export function createMailer(server: MailServer): Mailer {
  const { url, from, timeout_ms, clock } = server
  const domain = domainOf(from) ?? new URL(url).hostname
  const options = optionsOf(server)

  async function sendMail({ id, ...mail }: Mail): Promise<Attempt> {
    // Few daemons send mail, and the library is large.
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
    const timeout = clock
      .sleep(timeout_ms * STEPS, done.signal)
      .then((): Attempt => ({ kind: 'failed', error: 'timeout' }))
    const attempt = await Promise.race([sendMail(mail), timeout])
    done.abort()
    return attempt
  }
}

/**
 * Signs in to the mail server without sending anything. Returns the error as a delivery's last_error names it, or
 * null.
 */
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
const OUT_OF_FILES = /\bE[MN]FILE\b/

/**
 * True if the mailbox takes no mail, by the enhanced code where there is one. A server that rejects this client, its sender or
 * the text is for the operator to repair, and the reader must not lose the alert.
 * @see https://www.rfc-editor.org/rfc/rfc3463
 */
function isMailboxRefusal(status: number, error: unknown): boolean {
  const response = error instanceof Error && 'response' in error ? String(error.response) : ''
  const [, enhanced] = /^\d{3}[ -](5\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? []
  if (enhanced !== undefined) return /^5\.(?:1\.[1236]|1\.10|2\.1)$/.test(enhanced)
  return status === 550 || status === 551 || status === 553
}
const UNTRUSTED = /certificate|altnames|\b(TLS|SSL)\b/i

// The server's own text is not read: it may repeat what was sent to it.
function toAttempt(error: unknown): Attempt {
  const code = errorCode(error)
  const status = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
  if (status >= 400 && status < 600) {
    const refused = code === 'EENVELOPE' && isMailboxRefusal(status, error)
    return { kind: 'mailed', code: status, accepted: false, refused }
  }
  if (error instanceof Error && OUT_OF_FILES.test(error.message))
    return { kind: 'failed', error: 'out_of_files' }
  // nodemailer reports every connection error with one code of its own; only the text identifies a certificate error.
  if (code === 'ESOCKET' && error instanceof Error && UNTRUSTED.test(error.message))
    return { kind: 'failed', error: 'tls_failed' }
  return { kind: 'failed', error: ERRORS[code] ?? 'connect_failed' }
}

import type { Attempt } from '../core/ladder.ts'
import type { Links } from '../core/links.ts'
import { parseMailto } from '../core/mail-address.ts'
import { readMessage, type Showing } from '../core/shown.ts'
import type { Addressee } from '../store/targets.ts'
import { confirmationMail, deliveryMail } from './email.ts'
import type { Mail, Mailer } from './mailer.ts'

/** What can be sent to a target of kind email. */
export type EmailOffice = {
  /** One attempt to deliver a frozen body as a mail. */
  deliver(to: Addressee, body: Uint8Array): Promise<Attempt>
  /** One attempt to ask the reader whether they want it. */
  confirm(to: Addressee): Promise<Attempt>
}

/** Makes mails out of deliveries and hands them to the mail server. */
export function createEmailOffice({
  mailer,
  links,
  showing,
  public_url,
}: {
  mailer: Mailer
  links: Links
  showing: Showing
  public_url: () => string
}): EmailOffice {
  // The address was checked when it was registered. Once more, for it goes into a command of another protocol.
  async function hand({ url }: Addressee, write: (to: string) => Mail): Promise<Attempt> {
    const to = parseMailto(url)
    return to === null
      ? { kind: 'mailed', code: 553, accepted: false, refused: true }
      : mailer(write(to))
  }

  return {
    deliver(addressee, body) {
      const message = readMessage(body, showing)
      const unsubscribe_url = message.test
        ? null
        : links.unsubscribe(addressee.webhook_id, message.monitor_id)
      return hand(addressee, (to) => deliveryMail(message, { to, unsubscribe_url }))
    },
    confirm({ webhook_id, ...addressee }) {
      const confirm_url = links.confirm(webhook_id)
      const service = new URL(public_url()).host
      return hand({ webhook_id, ...addressee }, (to) =>
        confirmationMail({ to, webhook_id, service, confirm_url }),
      )
    },
  }
}

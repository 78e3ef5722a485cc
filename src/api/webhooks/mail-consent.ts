import { Elysia } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import { MAILTO_FORM, parseMailto } from '../../core/delivery/target.ts'
import type { Links } from '../../core/forum/links.ts'
import { email } from '../../delivery/kinds/email.ts'
import type { Db } from '../../store/db/connection.ts'
import {
  claimConfirmationMail,
  type ConfirmationRefusal,
  confirmTarget,
  findConfirmation,
  findSubscription,
  unsubscribeTarget as stop,
} from '../../store/delivery/targets.ts'
import { plainPage } from '../http/page.ts'

/**
 * Page for a recipient of mail: one sentence, and with `button` a form that posts to the same
 * address.
 */
function readerPage(
  sentence: string,
  { status = 200, button }: { status?: number; button?: string } = {},
): Response {
  const form =
    button === undefined
      ? ''
      : `\n<form method="post"><button type="submit">${Bun.escapeHTML(button)}</button></form>`
  return plainPage('Alerts by mail', `<p>${Bun.escapeHTML(sentence)}</p>${form}`, { status })
}

const CONFIRM_GONE = 'This address leads nowhere any more: what it was for has been removed.'

const gone = () => readerPage(CONFIRM_GONE, { status: 404 })

const confirmed = (url: string) =>
  readerPage(`Thank you. ${url.replace('mailto:', '')} gets alerts from now on.`)

/**
 * `/confirm/{token}`: GET asks for confirmation, POST activates a target of kind email. A GET
 * changes nothing, because mail scanners and previews follow links.
 */
export const confirmPage = ({ db, links }: { db: Db; links: Links }) =>
  new Elysia({ name: 'confirm', detail: { hide: true } })
    .get('/confirm/:token', ({ params: { token } }) => {
      const named = links.readConfirm(token)
      const found = named && findConfirmation(db, named.webhook_id)
      if (found === null) return gone()
      const { url, awaits_confirmation } = found
      return awaits_confirmation
        ? readerPage(
            `Send alerts to ${url.replace('mailto:', '')}? Nothing is sent until you confirm.`,
            { button: 'Confirm' },
          )
        : confirmed(url)
    })
    .post('/confirm/:token', ({ params: { token } }) => {
      const named = links.readConfirm(token)
      const url = named && confirmTarget(db, named.webhook_id)
      return url === null ? gone() : confirmed(url)
    })

/**
 * A confirmation mail reaches a person who may not have asked for it. Every mail counts, first or
 * repeated.
 */
const LIMITS = { window_ms: 86_400_000, per_address: 3, per_customer: 20, per_process: 500 }

/** @throws {ApiError} if it is anything but one plain address */
export function normaliseMailto(url: string): string {
  if (!/^mailto:/i.test(url))
    throw new ApiError('webhook_kind_mismatch', {
      field: 'kind',
      message: `kind email takes ${email.example_url}`,
    })
  const address = parseMailto(url)
  if (address === null)
    throw new ApiError('webhook_url_rejected', {
      field: 'url',
      message: `url ${MAILTO_FORM}`,
      extra: { reason: 'malformed' },
    })
  return `mailto:${address}`
}

/**
 * Counts a confirmation mail to `url`, a stored `mailto:` address.
 * @throws {ApiError} rate_limited if the address, the customer or the process has reached its daily
 * limit
 */
export function countConfirmationMail(
  db: Db,
  { customer_id, url, now }: { customer_id: string; url: string; now: number },
): void {
  // Most providers deliver ann+tag@ and Ann@ to ann@.
  const address = url
    .toLowerCase()
    .replace(/^mailto:/, '')
    .replace(/\+[^@]*@/, '@')
  const refusal = claimConfirmationMail(db, { customer_id, address, now }, LIMITS)
  if (refusal === null) return
  throw new ApiError('rate_limited', {
    message: LIMIT_MESSAGES[refusal.by],
    retry_after_s: Math.max(1, Math.ceil((refusal.free_at - now) / 1000)),
  })
}

const LIMIT_MESSAGES: Record<ConfirmationRefusal['by'], string> = {
  address: `an address may be sent ${LIMITS.per_address} confirmation mails in a day, repeated ones included`,
  customer: `a customer may have ${LIMITS.per_customer} confirmation mails sent in a day, repeated ones included`,
  process: `this service sends ${LIMITS.per_process} confirmation mails in a day, repeated ones included`,
}

const UNSUBSCRIBE_GONE = 'This address leads nowhere any more: there is nothing left to stop.'

/**
 * `/unsubscribe/{token}`: GET asks for confirmation, POST stops this monitor's mails to this
 * recipient. Mail programs send the POST themselves (RFC 8058).
 * @see https://www.rfc-editor.org/rfc/rfc8058
 */
export function unsubscribePage({ db, links }: { db: Db; links: Links }) {
  function find(token: string) {
    const pair = links.readUnsubscribe(token)
    const found = pair && findSubscription(db, pair)
    if (!found) return null
    const { monitor_name, url, stopped } = found
    const monitor = monitor_name === null ? 'this monitor' : `the monitor “${monitor_name}”`
    return { pair, monitor, reader: url.replace('mailto:', ''), stopped }
  }

  return new Elysia({ name: 'unsubscribe', detail: { hide: true } })
    .get('/unsubscribe/:token', ({ params: { token } }) => {
      const found = find(token)
      if (found === null) return readerPage(UNSUBSCRIBE_GONE, { status: 404 })
      const { monitor, reader, stopped } = found
      return stopped
        ? readerPage(`${reader} gets nothing more from ${monitor}.`)
        : readerPage(`Stop sending ${reader} what ${monitor} finds?`, { button: 'Stop' })
    })
    .post('/unsubscribe/:token', ({ params: { token } }) => {
      const found = find(token)
      if (found === null) return readerPage(UNSUBSCRIBE_GONE, { status: 404 })
      stop(db, found.pair)
      return readerPage(`${found.reader} gets nothing more from ${found.monitor}.`)
    })
}

import { ApiError } from '../core/errors.ts'
import { MAILTO_FORM, parseMailto } from '../core/mail-address.ts'
import { KIND_FORMS } from '../core/webhook-kind.ts'
import type { Db } from '../store/db.ts'
import { countMailTargets } from '../store/mail-targets.ts'

// Every new target is a mail to somebody who has not asked for it: nobody may be flooded by way of us.
const WINDOW_MS = 86_400_000
const A_DAY_FOR_CUSTOMER = 20
const A_DAY_FOR_ADDRESS = 3

/** A `mailto:` address as it is kept. @throws ApiError when it is anything but one plain address */
export function settleMailto(url: string): string {
  if (!/^mailto:/i.test(url))
    throw new ApiError('webhook_kind_mismatch', {
      field: 'kind',
      message: `kind email takes ${KIND_FORMS.email}`,
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

/** Bounds how many confirmation mails leave. @throws ApiError rate_limited */
export function checkMailTargets(
  db: Db,
  { customer_id, url, now }: { customer_id: string; url: string; now: number },
): void {
  const made = countMailTargets(db, { customer_id, url, since_at: now - WINDOW_MS })
  if (made.by_customer >= A_DAY_FOR_CUSTOMER)
    throw tooMany(`${A_DAY_FOR_CUSTOMER} targets of kind email may be made in a day`)
  if (made.for_address >= A_DAY_FOR_ADDRESS)
    throw tooMany(`an address may be asked ${A_DAY_FOR_ADDRESS} times in a day`)
}

const tooMany = (message: string) =>
  new ApiError('rate_limited', { message, retry_after_s: WINDOW_MS / 1000 / 24 })

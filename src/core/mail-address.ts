// One plain address and nothing else: what goes into an SMTP command and a mail's head must not be able to end a line,
// name a second reader or carry a comment. Quoted local parts, though the standard has them, are not worth that.

const LOCAL = /^[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+)*$/
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/
const LOCAL_MAX = 64
const LABEL_MAX = 63
const ADDRESS_MAX = 254

/** What a target of kind email looks like, for whoever gave something else. */
export const MAILTO_FORM =
  'must be mailto: and one plain address, such as mailto:ann@example.com, without a name, a query or a second reader'

/** The address of a `mailto:` URL; null when it is anything but one plain address. */
export function parseMailto(url: string): string | null {
  const [, local = '', domain = ''] = /^mailto:([^@]*)@([^@]*)$/i.exec(url) ?? []
  if (!LOCAL.test(local) || local.length > LOCAL_MAX) return null
  const labels = domain.split('.')
  const named = labels.every((label) => LABEL.test(label) && label.length <= LABEL_MAX)
  // The last label has a letter: a number would make it an address of the network.
  if (!named || labels.length < 2 || !/[A-Za-z]/.test(labels.at(-1) ?? '')) return null
  const address = `${local}@${domain.toLowerCase()}`
  return address.length <= ADDRESS_MAX ? address : null
}

import { judgeAddresses, parseTarget, REFUSALS } from '../../core/address.ts'
import { MAILTO_FORM, parseMailto } from '../../core/mail-address.ts'
import { KIND_FORMS, kindOfUrl, type WebhookKind } from '../../core/webhook-kind.ts'
import type { SetWebhook } from '../../store/as-code.ts'
import type { DeclaredWebhook } from './document.ts'
import type { Held } from './held.ts'
import { createMatch } from './match.ts'
import type { Planning, WebhookStep } from './plan.ts'
import type { Path, Problems } from './problems.ts'

type About = { planning: Planning; problems: Problems; path: Path }

/** A webhook that a monitor of the same file may name. */
export type Known = { id: string; name: string | null; index: number | null }

/** The steps for a customer's webhooks, and all there will be of them. */
export function planWebhooks(
  declared: readonly DeclaredWebhook[],
  { customer, webhooks }: Held,
  { planning, problems, path }: About,
): { steps: WebhookStep[]; known: Known[] } {
  const steps: WebhookStep[] = []
  const known: Known[] = []
  const match = createMatch('webhooks', webhooks, planning.isTaken)
  for (const [index, it] of declared.entries()) {
    const at = [...path, index]
    const found = match(it)
    if ('why' in found) {
      problems.add(found.of === null ? at : [...at, found.of], found.why, found.allowed)
      continue
    }
    const name = it.name ?? null
    const { active, ordered, max_per_second = null } = it
    const edit = { name, active, ordered, max_per_second }
    const { before } = found
    const id = before?.id ?? it.id ?? planning.newId('wh')
    const about = { customer_id: customer.id, id, name }
    known.push({ id, name, index })
    const url = settleUrl(it, before, planning, (field, why, allowed) =>
      problems.add([...at, field], why, allowed),
    )
    if (url === null) continue
    if (before === null) {
      steps.push({ ...about, what: 'webhook', action: 'create', ...url, edit })
      continue
    }
    const fields = Object.entries(edit).flatMap(([field, value]) =>
      Reflect.get(before, field) === value ? [] : [field],
    )
    steps.push(
      fields.length === 0
        ? { ...about, what: 'webhook', action: 'keep' }
        : { ...about, what: 'webhook', action: 'change', fields, edit },
    )
  }
  for (const { id, name } of webhooks.filter((it) => !known.some((other) => other.id === it.id))) {
    const action = planning.prune ? 'remove' : 'left'
    steps.push({ customer_id: customer.id, id, name, what: 'webhook', action })
    if (!planning.prune) known.push({ id, name, index: null })
  }
  return { steps, known }
}

type Refuse = (field: 'url' | 'kind', why: string, allowed: string) => void

/** The address and kind of a declared webhook; null when there is something wrong with them. */
function settleUrl(
  { url: text, kind }: DeclaredWebhook,
  before: SetWebhook | null,
  { readUrl, allowed, mails }: Planning,
  refuse: Refuse,
): { url: string; kind: WebhookKind } | null {
  if (before !== null && kind !== undefined && kind !== before.kind) {
    refuse('kind', `found "${kind}", and it is of kind ${before.kind}`, ANOTHER)
    return null
  }
  if (text === undefined) {
    if (before !== null) return { url: before.url, kind: before.kind }
    refuse(
      'url',
      'missing',
      'needed: its address, or "env:NAME" or "file:/path" to keep it out of the file',
    )
    return null
  }
  const url = readUrl(text)
  if (typeof url !== 'string') {
    // One that is there already goes on as it is: where the address is kept need not be here.
    if (before !== null) return { url: before.url, kind: before.kind }
    refuse('url', url.found, url.allowed)
    return null
  }
  if (before !== null) {
    if (before.url === url || before.url === canonical(url))
      return { url: before.url, kind: before.kind }
    refuse('url', 'another address than the one it has', ANOTHER)
    return null
  }
  return settleNew(url, kind, { allowed, mails }, refuse)
}

const ANOTHER =
  'a webhook keeps its address: declare a new one beside it, without this id and under another name'

const canonical = (url: string): string => {
  const address = parseMailto(url)
  return address === null ? url : `mailto:${address}`
}

function settleNew(
  url: string,
  kind: WebhookKind | undefined,
  { allowed, mails }: Pick<Planning, 'allowed' | 'mails'>,
  refuse: Refuse,
): { url: string; kind: WebhookKind } | null {
  if (/^mailto:/i.test(url)) {
    if (kind !== undefined && kind !== 'email')
      refuse('kind', `found "${kind}"`, `it takes ${KIND_FORMS[kind]}`)
    else if (parseMailto(url) === null) refuse('url', 'found this address', `it ${MAILTO_FORM}`)
    else if (!mails)
      refuse('url', 'found an address for mail', 'needed: [smtp] in the configuration')
    else return { url: canonical(url), kind: 'email' }
    return null
  }
  const parsed = parseTarget(url, allowed)
  if (!parsed.ok) {
    refuse('url', 'found this address', `it ${REFUSALS[parsed.refusal]}`)
    return null
  }
  const { literal } = parsed.target
  // A name is judged by what it resolves to, at every delivery.
  const refusal = literal === null ? null : judgeAddresses(parsed.target, [literal], allowed)
  if (refusal !== null) {
    refuse('url', 'found this address', `it ${REFUSALS[refusal]}`)
    return null
  }
  const of_url = kindOfUrl(parsed.target.url)
  if (kind === undefined || kind === of_url) return { url, kind: of_url }
  refuse('kind', `found "${kind}"`, `it takes ${KIND_FORMS[kind]}`)
  return null
}

import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { FormField } from '../../core/filter/fields.ts'
import { relevanceSchema } from '../../core/relevance/rules.ts'
import { addBody as accountBody } from '../operator/account-changes.ts'
import { create } from '../operator/actions/customers.ts'
import { createKey } from '../operator/actions/keys.ts'
import { ACTIONS } from '../operator/commands.ts'
import {
  addBody as sourceBody,
  discoverBody,
  permissionBody,
  signInBody,
} from '../operator/sources.ts'
import { createBody, updateBody } from '../webhooks/routes.ts'

type Label = readonly [label: string, hint?: string | undefined, kind?: FormField['kind']]

/** Fields of a form: kinds and options of the JSON Schema of its body, with labels for people. */
function formOf(schema: z.ZodType, labels: Readonly<Record<string, Label>>): FormField[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return Object.entries(labels).map(([name, [label, hint, kind]]) => {
    const given = Object(properties[name])
    const {
      type,
      enum: values,
      items,
    } = given.anyOf?.find((it: Json) => it.type !== 'null') ?? given
    const options: string[] | undefined = values ?? items?.enum
    return {
      name,
      label,
      ...(hint !== undefined && { hint }),
      kind: kind ?? kindOf(type, options !== undefined),
      ...(options && { options: options.map((it) => [it, it] as const) }),
      needs: [],
    }
  })
}

type Json = { type?: string }

function kindOf(type: string | undefined, is_chosen: boolean): FormField['kind'] {
  if (type === 'boolean') return 'check'
  if (type === 'number' || type === 'integer') return 'number'
  return is_chosen ? (type === 'array' ? 'some' : 'one') : 'text'
}

const TOTP_HINT = 'Optional. The base32 text that the site shows for authenticator apps.'

/** Forms of a customer. */
export const customerForms = once(() => ({
  webhook: formOf(createBody.made(), {
    url: [
      'URL',
      'An https:// URL of your own, a Slack or Discord webhook URL, or mailto:you@example.com',
    ],
    kind: ['Kind'],
    name: ['Name', 'Optional. Shown in place of the address.'],
    username: ['User'],
    token: ['Token', undefined, 'secret'],
  }),
  webhook_update: formOf(updateBody.made(), {
    url: ['URL'],
    name: ['Name', 'Optional. Shown in place of the address.'],
    max_per_second: ['Rate limit', 'Deliveries per second, such as 0.5. Empty: no limit.'],
    username: ['User', KEPT],
    token: ['Token', KEPT, 'secret'],
    active: ['Active'],
    ordered: ['Ordered: one delivery at a time, in the order of each monitor'],
    events: ['Notify when a delivered item'],
  }),
  relevance: formOf(relevanceSchema(), {
    prompt: [
      'Relevant are',
      'Describes to the model of this service which matches you want. Empty: no model is used.',
      'area',
    ],
    min_score: ['Minimum score', '0 to 1. Matches with a lower one are listed and not sent.'],
    when_down: ['A match that the model cannot judge'],
  }),
}))

const KEPT = 'Empty: unchanged. A new one replaces what is stored, which is never shown.'

const CUSTOMER_LABELS: Readonly<Record<string, Label>> = {
  name: ['Name', 'At most 64 characters.'],
  plan: ['Plan', 'A plan of [plans] in the configuration.', 'one'],
  usd: ['Amount in USD', undefined, 'text'],
  note: ['Note', 'Optional. Shown in the payments of the customer.'],
}

const NAMES: Readonly<Record<string, string>> = {
  'customer set-plan': 'change plan',
  'credit add': 'add credits',
}

/** Actions on a customer, each with its form; `path` has `:customer` for the id. */
export const customerActions = once(() =>
  ACTIONS.flatMap(({ command, summary, route, operands, fields }) => {
    const [, path = ''] = /^POST (\/customers\/:customer\/.*)$/.exec(route) ?? []
    if (path === '') return []
    const named = Object.entries(CUSTOMER_LABELS).filter(
      ([it]) => operands.includes(it) || (it === 'note' && operands.includes('usd')),
    )
    const form = formOf(z.object(fields?.() ?? {}), Object.fromEntries(named))
    return [
      { name: NAMES[command] ?? command.replace('customer ', ''), summary, path, fields: form },
    ]
  }),
)

/** Forms of an operator. */
export const operatorForms = once(() => ({
  discover: formOf(discoverBody.made(), {
    address: [
      'Address of the site or thread',
      'As your browser shows it. At most six requests find out what is there.',
    ],
  }),
  source: formOf(sourceBody.made(), {
    name: ['Source name', 'Lower-case letters, digits and -. It is part of API paths.'],
    kind: ['Kind'],
    base_url: ['Address'],
  }),
  source_account: formOf(signInBody.made(), {
    username: ['User name'],
    password: ['Password', undefined, 'secret'],
    totp_secret: ['Secret of the second factor', TOTP_HINT, 'secret'],
  }),
  source_answer: formOf(permissionBody.made(), { answer: ['Text of the site', undefined, 'area'] }),
  account: formOf(accountBody.made(), {
    name: ['Account name', 'Your name for it: letters, digits, dots, _ and -.'],
    username: ['User name', 'On the platform. Default: the account name.'],
    password: ['Password', 'Also used for later sign-ins.', 'secret'],
    totp_secret: ['Secret of the second factor', TOTP_HINT, 'secret'],
    client_id: ['Client id'],
    client_secret: ['Client secret', undefined, 'secret'],
    refresh_token: [
      'Refresh token',
      'Optional. Without one it reads as the application alone.',
      'secret',
    ],
    jar: ['Cookies', undefined, 'area'],
    proxy: ['Proxy', undefined, 'one'],
  }),
  customer: formOf(z.object(create.fields?.() ?? {}), {
    name: ['Name', 'At most 64 characters. It gets the starting credit of the configuration.'],
    plan: CUSTOMER_LABELS['plan'] ?? ['Plan'],
  }),
  key: formOf(z.object(createKey.fields?.() ?? {}), {
    name: ['Key name', 'Optional. Its purpose, such as the program that uses it.'],
    scopes: ['Scopes'],
    expires_at: [
      'Expires',
      'Optional. A day such as 2027-01-31, or an ISO 8601 time with its zone.',
    ],
  }),
}))

import { Elysia } from 'elysia'

import { IDEMPOTENCY_HEADER, readIdempotencyKey } from '../../core/limits/idempotency.ts'
import type { Operators } from '../http/auth.ts'
import { bodySchema, querySchema } from '../http/fields.ts'
import type { Action, ActionDeps, Call } from './action.ts'
import type { RecordAction } from './actions.ts'
import { list, show } from './actions/customer-reads.ts'
import { rename } from './actions/customer-rename.ts'
import { addCredit, create, remove, setPlan } from './actions/customers.ts'
import { deliveryList, redrive } from './actions/deliveries.ts'
import { draftApprove, draftDecline, draftList, draftShow } from './actions/drafts.ts'
import { answer } from './actions/feedback.ts'
import { createKey, importKey, keys, revoke, signInLink } from './actions/keys.ts'
import {
  accountList,
  pause,
  proxyAdd,
  proxyList,
  proxyRemove,
  proxyTest,
  resume,
} from './actions/pool.ts'

/** The actions of operators, in the order of the overview of commands. Each is a route and a command. */
export const ACTIONS: readonly Action[] = [
  create,
  list,
  show,
  setPlan,
  rename,
  remove,
  addCredit,
  createKey,
  importKey,
  keys,
  signInLink,
  revoke,
  accountList,
  pause,
  resume,
  proxyAdd,
  proxyList,
  proxyTest,
  proxyRemove,
  deliveryList,
  redrive,
  answer,
  draftList,
  draftShow,
  draftApprove,
  draftDecline,
]

export function operatorActions(
  deps: ActionDeps,
  record: RecordAction,
  operatorOf: Operators['of'],
) {
  const app = new Elysia({ name: 'operator actions', prefix: '/operator', detail: { hide: true } })
  for (const { route, fields = () => ({}), run } of ACTIONS) {
    const [method = '', path = ''] = route.split(' ')
    const handle = ({ params, query, body, request, set }: Arrival) =>
      run({
        ...deps,
        input: { ...query, ...Object(body), ...params },
        key_id: operatorOf(request).key.id,
        record: (what) => record(request, what),
        idempotency_key: readIdempotencyKey(request.headers.get(IDEMPOTENCY_HEADER)),
        set,
      })
    if (method === 'GET') app.get(path, handle, { query: querySchema(fields) })
    else if (Object.keys(fields()).length === 0) app.post(path, handle)
    else app.post(path, handle, { body: bodySchema(fields) })
  }
  return app
}

type Arrival = {
  params: object
  query: object
  body: unknown
  request: Request
  set: Call<object>['set']
}

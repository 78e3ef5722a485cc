import { Elysia } from 'elysia'

import type { Links } from '../core/links.ts'
import type { Db } from '../store/db.ts'
import { confirmTarget } from '../store/mail-targets.ts'
import { readerPage } from './unsubscribe-page.ts'

const GONE = 'This address leads nowhere any more: what it was for has been removed.'

/** `/confirm/{token}`: following it takes a target of kind email into service. */
export const confirm = ({ db, links }: { db: Db; links: Links }) =>
  new Elysia({ name: 'confirm', detail: { hide: true } }).get(
    '/confirm/:token',
    ({ params: { token }, request }) => {
      const named = links.readConfirm(token)
      if (named === null) return readerPage(GONE, { status: 404 })
      // Who only asks whether the address is there has not said yes.
      if (request.method === 'HEAD') return readerPage('Open this address to confirm.')
      const url = confirmTarget(db, named.webhook_id)
      return url === null
        ? readerPage(GONE, { status: 404 })
        : readerPage(`Thank you. ${url.replace('mailto:', '')} gets alerts from now on.`)
    },
  )

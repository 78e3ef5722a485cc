import { Elysia } from 'elysia'

import type { Links } from '../core/links.ts'
import type { Clock } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { findSubscription, unsubscribe as stop } from '../store/mail-targets.ts'
import { readerPage } from './unsubscribe-page.ts'

const GONE = 'This address leads nowhere any more: there is nothing left to stop.'

/** `/unsubscribe/{token}`: GET asks, POST stops this monitor's mails to this reader; mail programs post by themselves. */
export function unsubscribe({ db, links, clock }: { db: Db; links: Links; clock: Clock }) {
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
      if (found === null) return readerPage(GONE, { status: 404 })
      const { monitor, reader, stopped } = found
      return stopped
        ? readerPage(`${reader} gets nothing more from ${monitor}.`)
        : readerPage(`Stop sending ${reader} what ${monitor} finds?`, { button: 'Stop' })
    })
    .post('/unsubscribe/:token', ({ params: { token } }) => {
      const found = find(token)
      if (found === null) return readerPage(GONE, { status: 404 })
      stop(db, found.pair, clock.now())
      return readerPage(`${found.reader} gets nothing more from ${found.monitor}.`)
    })
}

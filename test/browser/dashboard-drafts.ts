import { expect } from 'bun:test'

import type { Dashboard } from './dashboard-stage.ts'
import { telling } from './dashboard-telling.ts'
import type { Visitor } from './dashboard-visitor.ts'

const HOUR_MS = 3_600_000

/** Drafts as a person agrees to them. A stand-in answers for the routes: what it was sent is what the page asked. */
export function draftStories(stage: () => Dashboard) {
  const { story } = telling(stage)

  story(
    'a draft is shown whole, approved with a session, or declined after a question',
    async (it) => {
      await using visitor = await it.visitor()
      await visitor.signIn(it.house.key)
      await standIn(visitor, '/drafts')
      await visitor.open('/drafts')
      await visitor.sees('A loaf of thanks')
      await visitor.press('Approve')
      await visitor.type('forum_session', 'a session')
      await visitor.type('loid', 'a loid')
      await visitor.press('Approve and write')
      await visitor.sees('Loid is not one')
      await visitor.type('loid', 'another')
      await visitor.press('Approve and write')
      await visitor.sees('Approved: it was written.')
      await visitor.press('Decline')
      await visitor.press('Keep it')
      await visitor.press('Decline')
      await visitor.press('Decline it')
      await visitor.sees('Declined: it will not be written.')

      expect(await sentBy(visitor)).toEqual([
        ['/drafts/drf_1/approve', { forum_session: 'a session', loid: 'a loid' }],
        ['/drafts/drf_1/approve', { forum_session: 'a session', loid: 'another' }],
        ['/drafts/drf_1/decline', {}],
      ])
      expect(visitor.strange).toEqual([])
    },
  )

  story('an operator approves a draft as an account that is signed in', async (it) => {
    await using visitor = await it.visitor()
    await visitor.signIn(it.operator)
    await standIn(visitor, '/operator/drafts')
    await visitor.open('/drafts')
    await visitor.sees('of ann')
    await visitor.press('Approve')
    await visitor.choose('Write it as', 'house_one')
    await visitor.press('Approve and write')
    await visitor.sees('Approved: it was written.')

    expect(await sentBy(visitor)).toEqual([
      ['/operator/drafts/drf_1/approve', { account: 'house_one' }],
    ])
  })
}

/** Answers in the place of the daemon's routes under `at`: one draft that waits, and a refusal of the first loid. */
async function standIn({ page }: Visitor, at: string) {
  const now = Date.now()
  const draft = {
    id: 'drf_1',
    action: 'comment',
    body: { post_url: 'https://forum.example/abc', text: 'A loaf of thanks' },
    status: 'waiting',
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 24 * HOUR_MS).toISOString(),
    customer: { id: 'cus_1', name: 'ann' },
    answer: null,
  }
  await page.evaluateOnNewDocument(`{
    const asked = globalThis.fetch
    globalThis.sent = []
    globalThis.fetch = async (path, init) => {
      const place = '/dashboard/api${at}'
      if (!path.startsWith(place)) return asked(path, init)
      if (init.method === 'GET') return Response.json({ drafts: [${JSON.stringify(draft)}] })
      const body = JSON.parse(init.body)
      sent.push([path.slice('/dashboard/api'.length), body])
      return body.loid === 'a loid'
        ? Response.json({ error: 'loid is not one', code: 'INVALID_REQUEST', field: 'loid' }, { status: 400 })
        : Response.json({})
    }
  }`)
}

const sentBy = async ({ page }: Visitor): Promise<unknown> =>
  JSON.parse(String(await page.evaluate('JSON.stringify(globalThis.sent)')))

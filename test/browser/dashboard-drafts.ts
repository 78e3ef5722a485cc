import { expect } from 'bun:test'

import { SESSION_COOKIE } from '../support/accounts.ts'
import type { Dashboard } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

/** Scenarios of drafts: approval and refusal. */
export function draftStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario(
    'a customer approves a draft with their own session and declines another',
    async (it) => {
      const { mint, sandbox } = it.daemon
      const key = mint('drafter')
      const post = sandbox.post({ subforum: 'bread', title: 'A loaf for all' })
      await draft(it, key, { at: post.permalink, text: 'A loaf of thanks' })
      await draft(it, key, { at: post.permalink, text: 'Not this one' })
      const { [SESSION_COOKIE]: session = '', loid = '' } = sandbox.session({
        username: 'thankful',
      }).cookies

      await using client = await it.openClient()
      await client.enter(key)
      await client.open('/drafts', 'A loaf of thanks')
      // The newest draft is first.
      await client.press('Decline')
      await client.press('Cancel')
      await client.press('Decline')
      await client.press('Decline draft', 'Declined. It will not be sent.')
      await client.press('Approve')
      await client.press('Approve and send', 'forum_session')
      await client.typeAll({ forum_session: session, loid: loid })
      await client.press('Approve and send', 'Approved and sent.')
      await client.waitForText('Sent:')

      expect(await comments(it, post.permalink)).toEqual(['A loaf of thanks'])
      expect(client.strange).toEqual([])
    },
  )

  scenario(
    'an operator approves a draft as an account of the pool that is signed in',
    async (it) => {
      const { key, sandbox } = it.daemon
      const post = sandbox.post({ subforum: 'bread', title: 'A loaf for the house' })
      await draft(it, key, { at: post.permalink, text: 'The house says thanks' })

      await using client = await it.openClient()
      await client.enter(it.operator)
      await client.open('/drafts', 'by ann')
      await client.press('Approve')
      await client.choose('Send as', 'house_one')
      await client.press('Approve and send', 'Approved and sent.')

      expect(await comments(it, post.permalink)).toEqual(['The house says thanks'])
      expect(client.strange).toEqual([])
    },
  )
}

/** Creates a draft of a comment. */
async function draft(
  { daemon }: Dashboard,
  key: string,
  { at, text }: { at: string; text: string },
) {
  const body = { action: 'comment', body: { post_url: daemon.sandbox.url + at, text } }
  const created = await daemon.call('/drafts', { method: 'POST', body: JSON.stringify(body) }, key)
  expect([created.status, created.body.status]).toEqual([200, 'waiting'])
}

/** The comments of a post on the platform. */
async function comments({ daemon }: Dashboard, permalink: string): Promise<string[]> {
  // Lets cached reads expire.
  await daemon.clock.advance(60_000)
  const { body } = await daemon.call(`/api/forum/comments?permalink=${permalink}`)
  return body.comments.map((it: { data: { body: string } }) => it.data.body)
}

import { expect } from 'bun:test'

import { SESSION_COOKIE } from '../support/accounts.ts'
import type { Dashboard } from './dashboard-stage.ts'
import { telling } from './dashboard-telling.ts'

/** What a program wants to write, and a person agrees to or does not. */
export function draftStories(stage: () => Dashboard) {
  const { story } = telling(stage)

  story("a draft is approved with a session of one's own, another declined", async (it) => {
    const { mint, sandbox } = it.house
    const key = mint('drafter')
    const post = sandbox.post({ subforum: 'bread', title: 'A loaf for all' })
    await draft(it, key, { at: post.permalink, text: 'A loaf of thanks' })
    await draft(it, key, { at: post.permalink, text: 'Not this one' })
    const { [SESSION_COOKIE]: session = '', loid = '' } = sandbox.session({
      username: 'thankful',
    }).cookies

    await using visitor = await it.visitor()
    await visitor.signIn(key)
    await visitor.open('/drafts')
    await visitor.sees('A loaf of thanks')
    // The newest stands first.
    await visitor.press('Decline')
    await visitor.press('Keep it')
    await visitor.press('Decline')
    await visitor.press('Decline it')
    await visitor.sees('Declined: it will not be written.')
    await visitor.press('Approve')
    await visitor.press('Approve and write')
    await visitor.sees('forum_session')
    await visitor.type('forum_session', session)
    await visitor.type('loid', loid)
    await visitor.press('Approve and write')
    await visitor.sees('Approved: it was written.')
    await visitor.sees('Written:')

    expect(await comments(it, post.permalink)).toEqual(['A loaf of thanks'])
    expect(visitor.strange).toEqual([])
  })

  story('an operator approves a draft as an account of the pool that is signed in', async (it) => {
    const { key, sandbox } = it.house
    const post = sandbox.post({ subforum: 'bread', title: 'A loaf for the house' })
    await draft(it, key, { at: post.permalink, text: 'The house says thanks' })

    await using visitor = await it.visitor()
    await visitor.signIn(it.operator)
    await visitor.open('/drafts')
    await visitor.sees('of ann')
    await visitor.press('Approve')
    await visitor.choose('Write it as', 'house_one')
    await visitor.press('Approve and write')
    await visitor.sees('Approved: it was written.')

    expect(await comments(it, post.permalink)).toEqual(['The house says thanks'])
    expect(visitor.strange).toEqual([])
  })
}

/** A program asks for a comment to be written. */
async function draft(
  { house }: Dashboard,
  key: string,
  { at, text }: { at: string; text: string },
) {
  const body = { action: 'comment', body: { post_url: house.sandbox.url + at, text } }
  const asked = await house.call('/drafts', { method: 'POST', body: JSON.stringify(body) }, key)
  expect([asked.status, asked.body.status]).toEqual([200, 'waiting'])
}

/** What stands under a post on the platform. */
async function comments({ house }: Dashboard, permalink: string): Promise<string[]> {
  // What is read is kept for a moment.
  await house.clock.advance(60_000)
  const { body } = await house.call(`/api/forum/comments?permalink=${permalink}`)
  return body.comments.map((it: { data: { body: string } }) => it.data.body)
}

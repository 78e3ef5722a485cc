import { expect, test } from 'bun:test'

import type { Dashboard } from './dashboard-stage.ts'
import type { Visitor } from './dashboard-visitor.ts'
import { TEST_MS } from './stage.ts'

/** Some look at every page from every side, beside whatever else the machine does. */
const STORY_MS = 3 * TEST_MS

/** Stories told against the one stage; those of the customer who has used it for a while share one window. */
export function telling(stage: () => Dashboard) {
  const story = (title: string, tell: (it: Dashboard) => Promise<void>) =>
    test(title, () => tell(stage()), STORY_MS)
  const asCustomer = (title: string, tell: (visitor: Visitor, it: Dashboard) => Promise<void>) =>
    story(title, async (it) => {
      await using visitor = await it.visitor()
      await visitor.look('wide', 'light')
      await visitor.signIn(it.house.key)
      await tell(visitor, it)
      expect(visitor.strange).toEqual([])
    })
  return { story, asCustomer }
}

/** A customer of the name, new, and somebody who is signed in as it. */
export async function newcomer(it: Dashboard, name: string) {
  const key = it.house.mint(name)
  const visitor = await it.visitor()
  await visitor.signIn(key)
  return visitor
}

/** Registers the receiver as a webhook, through the page, and answers the secret that was shown. */
export async function register(visitor: Visitor, url: string) {
  await visitor.open('/webhooks')
  await visitor.press('New webhook')
  await visitor.type('Address', url)
  await visitor.press('Register')
  await visitor.sees('This is its secret')
  const secret = await visitor.value('Secret')
  await visitor.press('I have kept it')
  return secret
}

import { expect } from 'bun:test'

import type { Dashboard } from './dashboard-fixture.ts'
import { createScenarios, linkOf } from './dashboard-scenarios.ts'

/** Scenarios of a one-time link. */
export function signInStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario(
    'a link signs in after a question, once, and leaves no trace in the address',
    async (it) => {
      await using client = await it.openClient()
      const link = linkOf(it, it.daemon.mint('linked'))
      const requested: string[] = []
      client.page.on('request', (request) => requested.push(request.url()))
      await client.setViewport('phone', 'light')
      await client.open(link)
      await client.waitForText('This link signs this browser in, once.')
      await client.picture('sign-in-link')
      expect(client.page.url()).toEndWith('/dashboard/sign-in')
      // The button has the focus: Enter is enough.
      await client.page.keyboard.press('Enter')
      await client.page.waitForSelector('.frame')
      expect(client.page.url()).toEndWith('/dashboard')
      expect(requested.filter((url) => url.includes(link.split('#')[1] ?? ''))).toEqual([
        `${it.daemon.url()}/dashboard${link}`,
      ])

      await using other = await it.openClient()
      await other.open(link)
      await other.press('Sign in')
      await other.waitForText('This sign-in link was used or has expired.')
      await other.waitForText('forumd key sign-in-link')
      await other.picture('sign-in-link-used')
      expect([...client.strange, ...other.strange]).toEqual([])
    },
  )

  scenario('a link in an open session is not used before its question is answered', async (it) => {
    await using client = await it.openClient()
    await client.signIn(it.daemon.mint('careful'))
    const link = linkOf(it, it.operator)
    await client.open(link)
    await client.press('Sign in with a key instead')
    await client.page.waitForSelector('.frame')
    expect(await client.text()).not.toContain('State of the daemon')

    await client.open(link)
    await client.press('Sign in', 'State of the daemon')
    expect(client.strange).toEqual([])
  })

  scenario('signed-in browsers are listed and ended, by customers and operators', async (it) => {
    for (const key of [it.daemon.mint('two browsers'), it.operator]) {
      await using client = await it.openClient()
      await using other = await it.openClient()
      await client.setViewport('wide', 'light')
      await other.signIn(key)
      await client.signIn(key)
      await client.press('Account and sessions', 'Browser sessions')
      await client.waitForText('This one')
      await client.waitForText('Chrome ')
      await client.picture(`account-${key.slice(0, 2)}`)
      await client.press('End all other sessions', 'needs the key or a sign-in link again')
      await client.picture(`account-end-${key.slice(0, 2)}`)
      await client.press('End the others', 'Only this browser is signed in.')
      await client.misses('End all other sessions')

      await other.open('/account')
      await other.waitForText('API key')
      await other.signIn(key)
      await other.open('/account')
      await other.waitForText('This one')
      await client.open('/account')
      await client.press('End')
      await client.press('End session', 'is signed out.')
      expect([...client.strange, ...other.strange]).toEqual([])
    }
  })
}

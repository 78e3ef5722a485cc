import { expect } from 'bun:test'

import type { Dashboard } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

/** Scenarios of an operator. */
export function operatorStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario(
    'an operator sees the system, its customers and its pool, and pauses an account',
    async (it) => {
      await using client = await it.openClient()
      await client.setViewport('wide', 'light')
      await client.enter(it.operator)
      await client.waitForText('State of the daemon')
      await client.waitForText('Reserve file for a full disk')
      await client.press('Customers', 'on this daemon')
      await client.type('Search customers', 'no such name')
      await client.waitForText('No customers match this search')
      await client.type('Search customers', 'ann')
      await client.press('ann', 'Usage of 30 days')
      for (const text of ['The bakery', 'Sourdough', 'Credit left']) await client.waitForText(text)
      expect(await client.text()).not.toContain(it.daemon.receiver.url)
      await client.open('/customers/cus_none', 'Customer not found')
      await client.open(
        '/customers?having=webhooks_paused',
        'No customers match this search or filter',
      )

      await client.press('Sources', 'at most 6,000')
      await client.waitForText('Access ends on')

      await client.press('Pool', 'house_two needs a new login')
      await client.press('Test', 'Signed in and able to read.')
      await client.press('Pause', 'house_one paused.')
      await client.press('Resume', 'house_one resumed.')

      expect(await client.text()).not.toContain('/dashboard/monitors')
      expect(client.strange).toEqual([])
    },
  )
}

import { expect } from 'bun:test'

import type { Dashboard } from './dashboard-stage.ts'
import { telling } from './dashboard-telling.ts'

/** What an operator does on the dashboard. */
export function operatorStories(stage: () => Dashboard) {
  const { story } = telling(stage)

  story(
    'an operator sees the house, its customers and its pool, and pauses an account',
    async (it) => {
      await using visitor = await it.visitor()
      await visitor.look('wide', 'light')
      await visitor.signIn(it.operator)
      await visitor.sees('The whole house')
      await visitor.sees('Books checked')
      await visitor.press('Customers')
      await visitor.sees('in this house')
      await visitor.type('Search customers', 'nobody of that name')
      await visitor.sees('No customer fits that search')
      await visitor.type('Search customers', 'ann')
      await visitor.sees('ann')

      await visitor.press('Pool')
      await visitor.sees('house_two needs a new login')
      await visitor.sees('forumd account login house_two')
      await visitor.press('Test')
      await visitor.sees('The platform knows it and lets it read.')
      await visitor.press('Pause')
      await visitor.sees('house_one is not used any more.')
      await visitor.press('Resume')
      await visitor.sees('house_one is used again.')

      expect(await visitor.text()).not.toContain('/dashboard/monitors')
      expect(visitor.strange).toEqual([])
    },
  )

  story(
    'feedback is sent by a customer, answered by the operator and read by the customer',
    async (it) => {
      await using customer = await it.visitor()
      await customer.signIn(it.house.mint('teller'))
      await customer.open('/feedback')
      await customer.press('Send')
      await customer.sees('Title must be text')
      await customer.choose('It is', 'missing_capability')
      await customer.type('In a line', 'A second bell')
      await customer.type('Details', 'One is\nnot enough.')
      await customer.press('Send')
      await customer.sees('A second bell')

      await using operator = await it.visitor()
      await operator.signIn(it.operator)
      await operator.open('/feedback')
      await operator.sees('from teller')
      await operator.press('Answer')
      await operator.choose('State', 'shipped')
      await operator.type('Answer', 'It rings twice now.')
      await operator.press('Save answer')
      await operator.misses('A second bell')

      await customer.open('/feedback')
      await customer.sees('It rings twice now.')
      await customer.sees('Shipped')
      expect([...customer.strange, ...operator.strange]).toEqual([])
    },
  )
}

import { expect } from 'bun:test'

import { tempFolder } from '../support/folder.ts'
import type { Dashboard } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

declare const document: { querySelector(selector: string): { value: string } | null }

/** Scenarios of an operator who changes customers and accounts. */
export function operatorActionStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario(
    'an operator creates a customer with a key and credits, and revokes the key',
    async (it) => {
      await using client = await it.openClient()
      await client.setViewport('wide', 'light')
      await client.signIn(it.operator)
      await client.open('/customers')
      await client.press('New customer')
      await client.press('Create')
      await client.waitForText('Name must be 1 to 64 printable characters')
      await client.type('Name', 'cobbler')
      await client.press('Create')
      await client.waitForText('Its first key is next.')
      await client.waitForText('No valid keys')

      await client.press('Add credits')
      await client.type('Amount in USD', 'five')
      await client.press('Add')
      await client.waitForText('US dollars above 0')
      await client.type('Amount in USD', '7.25')
      // A double click sends one payment, or two of one name.
      await client.page.evaluate(
        "[...document.querySelectorAll('dialog button')].find((b) => b.innerText === 'Add').click();" +
          "document.querySelector('dialog form').requestSubmit()",
      )
      await client.waitForText('cobbler has $')

      await client.press('New key')
      await client.type('Key name', 'workshop')
      await client.press('Create key')
      await client.waitForText('The key is shown only once')
      const key = await client.page.evaluate(
        () => document.querySelector('.copyable input')?.value ?? '',
      )
      expect(key).toMatch(/^fk_/)
      await client.press('I have stored it')
      await client.waitForText('workshop')
      expect(await client.page.content()).not.toContain(key)
      const { payments } = (await it.daemon.call('/account/payments', {}, key)).body
      expect(payments.filter(({ kind }: { kind: string }) => kind === 'top_up')).toHaveLength(1)

      await using customer = await it.openClient()
      await customer.signIn(key)
      await customer.waitForText('cobbler')

      await client.press('Revoke workshop')
      await client.press('Revoke key')
      await client.waitForText('No valid keys')
      await customer.press('Webhooks')
      await customer.waitForText('API key')

      await client.press('Audit')
      for (const text of ['Key revoked', 'Credits added', 'usd 7.25', 'dashboard', '127.0.0.1'])
        await client.waitForText(text)
      expect(await client.text()).not.toContain(key)
      await client.picture('operator-audit-filled')
      expect([...client.strange, ...customer.strange]).toEqual([])
    },
  )

  scenario('an operator adds an account by a cookie file', async (it) => {
    const { cookies } = it.daemon.sandbox.session({ username: 'house_two' })
    await using client = await it.openClient()
    await client.signIn(it.operator)
    await client.open('/pool')
    await client.press('Add account')
    await client.type('Account name', 'third')
    await client.type('Cookies', '{"broken')
    await client.press('Check and add')
    await client.waitForText('Jar is not usable')
    const header = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
    using folder = tempFolder()
    const file = `${folder.path}/cookies.txt`
    await Bun.write(file, header.join('; '))
    const input = await client.page.$('input[type=file]')
    if (input === null) throw new Error('the form has no file field')
    await input.uploadFile(file)
    await client.changes('Cookies', '{"broken')
    await client.press('Check and add')
    await client.waitForText('third is in the pool: ready.')
    for (const value of Object.values(cookies))
      expect(await client.page.content()).not.toContain(value)
    expect(client.strange).toEqual([])
  })
}

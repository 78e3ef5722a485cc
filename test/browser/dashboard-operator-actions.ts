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
      await client.enter(it.operator)
      await client.open('/customers')
      await client.press('New customer')
      await client.press('Create', 'Name is required: 1 to 64 printable characters')
      await client.type('Name', 'cobbler')
      await client.press('Create', 'Its first key is next.')
      await client.waitForText('No valid keys')

      await client.press('Add credits')
      await client.type('Amount in USD', 'five')
      await client.press('Add credits', 'US dollars above 0')
      await client.type('Amount in USD', '7.25')
      // A double click sends one payment, or two of one name.
      await client.page.evaluate(
        "[...document.querySelectorAll('dialog button')].find((b) => b.innerText === 'Add credits').click();" +
          "document.querySelector('dialog form').requestSubmit()",
      )
      await client.waitForText('Done.')
      await client.press('Rename')
      await client.type('Name', '')
      await client.press('Rename', 'Name is required: 1 to 64 printable characters')
      await client.type('Name', 'shoemaker')
      await client.press('Rename', 'Done.')
      await client.waitForText('shoemaker')

      await client.press('New key')
      await client.type('Key name', 'workshop')
      await client.press('Create key', 'The key is shown only once')
      const key = await client.page.evaluate(
        () => document.querySelector('.copyable input')?.value ?? '',
      )
      expect(key).toMatch(/^fk_/)
      await client.press('I have stored it', 'workshop')
      expect(await client.page.content()).not.toContain(key)
      const { payments } = (await it.daemon.call('/account/payments', {}, key)).body
      expect(payments.filter(({ kind }: { kind: string }) => kind === 'top_up')).toHaveLength(1)

      await using customer = await it.openClient()
      await customer.enter(key)
      await customer.waitForText('shoemaker')

      await client.press('Revoke workshop')
      await client.press('Revoke key', 'No valid keys')
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
    await client.enter(it.operator)
    await client.open('/pool')
    await client.press('Add account')
    await client.typeAll({ 'Account name': 'third', Cookies: '{"broken' })
    await client.press('Check and add', 'Jar is not usable')
    const header = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
    using folder = tempFolder()
    const file = `${folder.path}/cookies.txt`
    await Bun.write(file, header.join('; '))
    const input = await client.page.$('input[type=file]')
    if (input === null) throw new Error('the form has no file field')
    await input.uploadFile(file)
    await client.changes('Cookies', '{"broken')
    await client.press('Check and add', 'third is in the pool: ready.')
    for (const value of Object.values(cookies))
      expect(await client.page.content()).not.toContain(value)
    expect(client.strange).toEqual([])
  })

  scenario(
    'an operator adds an account by password, signs it in again and removes it',
    async (it) => {
      const username = 'guarded_member'
      const password = 'open-sesame'
      const totp_secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
      it.daemon.sandbox.user({ name: username, password, totp_secret })
      await using client = await it.openClient()
      await client.enter(it.operator)
      await client.open('/pool')
      await client.press('Add account')
      await client.type('Account name', 'guarded')
      await client.choose('Sign in by', 'password')
      await client.typeAll({ 'User name': username, Password: 'wrong' })
      await client.press('Check and add', 'Password must be one that the platform accepts')
      await client.picture('account-add-refused')
      await client.type('Password', password)
      await client.press('Check and add', 'is required, because the account has a second factor')
      await client.type('Secret of the second factor', totp_secret)
      await client.press('Check and add', 'guarded is in the pool: ready.')
      const content = await client.page.content()
      for (const secret of [password, totp_secret]) expect(content).not.toContain(secret)

      await client.press('Sign in guarded', 'the stored password')
      await client.choose('With', 'jar')
      await client.type('Cookies', '{"broken')
      await client.page.keyboard.press('Escape')
      await client.waitFor("!location.search.includes('login')")
      await client.press(
        'Remove guarded',
        'leaves the pool, and its cookies and password are deleted',
      )
      await client.press('Remove guarded', 'guarded is removed.')
      await client.open('/audit', 'Account removed')
      expect(client.strange).toEqual([])
    },
  )

  scenario('the figures of the overview lead to lists, and a problem to its form', async (it) => {
    await using client = await it.openClient()
    await client.setViewport('wide', 'light')
    await client.enter(it.operator)
    await client.waitForText('Account house_two needs a new login')
    await client.press('Account house_two needs a new login', 'Sign in house_two')
    await client.page.keyboard.press('Escape')
    await client.open('/deliveries?status=delivered&customer=ann', 'The bakery')
    await client.waitFor("!document.querySelector('.rows').innerText.includes('suppressed')")
    await client.open('/monitors?status=paused', 'No such monitors')
    await client.choose('State', 'active')
    await client.waitForText('Sourdough')
    expect(client.strange).toEqual([])
  })
}

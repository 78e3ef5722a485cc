import { expect } from 'bun:test'

import type { DashboardClient } from './dashboard-client.ts'
import type { Dashboard } from './dashboard-fixture.ts'
import { BRIEF, findAxeFaults } from './dashboard-rendering.ts'
import { createScenarios } from './dashboard-scenarios.ts'

const loaded = ({ page }: DashboardClient) =>
  page.waitForFunction('document.querySelector("#reference")?.innerText.length > 500')

const clickButton = async ({ page }: DashboardClient, text: RegExp) => {
  const button = await page.waitForFunction(
    `[...document.querySelectorAll('button')].find((it) => ${String(text)}.test(it.innerText) && it.checkVisibility())`,
  )
  await page.evaluate((it) => (it as { click(): void }).click(), button)
}

/** Opens the reference at the operation that returns the account. */
async function openReference(client: DashboardClient, url: string) {
  await client.page.goto(`${url}/docs#tag/account/GET/account/me`)
  await loaded(client)
}

/** Sends the test call for the account, and returns its status. */
async function tryAccount(client: DashboardClient): Promise<number> {
  await clickButton(client, /get \/account\/me\)/)
  const answered = client.page.waitForResponse((it) => it.url().endsWith('/account/me'))
  await clickButton(client, /^Send\b/)
  return (await answered).status()
}

/** Scenarios of the API reference. */
export function referenceStories(fixture: () => Dashboard) {
  const { scenario, asCustomer } = createScenarios(fixture)

  asCustomer('the reference sends test calls with the signed-in key', async (client, it) => {
    await client.waitFor(`document.querySelector('nav a[href="/docs"]') !== null`)
    const sent: string[] = []
    client.page.on('request', (request) => sent.push(JSON.stringify(request.headers())))

    await openReference(client, it.daemon.url())
    expect(await tryAccount(client)).toBe(200)
    await client.waitFor('document.body.innerText.includes("total_requests")')
    // The key itself is in no request and in no storage of the page.
    expect(sent.join()).not.toContain(it.daemon.key)
    expect(await client.page.content()).not.toContain(it.daemon.key)
  })

  scenario('the reference is accessible, and refuses test calls without a key', async (it) => {
    await using client = await it.openClient()
    await client.setViewport('wide', 'light')
    await openReference(client, it.daemon.url())
    expect(await findAxeFaults(client, 'all')).toEqual([])
    await client.setViewport('wide', 'dark')
    expect(await findAxeFaults(client, 'colours')).toEqual([])

    expect(await tryAccount(client)).toBe(401)
    expect(client.strange).toEqual([])
  })

  scenario('the runbook is readable in both themes and widths, and leads back', async (it) => {
    await using client = await it.openClient()
    await client.page.goto(`${it.daemon.url()}/docs/operations#file-descriptors`)
    await client.page.waitForSelector('table')
    for (const [width, theme, rules] of BRIEF) {
      await client.setViewport(width, theme)
      expect(await findAxeFaults(client, rules)).toEqual([])
      await client.picture(`runbook-${width}-${theme}`)
      const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      expect(await client.page.evaluate(over)).toBe(0)
    }
    const links = await client.page.$$eval('header a', (all) =>
      all.map((one) => one.getAttribute('href')),
    )
    expect(links).toEqual(['/dashboard', '/docs'])
    expect(client.strange).toEqual([])
  })
}

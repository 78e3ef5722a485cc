import { expect } from 'bun:test'

import axe from 'axe-core'

import { isLongForm } from '../support/long-form.ts'
import type { DashboardClient, Theme, Width } from './dashboard-client.ts'
import type { Dashboard } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

/** A page: name, path, text that shows it is loaded, and a control to press before the check. */
type PageCheck = {
  name: string
  path: string
  text: string
  press?: string
  drawn?: string
  /** Fewer renderings, for a dialog or state of a page that is checked in all of them. */
  brief?: true
}

const CUSTOMER: readonly PageCheck[] = [
  { name: 'overview', path: '', text: 'Sourdough', drawn: '.chart canvas' },
  { name: 'inbox', path: '/inbox', text: 'Sourdough' },
  { name: 'inbox-open', path: '/inbox?state=any&item=ITEM', text: 'Load the thread' },
  { name: 'inbox-filter', path: '/inbox', text: 'Sourdough', press: 'Filter', brief: true },
  { name: 'monitors', path: '/monitors', text: 'Caught up' },
  { name: 'monitor', path: '/monitors/MONITOR', text: 'Coverage in 24 hours', press: 'Feeds' },
  { name: 'monitor-new', path: '/monitors/new', text: 'No filter yet' },
  {
    name: 'monitor-edit',
    path: '/monitors/MONITOR/edit',
    text: 'Items per term',
    press: 'More conditions',
  },
  {
    name: 'monitor-remove',
    path: '/monitors/MONITOR',
    text: 'Coverage in 24 hours',
    press: 'Remove',
  },
  { name: 'deliveries', path: '/deliveries', text: 'sourdough worth it' },
  { name: 'delivery', path: '/deliveries/DELIVERY', text: 'oven is cold', press: 'Raw payload' },
  {
    name: 'deliveries-again',
    path: '/deliveries',
    text: 'worth it',
    press: 'Send failed deliveries again',
  },
  { name: 'webhooks', path: '/webhooks', text: 'The bakery' },
  { name: 'webhook', path: '/webhooks/WEBHOOK', text: 'Monitors that send here' },
  { name: 'webhook-new', path: '/webhooks', text: 'The bakery', press: 'New webhook' },
  { name: 'webhook-edit', path: '/webhooks', text: 'The bakery', press: 'Edit', brief: true },
  {
    name: 'webhook-rotate',
    path: '/webhooks',
    text: 'The bakery',
    press: 'New secret',
    brief: true,
  },
  { name: 'webhook-delete', path: '/webhooks', text: 'The bakery', press: 'Delete', brief: true },
  {
    name: 'monitor-feed',
    path: '/monitors/MONITOR',
    text: 'Coverage in 24 hours',
    press: 'Atom feed',
    brief: true,
  },
  {
    name: 'monitor-rules',
    path: '/monitors/MONITOR/edit',
    text: 'Items per term',
    press: 'Quiet hours, digests and alarms',
    brief: true,
  },
  {
    name: 'usage',
    path: '/usage',
    text: 'Signup credit',
    press: 'Show as a table',
    drawn: '.chart canvas',
  },
  { name: 'drafts', path: '/drafts', text: 'Thanks for the recipe!' },
  {
    name: 'draft-approve',
    path: '/drafts',
    text: 'Thanks for the recipe!',
    press: 'Approve',
  },
  { name: 'account', path: '/account', text: 'This one' },
  { name: 'nowhere', path: '/elsewhere', text: 'Page not found' },
]

const OPERATOR: readonly PageCheck[] = [
  { name: 'system', path: '', text: 'Reserve file for a full disk', drawn: '.chart canvas' },
  { name: 'pool', path: '/pool', text: 'house_two' },
  { name: 'sources', path: '/sources', text: 'at most 6,000', press: 'Details' },
  { name: 'customers', path: '/customers', text: 'on this daemon' },
  { name: 'customer-new', path: '/customers', text: 'on this daemon', press: 'New customer' },
  { name: 'customer', path: '/customers/CUSTOMER', text: 'Usage of 30 days' },
  { name: 'key-new', path: '/customers/CUSTOMER', text: 'Usage of 30 days', press: 'New key' },
  { name: 'account-add', path: '/pool', text: 'house_two', press: 'Add account' },
  { name: 'account-login', path: '/pool?login=house_two', text: 'the stored password' },
  {
    name: 'account-remove',
    path: '/pool',
    text: 'house_two',
    press: 'Remove house_two',
    brief: true,
  },
  { name: 'source-add', path: '/sources', text: 'at most 6,000', press: 'Add source' },
  { name: 'system-monitors', path: '/monitors', text: 'Monitors of all customers' },
  { name: 'system-deliveries', path: '/deliveries', text: 'The bakery' },
  { name: 'credits', path: '/customers/CUSTOMER', text: 'Usage of 30 days', press: 'Add credits' },
  { name: 'audit', path: '/audit', text: 'Actions of operators' },
  { name: 'plan', path: '/customers/CUSTOMER', text: 'Usage of 30 days', press: 'Change plan' },
  { name: 'system-drafts', path: '/drafts', text: 'Thanks for the recipe!', press: 'Approve' },
]

/** A theme can only break colours; a width can break everything. */
const ALL_RENDERINGS: readonly (readonly [Width, Theme, 'all' | 'colours'])[] = [
  ['wide', 'light', 'all'],
  ['wide', 'dark', 'colours'],
  ['phone', 'dark', 'colours'],
  ['phone', 'light', 'all'],
]

/** Each width with one theme. */
export const BRIEF: typeof ALL_RENDERINGS = [
  ['wide', 'dark', 'all'],
  ['phone', 'light', 'all'],
]

/** The renderings of every page; the short form has each width and each theme once. */
const RENDERINGS = isLongForm || process.env['FORUMD_SCREENSHOTS'] ? ALL_RENDERINGS : BRIEF

/** Tests every page in both themes and two widths for accessibility and overflow, and saves screenshots. */
export function pageTests(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario('the sign-in page is accessible', async (it) => {
    await using client = await it.openClient()
    await client.open('', 'API key')
    expect(await faultsOf(client, 'sign-in')).toEqual([])
  })

  scenario("the customer's pages are accessible", async (it) => {
    const { deliveries } = (await it.daemon.call('/forum/monitor/deliveries')).body
    const opened = deliveries.find((one: { payload: { items: { title: string }[] } }) =>
      one.payload.items[0]?.title.endsWith('never arrives'),
    )
    await using client = await it.openClient()
    await client.enter(it.daemon.key)
    for (const page_check of CUSTOMER) {
      const path = page_check.path
        .replace('MONITOR', opened.monitor_id)
        .replace('DELIVERY', opened.delivery_id)
        .replace('WEBHOOK', opened.webhook_id)
        .replace('ITEM', opened.payload.items[0].name)
      expect(await checkPage(client, { ...page_check, path })).toEqual([])
    }
    expect(client.strange).toEqual([])
  })

  scenario("the operator's pages are accessible", async (it) => {
    await using client = await it.openClient()
    await client.enter(it.operator)
    const { id } = (await it.daemon.call('/account/me')).body
    for (const page_check of OPERATOR) {
      const path = page_check.path.replace('CUSTOMER', id)
      expect(await checkPage(client, { ...page_check, path })).toEqual([])
    }
    expect(client.strange).toEqual([])
  })

  scenario('the first paint takes less than 100 KB and loads no chart library', async (it) => {
    await using client = await it.openClient({ own: true })
    await client.open('', 'API key')
    const files = await loadedBy(client)

    expect(sumOf(files)).toBeGreaterThan(10_000)
    expect(sumOf(files)).toBeLessThan(FIRST_PAINT_MAX)
    expect(files.filter(([name]) => name.includes('draw-chart'))).toEqual([])
  })

  scenario('the overview of a customer takes less than 100 KB with its data', async (it) => {
    await using client = await it.openClient({ own: true })
    await client.enter(it.daemon.key)
    // A new tab: what the session before it cached is not counted as loaded.
    await client.page.setCacheEnabled(false)
    await client.open()
    await client.page.waitForSelector('.chart canvas')
    await client.waitForText('Sourdough')
    const files = await loadedBy(client)

    expect(files.map(([name]) => name)).toContain('/dashboard/api/account/activity')
    expect(sumOf(files)).toBeGreaterThan(30_000)
    expect(sumOf(files)).toBeLessThan(FIRST_PAINT_MAX)
  })
}

/** Compressed bytes of everything that a page may load before it is of use. */
const FIRST_PAINT_MAX = 100 * 1024

/** Paths that a page has loaded, with their compressed bytes. */
async function loadedBy({ page }: DashboardClient): Promise<[string, number][]> {
  const loaded: unknown = await page.evaluate(`JSON.stringify(
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize]))`)
  return JSON.parse(String(loaded))
}

const sumOf = (files: readonly [string, number][]) => files.reduce((sum, [, size]) => sum + size, 0)

/** Opens a page in all renderings and returns its faults. */
async function checkPage(
  client: DashboardClient,
  { name, path, text, press, drawn, brief }: PageCheck,
): Promise<string[]> {
  await client.setViewport('wide', 'light')
  await client.go(path)
  await client.waitForText(text)
  if (press) await client.press(press)
  if (drawn) await client.page.waitForSelector(drawn)
  const found = await faultsOf(client, name, brief ? BRIEF : RENDERINGS)
  // A dialog would stay open on the next check of the same page.
  await client.page.keyboard.press('Escape')
  await client.waitFor("document.querySelector('dialog[open]') === null")
  return found
}

/** Findings of axe and overflows of what a client shows, with a screenshot of each rendering. */
export async function faultsOf(
  client: DashboardClient,
  name: string,
  renderings = RENDERINGS,
): Promise<string[]> {
  const found: string[] = []
  for (const [width, theme, rules] of renderings) {
    await client.setViewport(width, theme)
    await client.picture(`${name}-${width}-${theme}`)
    const seen = `${name} ${width} ${theme}`
    found.push(...(await findAxeFaults(client, rules)).map((fault) => `${seen}: ${fault}`))
    found.push(...(await findOverflow(client, seen)))
  }
  // Tables are widest just before they become cards.
  await client.setViewport('narrow', 'light')
  found.push(...(await findOverflow(client, `${name} narrow`)))
  return found
}

async function findOverflow({ page }: DashboardClient, seen: string): Promise<string[]> {
  const wider: unknown = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  return wider === 0 ? [] : [`${seen}: overflows by ${String(wider)} px`]
}

/** Findings of axe. */
export async function findAxeFaults(
  { page }: DashboardClient,
  rules: 'all' | 'colours',
): Promise<string[]> {
  const only = rules === 'all' ? '' : ", runOnly: ['color-contrast']"
  // Its source is half a megabyte, so a page that has it is not sent it again.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source)
  const violations: unknown =
    await page.evaluate(`axe.run(document, { preload: false, iframes: false, resultTypes: ['violations']${only} }).then(({ violations }) =>
    JSON.stringify(violations.flatMap(({ id, nodes }) => nodes.map((it) => [id, it.html.slice(0, 120), it.failureSummary]))))`)
  const faults: string[][] = JSON.parse(String(violations))
  return faults.map((it) => it.join(' '))
}

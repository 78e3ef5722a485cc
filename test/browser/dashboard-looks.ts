import { expect } from 'bun:test'

import axe from 'axe-core'

import type { Dashboard } from './dashboard-stage.ts'
import { telling } from './dashboard-telling.ts'
import type { Theme, Visitor, Width } from './dashboard-visitor.ts'

/** A page: its name, its address, what says that it is there, and what is pressed before it is looked at. */
type Look = { name: string; path: string; text: string; press?: string; drawn?: string }

const CUSTOMER: readonly Look[] = [
  { name: 'overview', path: '', text: 'Sourdough' },
  { name: 'monitors', path: '/monitors', text: 'Caught up' },
  { name: 'monitor', path: '/monitors/MONITOR', text: 'Where it looks' },
  { name: 'monitor-new', path: '/monitors/new', text: 'Name a place' },
  {
    name: 'monitor-edit',
    path: '/monitors/MONITOR/edit',
    text: 'Items that hold each term',
    press: 'More conditions',
  },
  { name: 'monitor-remove', path: '/monitors/MONITOR', text: 'Where it looks', press: 'Remove' },
  { name: 'deliveries', path: '/deliveries', text: 'sourdough worth it' },
  { name: 'delivery', path: '/deliveries/DELIVERY', text: 'oven is cold', press: 'As it was sent' },
  {
    name: 'deliveries-again',
    path: '/deliveries',
    text: 'worth it',
    press: 'Send failed ones again',
  },
  { name: 'webhooks', path: '/webhooks', text: 'The bakery' },
  { name: 'webhook-new', path: '/webhooks', text: 'The bakery', press: 'New webhook' },
  {
    name: 'usage',
    path: '/usage',
    text: 'Signup credit',
    press: 'The figures',
    drawn: '.chart canvas',
  },
  { name: 'drafts', path: '/drafts', text: 'Thanks for the recipe!' },
  {
    name: 'draft-approve',
    path: '/drafts',
    text: 'Thanks for the recipe!',
    press: 'Approve',
  },
  { name: 'feedback', path: '/feedback', text: 'A bell' },
  { name: 'nowhere', path: '/elsewhere', text: 'no such page' },
]

const OPERATOR: readonly Look[] = [
  { name: 'house', path: '', text: 'Books checked' },
  { name: 'pool', path: '/pool', text: 'house_two' },
  { name: 'customers', path: '/customers', text: 'in this house' },
  { name: 'house-drafts', path: '/drafts', text: 'Thanks for the recipe!', press: 'Approve' },
  { name: 'house-feedback', path: '/feedback', text: 'A bell', press: 'Answer' },
]

/** Of another theme only colours can be wrong; of another width everything. */
const LOOKS: readonly (readonly [Width, Theme, 'all' | 'colours'])[] = [
  ['wide', 'light', 'all'],
  ['wide', 'dark', 'colours'],
  ['phone', 'dark', 'colours'],
  ['phone', 'light', 'all'],
]

/** Every page in both themes and two widths: nothing that keeps somebody out, nothing that is cut off; pictures are kept. */
export function lookStories(stage: () => Dashboard) {
  const { story } = telling(stage)

  story('the way in can be used by everybody', async (it) => {
    await using visitor = await it.visitor()
    await visitor.open()
    await visitor.sees('API key')
    expect(await faultsOf(visitor, 'sign-in')).toEqual([])
  })

  story("the customer's pages can be used by everybody", async (it) => {
    const { deliveries } = (await it.house.call('/forum/monitor/deliveries')).body
    const opened = deliveries.find((one: { payload: { items: { title: string }[] } }) =>
      one.payload.items[0]?.title.endsWith('nobody gets'),
    )
    await using visitor = await it.visitor()
    await visitor.signIn(it.house.key)
    await visitor.press('I know')
    for (const look of CUSTOMER) {
      const path = look.path
        .replace('MONITOR', opened.monitor_id)
        .replace('DELIVERY', opened.delivery_id)
      expect(await visit(visitor, { ...look, path })).toEqual([])
    }
    expect(visitor.strange).toEqual([])
  })

  story("the operator's pages can be used by everybody", async (it) => {
    await using visitor = await it.visitor()
    await visitor.signIn(it.operator)
    for (const look of OPERATOR) expect(await visit(visitor, look)).toEqual([])
    expect(visitor.strange).toEqual([])
  })

  story('the first paint takes less than 100 KB, and no chart before there is one', async (it) => {
    await using visitor = await it.visitor()
    await visitor.open()
    await visitor.sees('API key')
    const loaded: unknown = await visitor.page.evaluate(`JSON.stringify(
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize]))`)
    const files: [string, number][] = JSON.parse(String(loaded))
    const bytes = files.reduce((sum, [, size]) => sum + size, 0)

    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(100 * 1024)
    expect(files.filter(([name]) => name.includes('draw-chart'))).toEqual([])
  })
}

/** Opens a page and looks at it from every side; answers what is wrong. */
async function visit(
  visitor: Visitor,
  { name, path, text, press, drawn }: Look,
): Promise<string[]> {
  await visitor.look('wide', 'light')
  await visitor.go(path)
  await visitor.sees(text)
  if (press) await visitor.press(press)
  if (drawn) await visitor.page.waitForSelector(drawn)
  return faultsOf(visitor, name)
}

async function faultsOf(visitor: Visitor, name: string): Promise<string[]> {
  const found: string[] = []
  for (const [width, theme, rules] of LOOKS) {
    await visitor.look(width, theme)
    await visitor.picture(`${name}-${width}-${theme}`)
    const seen = `${name} ${width} ${theme}`
    found.push(...(await judged(visitor, rules)).map((fault) => `${seen}: ${fault}`))
    const wider: unknown = await visitor.page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    if (wider !== 0) found.push(`${seen}: ${String(wider)} px do not fit`)
  }
  return found
}

/** What axe finds serious or critical. */
async function judged({ page }: Visitor, rules: 'all' | 'colours'): Promise<string[]> {
  const only = rules === 'all' ? '' : ", runOnly: ['color-contrast']"
  await page.evaluate(`globalThis.axe ?? (() => { ${axe.source} })()`)
  const told: unknown =
    await page.evaluate(`axe.run(document, { preload: false, iframes: false, resultTypes: ['violations']${only} }).then(({ violations }) =>
    JSON.stringify(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map((it) => [id, it.html.slice(0, 120), it.failureSummary]))))`)
  const faults: string[][] = JSON.parse(String(told))
  return faults.map((it) => it.join(' '))
}

import { expect } from 'bun:test'

import type { DashboardClient } from './dashboard-client.ts'
import { type Dashboard, mintSecondKey, MINUTE } from './dashboard-fixture.ts'
import { BRIEF, faultsOf } from './dashboard-rendering.ts'
import { createScenarios } from './dashboard-scenarios.ts'

// The pages of the inbox, against a daemon whose monitors match posts of the sandbox.

/** Titles of the rows in view, from the top. */
const TITLES = `[...document.querySelectorAll('.match-row .row-title')]
  .map((it) => [it.getBoundingClientRect().top, it.innerText]).toSorted(([a], [b]) => a - b).map(([, text]) => text)`
const CURRENT_ROW = "document.querySelector('.match-row.current')"
const CURRENT = `${CURRENT_ROW}?.querySelector('.row-title').innerText`

/** A customer whose monitor has matched posts with these titles, the last one first; and their browser. */
async function startInbox(it: Dashboard, name: string, titles: readonly string[]) {
  const { mint, sandbox, clock, call } = it.daemon
  const key = mint(name)
  const place = `inbox_${name}`
  sandbox.post({ subforum: place, title: 'It begins' })
  await clock.advance(MINUTE)
  const monitor = await call(
    '/forum/monitor/add',
    {
      method: 'POST',
      body: JSON.stringify({
        name: `Loaves of ${name}`,
        filter_spec: { subforum: place, include_any: ['loaf'] },
      }),
    },
    key,
  )
  await clock.advance(2 * MINUTE)
  const arrive = async (more: readonly string[]) => {
    for (const title of more)
      sandbox.post({
        subforum: place,
        title,
        author: title.includes('spam') ? 'spammer' : 'baker_one',
        text: `About a ${title.toLowerCase().includes('loaf') ? 'loaf' : 'roll'}.\n\n> Another person wrote this.\n\nThe last line of ${title}.`,
      })
    await clock.advance(2 * MINUTE)
  }
  await arrive(titles)
  const client = await it.openClient()
  await client.setViewport('wide', 'light')
  await client.enter(key)
  return { client, key, monitor_id: String(monitor.body.id), arrive }
}

const press = async ({ page }: DashboardClient, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key as 'j')
}

const shows = (client: DashboardClient, titles: readonly string[]) =>
  client.waitFor(`JSON.stringify(${TITLES}) === ${JSON.stringify(JSON.stringify(titles))}`)

const isAt = (client: DashboardClient, title: string) =>
  client.waitFor(`${CURRENT} === ${JSON.stringify(title)}`)

/** Scenarios of the inbox. */
export function inboxStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario('matches are read, dismissed, starred and undone by keyboard alone', async (it) => {
    const { client, key } = await startInbox(it, 'keys', [
      'Loaf one',
      'Loaf two',
      'Loaf three',
      'Loaf four',
    ])
    await using _ = client
    const states = async () => {
      const { body } = await it.daemon.call('/forum/inbox', {}, key)
      return body.items.map(
        (one: any) => `${one.title.slice(5)} ${one.state}${one.starred ? ' *' : ''}`,
      )
    }
    // The count comes after the keys are listened for.
    await client.waitFor("document.title === '(4) Overview · forumd'")
    await press(client, 'g', 'i')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])

    await press(client, 'j', 'j')
    await isAt(client, 'Loaf three')
    await client.waitForText('The last line of Loaf three.')
    await press(client, 'k')
    await isAt(client, 'Loaf four')
    await press(client, 'e')
    await shows(client, ['Loaf three', 'Loaf two', 'Loaf one'])
    await isAt(client, 'Loaf three')
    await client.waitForText('Dismissed 1 match.')
    await press(client, 'z')
    await client.waitForText('Undone for 1 match.')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])
    await isAt(client, 'Loaf four')
    // A match in view becomes read after a moment.
    await client.waitFor(`${CURRENT_ROW}.classList.contains('read')`)

    await press(client, 's', 'j', 'Enter')
    await client.waitFor("document.activeElement.classList.contains('reader-scroll')")
    await press(client, 'Escape')
    await client.waitFor("document.activeElement.classList.contains('inbox-list')")
    await press(client, 'j', 'x', 'j', 'x')
    await client.waitForText('2 selected')
    await press(client, 'e')
    await shows(client, ['Loaf four', 'Loaf three'])
    await client.waitForText('Dismissed 2 matches.')
    expect(await states()).toEqual(['four read *', 'three read', 'two dismissed', 'one dismissed'])

    await press(client, 'z')
    await client.waitForText('Undone for 2 matches.')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])
    await isAt(client, 'Loaf two')
    await press(client, 'a')
    await client.waitForText('Marked 1 match as answered.')
    await client.go('/inbox?state=any')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])
    await press(client, '/')
    await client.page.keyboard.sendCharacter('rye')
    await client.waitForText('No matches for these filters')
    await client.press('Clear the filters')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])
    await press(client, '?')
    await client.waitForText('Mute author, place or phrase')
    expect(await faultsOf(client, 'inbox-keys', BRIEF)).toEqual([])
    await press(client, 'Escape')
    expect(client.strange).toEqual([])
  })

  scenario('a key that follows the cursor into the URL moves the cursor on', async (it) => {
    const { client } = await startInbox(it, 'cursor', ['Loaf one', 'Loaf two', 'Loaf three'])
    await using _ = client
    await client.go('/inbox')
    await shows(client, ['Loaf three', 'Loaf two', 'Loaf one'])
    // The key comes after the change of the URL, before the render that the change asks for.
    await client.page.evaluate(`{
      const { replaceState } = history
      history.replaceState = (...all) => {
        history.replaceState = replaceState
        history.replaceState(...all)
        dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }))
      }
    }`)
    await press(client, 'j')
    await client.waitFor(
      `${CURRENT} === 'Loaf two' && location.search.endsWith(${CURRENT_ROW}.id.replace('match-', '='))`,
    )
  })

  scenario('an author is muted after the effect on the filter is shown', async (it) => {
    const { client, key, monitor_id } = await startInbox(it, 'mutes', [
      'Loaf',
      'Loaf spam',
      'More loaf spam',
    ])
    await using _ = client
    const spec = async () => {
      const { body } = await it.daemon.call('/forum/monitor/list', {}, key)
      return body.monitors.find((one: any) => one.id === monitor_id).filter_spec
    }
    const before = await spec()
    await client.go('/inbox')
    await shows(client, ['More loaf spam', 'Loaf spam', 'Loaf'])
    await press(client, 'j', 'm')
    await client.waitForText('exclude_authors')
    await client.waitForText('2 of 3 matches would not have matched (67 %).')
    expect(await faultsOf(client, 'inbox-mute', BRIEF)).toEqual([])
    await client.setViewport('wide', 'light')
    // Nothing changes before the confirmation.
    expect(await spec()).toEqual(before)
    await client.press('Change the filter', 'is changed')
    expect(await spec()).toEqual({ ...before, exclude_authors: ['spammer'] })
    await press(client, 'z')
    await client.waitForText('The filter is as it was before.')
    expect(await spec()).toEqual(before)
    await client.press('History', 'you took back the mute of spammer')
    await client.press('Undo: took back the mute of spammer', 'you muted spammer')

    await press(client, 'Escape')
    await press(client, 'm')
    await client.choose('Exclude', 'phrase')
    await client.type('Phrase', 'more loaf')
    await client.waitForText('1 of 3 matches would not have matched (33 %).')
    await press(client, 'Escape')
    expect(await spec()).toEqual({ ...before, exclude_authors: ['spammer'] })
    expect(client.strange).toEqual([])
  })

  scenario('new matches wait above the list, which does not move', async (it) => {
    const { client, arrive } = await startInbox(it, 'live', ['Loaf one', 'Loaf two'])
    await using _ = client
    await client.go('/inbox')
    await shows(client, ['Loaf two', 'Loaf one'])
    await press(client, 'j')
    await isAt(client, 'Loaf two')

    await arrive(['Loaf three', 'Loaf four', 'Nothing to see'])
    await client.waitForText('2 new')
    await shows(client, ['Loaf two', 'Loaf one'])
    await isAt(client, 'Loaf two')
    await press(client, '.')
    await shows(client, ['Loaf four', 'Loaf three', 'Loaf two', 'Loaf one'])
    await client.misses('2 new')
    await isAt(client, 'Loaf four')
    expect(client.strange).toEqual([])
  })

  scenario('two keys of a customer see each other’s actions and who did them', async (it) => {
    const { client, key } = await startInbox(it, 'team', ['Loaf one', 'Loaf two'])
    await using _ = client
    const second = await mintSecondKey(it, key, 'Bea')
    await using other = await it.openClient()
    await other.setViewport('wide', 'light')
    await other.enter(second)
    await client.go('/inbox')
    await shows(client, ['Loaf two', 'Loaf one'])
    await press(client, 'j')
    await client.waitForText('The last line of Loaf two.')

    await other.go('/inbox')
    await shows(other, ['Loaf two', 'Loaf one'])
    await press(other, 'j', 'l')
    await other.type('Label', 'Ann')
    await other.press('Set label')
    await other.waitForText('Labelled 1 match “Ann”.')
    await press(other, 'e')
    await other.waitForText('Dismissed 1 match.')
    await it.daemon.clock.advance(2000)
    // The row stays in place, and says who has decided.
    await client.waitForText('Dismissed, last changed by Bea')
    await shows(client, ['Loaf two', 'Loaf one'])

    await client.press('History', 'Bea dismissed 1 match')
    await client.waitForText('Bea labelled Ann: 1 match')
    expect(await faultsOf(client, 'inbox-history', BRIEF)).toEqual([])
    await client.setViewport('wide', 'light')
    await client.press('Undo: dismissed 1 match', 'Undone for 1 match.')
    await press(client, 'Escape')
    const { body } = await it.daemon.call('/forum/inbox', {}, key)
    expect(body.items.map((one: any) => [one.title, one.state === 'dismissed', one.label])).toEqual(
      [
        ['Loaf two', false, 'Ann'],
        ['Loaf one', false, null],
      ],
    )
    expect([...client.strange, ...other.strange]).toEqual([])
  })

  scenario(
    'unread matches are counted in the navigation and in the title of the tab',
    async (it) => {
      const { client, arrive } = await startInbox(it, 'unread', ['Loaf one', 'Loaf two'])
      await using _ = client
      const counted = (nav: string, title: string) =>
        client.waitFor(
          `(document.querySelector('.places .count')?.firstChild.data ?? '') === '${nav}' && document.title === '${title}'`,
        )
      await counted('2', '(2) Overview · forumd')
      await arrive(['Loaf three'])
      await counted('3', '(3) Overview · forumd')
      await client.picture('inbox-unread')
      await client.go('/inbox')
      await shows(client, ['Loaf three', 'Loaf two', 'Loaf one'])
      await press(client, 'j', 'e', 'e', 'e')
      await shows(client, [])
      await it.daemon.clock.advance(5000)
      await counted('', 'Inbox · forumd')
    },
  )

  scenario(
    'the address opens the same list again, and Back returns to the one before',
    async (it) => {
      const { client, key } = await startInbox(it, 'address', [
        'Loaf',
        'Rye loaf spam',
        'Loaf spam',
      ])
      await using _ = client
      await client.go('/inbox?state=any')
      await shows(client, ['Loaf spam', 'Rye loaf spam', 'Loaf'])
      await client.press('Filter')
      await client.type('Author', 'spammer')
      await press(client, 'Enter')
      await shows(client, ['Loaf spam', 'Rye loaf spam'])
      await press(client, 'Escape', '/')
      await client.page.keyboard.sendCharacter('rye')
      await shows(client, ['Rye loaf spam'])
      await press(client, 'Tab', 'Escape')
      await client.page.click('.match-row .row-title')
      await client.waitFor("location.search.includes('item=')")
      const address: unknown = await client.page.evaluate('location.pathname + location.search')

      await using other = await it.openClient()
      await other.setViewport('wide', 'light')
      await other.enter(key)
      await other.go(String(address).replace('/dashboard', ''))
      await shows(other, ['Rye loaf spam'])
      await other.waitForText('The last line of Rye loaf spam.')
      await other.waitForText('by spammer')
      await client.page.goBack()
      await shows(client, ['Loaf spam', 'Rye loaf spam'])
      await client.page.goBack()
      await shows(client, ['Loaf spam', 'Rye loaf spam', 'Loaf'])
      await client.page.goForward()
      await shows(client, ['Loaf spam', 'Rye loaf spam'])
      expect([...client.strange, ...other.strange]).toEqual([])
    },
  )

  scenario('the form of a monitor tries its filter on the archive while one types', async (it) => {
    const { client, monitor_id } = await startInbox(it, 'trials', [
      'Loaf',
      'Rye loaf',
      'Spelt loaf',
    ])
    await using _ = client
    await client.open(`/monitors/${monitor_id}/edit`, 'The last 30 days')
    await client.waitFor(
      `/3 matches among \\d+ archived items/.test(document.querySelector('.backtest').innerText)`,
    )
    await client.misses('Against the saved filter')
    await client.type('None of these', 'rye')
    await client.waitForText('Against the saved filter: 0 more, 1 fewer, 2 the same.')
    const label: unknown = await client.page.evaluate(
      "document.querySelector('.histogram svg').getAttribute('aria-label')",
    )
    expect(String(label)).toMatch(/^Matches by day; most on \w+ \d+: 2$/)
    expect(await faultsOf(client, 'monitor-backtest', BRIEF)).toEqual([])
    expect(client.strange).toEqual([])
  })

  scenario('on a phone a match covers the list, and Back returns to it', async (it) => {
    const { client } = await startInbox(it, 'phone', ['Loaf one', 'Loaf two'])
    await using _ = client
    await client.setViewport('phone', 'light')
    await client.go('/inbox')
    await shows(client, ['Loaf two', 'Loaf one'])
    await client.page.click('.match-row .row-title')
    await client.waitForText('The last line of Loaf two.')
    await client.waitFor("!document.querySelector('.inbox-list').checkVisibility()")
    await client.page.goBack()
    await client.waitFor("document.querySelector('.inbox-list').checkVisibility()")
    await client.page.click('.match-row .row-title')
    await client.press('Dismiss', 'The last line of Loaf one.')
    await client.press('Back to the list')
    await shows(client, ['Loaf one'])
    expect(client.strange).toEqual([])
  })
}

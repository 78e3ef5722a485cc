// Goal: the dashboard takes an owner from the sign-in to a reply, without a word on customers or money. Method: one browser
// and one daemon, and axe on each page on the way. Every page in both themes and at several widths is in the long form: `FORUMD_LONG=1`, dashboard*.test.ts.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { OWNER_SCOPES } from '../../src/store/customers/keys.ts'
import { type Dashboard, mintSecondKey, MINUTE, startDashboard } from './dashboard-fixture.ts'
import { findAxeFaults } from './dashboard-rendering.ts'
import { inBrowser, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

inBrowser('the journey of a new owner', () => {
  let it: Dashboard
  let owner: string
  let client: Awaited<ReturnType<Dashboard['openClient']>>
  const isAccessible = async () => {
    // Words of a service with customers.
    expect(await client.text()).not.toMatch(
      /\b(?:credits?|plans?|slots?|prices?|customers?|pool)\b/i,
    )
    // A page without its heading is still loading, or lacks one.
    await client.page.waitForSelector('h1')
    expect(await findAxeFaults(client, 'all')).toEqual([])
  }
  beforeAll(async () => {
    it = await startDashboard({ alone: true })
    owner = await mintSecondKey(it, it.daemon.key, 'owner', OWNER_SCOPES)
    client = await it.openClient({ own: true })
  }, TEST_MS)
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]()
    await it?.[Symbol.asyncDispose]()
  }, TEST_MS)

  test('an owner signs in and adds a source', async () => {
    await client.open('', 'API key')
    await isAccessible()
    await client.signIn(owner)
    await client.waitForText('First steps')
    await isAccessible()
    await client.press('Sources')
    await client.press('Add source')
    await client.press('Choose the kind myself')
    await client.type('Source name', 'news')
    await client.choose('Kind', 'lemmy')
    await client.type('Address', 'http://127.0.0.1:1')
    await isAccessible()
    // The public site is not requested by a test.
    await client.press('Test and add', 'These lines of the configuration allow it')
    await client.check('Add it without a test')
    await client.type('Address', '')
    await client.choose('Kind', 'hackernews')
    await client.press('Test and add', 'It is added.')
    await isAccessible()
    await client.press('Settings', 'Browser sessions')
    await isAccessible()
    await client.open('/system', 'State of the daemon')
    await isAccessible()
    expect(client.strange).toEqual([])
  })

  test('the owner receives a match, replies to it and pauses the monitor', async () => {
    const { sandbox, clock, receiver } = it.daemon
    sandbox.post({ subforum: 'bread', title: 'An old loaf' })
    await client.open('/inbox', 'First steps')
    await client.choose('Site', 'forum')
    await client.typeAll({ Words: 'brioche, focaccia', Address: receiver.url })
    await client.press('Send a test', 'Test delivered.')
    await isAccessible()
    await client.press('Start watching', 'Monitor created.')
    await isAccessible()

    await client.go()
    await clock.advance(MINUTE)
    const post = sandbox.post({ subforum: 'bread', title: 'A brioche appears' })
    await clock.advance(2 * MINUTE)
    // Without a reload: the event stream announces it.
    await client.waitForText('A brioche appears')
    await isAccessible()
    expect(receiver.received.map(({ text }) => JSON.parse(text).items[0].title)).toContain(
      'A brioche appears',
    )

    await client.open('/inbox')
    await client.waitFor("document.querySelector('.match-row .row-title') !== null")
    await client.page.keyboard.press('j')
    await client.waitForText('Load the thread')
    await isAccessible()
    await client.page.keyboard.press('r')
    await client.type('Reply', 'Well baked.')
    await isAccessible()
    await client.press('Save as a draft')
    await client.open('/drafts', 'Well baked.')
    await isAccessible()
    await client.press('Approve')
    await client.choose('Send as', 'house_one')
    await client.press('Approve and send', 'Approved and sent.')
    const comments = await it.daemon.call(`/api/forum/post/${post.id}/comments`)
    expect(JSON.stringify(comments.body)).toContain('Well baked.')

    await client.open('/monitors')
    await isAccessible()
    await client.press('brioche, focaccia on the whole platform')
    await client.press('Pause', 'Paused')
    await isAccessible()
    expect(client.strange).toEqual([])
  })
})

// Goal: the dashboard takes a person from the sign-in to a reply. Method: one browser and one daemon, and axe on each page
// on the way. Every page in both themes and at several widths is in the long form: `FORUMD_LONG=1`, dashboard*.test.ts.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { SESSION_COOKIE } from '../support/accounts.ts'
import { type Dashboard, MINUTE, startDashboard } from './dashboard-fixture.ts'
import { findAxeFaults } from './dashboard-rendering.ts'
import { register } from './dashboard-scenarios.ts'
import { inBrowser, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

inBrowser('the journey of a new owner', () => {
  let it: Dashboard
  let client: Awaited<ReturnType<Dashboard['openClient']>>
  const isAccessible = async () => {
    // A page without its heading is still loading, or lacks one.
    await client.page.waitForSelector('h1')
    expect(await findAxeFaults(client, 'all')).toEqual([])
  }
  beforeAll(async () => {
    it = await startDashboard()
    client = await it.openClient({ own: true })
  }, TEST_MS)
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]()
    await it?.[Symbol.asyncDispose]()
  }, TEST_MS)

  test('an operator signs in and adds a source', async () => {
    await client.open()
    await client.waitForText('API key')
    await isAccessible()
    await client.signIn(it.operator)
    await client.waitForText('State of the daemon')
    await isAccessible()
    await client.press('Sources')
    await client.press('Add source')
    await client.type('Source name', 'news')
    await client.choose('Kind', 'hackernews')
    await isAccessible()
    await client.press('Add')
    await client.waitForText('news is added.')
    await isAccessible()
    await client.press('Sign out')
    await client.waitForText('API key')
    expect(client.strange).toEqual([])
  })

  test('a customer receives a match, replies to it and pauses the monitor', async () => {
    const { sandbox, clock, receiver } = it.daemon
    sandbox.post({ subforum: 'bread', title: 'An old loaf' })
    await client.signIn(it.daemon.key)
    await client.waitForText('First steps')
    await isAccessible()
    await register(client, receiver.url)
    await isAccessible()

    await client.open('/monitors/new')
    await client.type('Subforums', 'bread')
    await client.type('Any of these words or phrases', 'brioche')
    await client.type('Name', 'Brioche')
    await isAccessible()
    await client.press('Create monitor')
    await client.waitForText('Monitor created.')
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

    await client.press('Read and decide in the inbox')
    await client.waitFor("document.querySelector('.match-row .row-title') !== null")
    await client.page.keyboard.press('j')
    await client.waitForText('Load the thread')
    await isAccessible()
    await client.page.keyboard.press('r')
    await client.type('Reply', 'Well baked.')
    await isAccessible()
    await client.press('Save as a draft')
    await client.open('/drafts')
    await client.waitForText('Well baked.')
    await isAccessible()
    const { [SESSION_COOKIE]: session = '', loid = '' } = sandbox.session({
      username: 'baker_two',
    }).cookies
    await client.press('Approve')
    await client.type('forum_session', session)
    await client.type('loid', loid)
    await client.press('Approve and send')
    await client.waitForText('Approved and sent.')
    const comments = await it.daemon.call(`/api/forum/post/${post.id}/comments`)
    expect(JSON.stringify(comments.body)).toContain('Well baked.')

    await client.open('/monitors')
    await isAccessible()
    await client.press('Brioche')
    await client.press('Pause')
    await client.waitForText('Paused')
    await isAccessible()
    expect(client.strange).toEqual([])
  })
})

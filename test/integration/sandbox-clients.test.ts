// Goal: existing clients of the platform work with the sandbox: PRAW and gallery-dl,
// unmodified, from their own packages, with their built-in host names. Method: each in a separate
// network, where those names lead to a sandbox with TLS. The client's results, the requests to the
// platform and the state of its world are compared.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { once } from '../../src/core/base/lazy.ts'
import { findNamespaceCommand, has, runClient } from '../clients/network.ts'
import type { Report } from '../clients/report.ts'
import { installsAll } from '../support/long-form.ts'

setDefaultTimeout(60_000)

const DOMAIN = 'reddit.com'
const PYTHON = '/usr/bin/python3'
const GALLERY_DL = '/usr/bin/gallery-dl'
const PRAW_SCRIPT = `${import.meta.dir}/../clients/praw_e2e.py`

const namespace_command = findNamespaceCommand()
const lacking = [
  ...(namespace_command === null
    ? ['a network of its own (root or user namespaces, and ip of iproute2)']
    : []),
  ...(has(PYTHON, '-c', 'import praw') ? [] : ['python3-praw']),
  ...(has(PYTHON, GALLERY_DL, '--version') ? [] : ['gallery-dl']),
]
const skipped = lacking.length > 0
if (skipped) console.log(`lacking ${lacking.join(', ')}: third-party clients are not tested`)

test.skipIf(!installsAll)('in the long form of CI no client is missing', () => {
  expect(lacking).toEqual([])
})

/** One session of a client, and its results. Its output is JSON. */
type ScriptRun = Report & { output: any }

async function sit(command: string[]): Promise<ScriptRun> {
  const report = await runClient(namespace_command ?? [], DOMAIN, command)
  if (report.code !== 0) throw new Error(`the client ended with ${report.code}: ${report.stderr}`)
  return { ...report, output: JSON.parse(report.stdout) }
}

/** Runs once, and is checked many times. */
const runScript = once(() => sit([PYTHON, PRAW_SCRIPT]))

const requestsTo = ({ requests }: Report, path: RegExp) =>
  requests.filter((it) => path.test(it.path))

describe.skipIf(skipped)('PRAW', () => {
  test('gets a token from the www host and is signed in on the bearer host', async () => {
    const one = await runScript()
    const tokens = requestsTo(one, /access_token$/)

    expect(one.output.me).toEqual([one.facts.username, 5])
    expect(tokens).toMatchObject([{ method: 'POST', face: 'www', status: 200 }])
    for (const request of one.requests) {
      expect(request.user_agent).toStartWith('praw-story')
      expect(request.face).toBe(tokens.includes(request) ? 'www' : 'bearer')
    }
  })

  test('pages through 280 rows without loss or duplicates', async () => {
    const one = await runScript()

    expect(one.output.new).toEqual(one.facts.wire.slice(0, 280))
    expect(requestsTo(one, /^\/r\/worldwire\/new/).length).toBeGreaterThan(2)
  })

  test('reads a whole thread, branch by branch', async () => {
    const one = await runScript()

    expect(one.output.thread[1]).toBe(one.facts.comments)
    expect(requestsTo(one, /morechildren/).length).toBeGreaterThan(3)
  })

  test('finds what it searches for', async () => {
    const { output } = await runScript()

    expect(output.search.length).toBeGreaterThan(20)
    for (const text of output.search) expect(text.toLowerCase()).toContain('recommend')
  })

  test('reads a place: its rules, its wiki, its moderators', async () => {
    const { output, facts } = await runScript()

    expect(output.about).toEqual([facts.place, true, true])
    expect(output.moderators).toEqual(facts.moderators)
    expect(output.rules).toEqual(facts.rules)
    expect(new Set(output.wiki)).toEqual(new Set(['index', 'faq', 'config/sidebar']))
    expect(output.wiki_text).toStartWith('# ')
  })

  test('reads a user: karma, trophies, every comment', async () => {
    const { output, facts } = await runScript()

    expect(facts.peer_comments).toBeGreaterThan(100)
    expect(output.peer).toEqual([facts.peer, facts.peer_karma, true, facts.peer_comments])
  })

  test('reads its own listings: saved, subscribed, mail, answers', async () => {
    const { output, facts, after } = await runScript()

    expect(output.saved).toEqual(facts.saved)
    expect(new Set(output.subscribed)).toEqual(new Set(facts.subscribed))
    expect(new Set(output.inbox)).toEqual(new Set(['t1', 't4']))
    expect([output.unread, after.unread]).toEqual([5, 3])
  })

  test('comments, replies, edits and deletes', async () => {
    const { output, facts, after } = await runScript()
    const [comment, answer] = after.comments

    expect(output.comment).toEqual([comment?.name, facts.username, `t3_${facts.thread}`])
    expect(after.comments).toMatchObject([
      { text: 'a comment by PRAW', parent: `t3_${facts.thread}`, edited: false },
      { text: 'an answer & its < edit', parent: comment?.name, edited: true, removed: null },
      { text: 'gone in a moment', removed: 'author' },
    ])
    expect(output.edited).toBe(answer?.text)
  })

  test('votes, saves and unsubscribes', async () => {
    const { facts, after } = await runScript()
    const [comment] = after.comments

    expect(after.votes).toMatchObject({ [comment?.name ?? '']: 1, [`t3_${facts.thread}`]: -1 })
    expect(after.saved.at(-1)).toBe(comment?.name)
    expect(after.subscribed).toEqual(facts.subscribed.filter((it) => it !== facts.place))
  })

  test('sends a message and a reply', async () => {
    const { output, facts, after } = await runScript()
    const [message, reply] = after.sent.slice(-2)

    expect(output.message).toEqual([message?.name, 'a subject by PRAW', facts.peer])
    expect(message).toMatchObject({ text: 'a text by PRAW', parent: null })
    expect(reply).toMatchObject({ text: 'one more thing', parent: message?.name })
  })

  test('understands the reason of a refusal', async () => {
    const { output } = await runScript()

    expect(output.locked).toContain('THREAD_LOCKED')
    expect([output.unknown_user, output.private]).toEqual(['404', '403'])
  })

  test('reads to the end of a listing', async () => {
    const { output, facts } = await runScript()

    expect(facts.wire.length).toBeGreaterThan(900)
    expect(output.all).toBe(facts.wire.length)
  })

  test('reads what requires a bearer token: karma, preferences, blocked users', async () => {
    const { output, facts } = await runScript()

    expect(output.karma).toBeGreaterThan(0)
    expect(output.prefs).toBe(25)
    expect(output.blocked).toEqual(facts.blocked)
  })

  test('gets errors for an absent place, and for mail without a subject', async () => {
    const { output } = await runScript()

    expect(output.unknown_subforum).toBe('302')
    expect(output.mute).toBe('NO_SUBJECT')
  })
})

// Types of gallery-dl's messages.
const [DIRECTORY, URL_OF_A_FILE, URL_OF_A_PAGE] = [2, 3, 6]
const of = ({ output }: ScriptRun, kind: number | undefined) =>
  output.filter(([each]: [number]) => each === kind)

const python = (path: string, ...options: string[]) => {
  const url = `https://www.${DOMAIN}${path}`
  return sit([PYTHON, GALLERY_DL, '--config-ignore', '--dump-json', ...options, url])
}

describe.skipIf(skipped)('gallery-dl', () => {
  test('reads a whole place, as an application without a user', async () => {
    const one = await python('/r/worldwire/new/')
    const pages = requestsTo(one, /^\/r\/worldwire\/new/)

    expect(of(one, DIRECTORY).length).toBe(one.facts.wire_for_all)
    expect(of(one, URL_OF_A_PAGE).length).toBeGreaterThan(500)
    expect(pages.length).toBe(10)
    expect(new Set(one.requests.map(({ user }) => user))).toEqual(new Set([null]))
  })

  test('finds every image', async () => {
    const one = await python('/r/coffee/new/')
    const files = of(one, URL_OF_A_FILE).map(([, url]: [number, string]) => url)

    expect(one.facts.pictures.length).toBeGreaterThan(5)
    expect(files).toEqual(expect.arrayContaining(one.facts.pictures))
  })

  test('expands placeholders of a thread', async () => {
    const options = ['-o', 'comments=500', '-o', 'morecomments=true']
    const one = await python('/r/selfhosting/comments/{thread}/', ...options)
    const links = of(one, URL_OF_A_PAGE).map(([, url]: [number, string]) => url)

    expect(links).toContain('https://pictures.example/behind.jpg')
    expect(requestsTo(one, /morechildren/).length).toBeGreaterThan(0)
  })
})

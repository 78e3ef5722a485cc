// Goal: whoever wrote a client for the platform finds it here, to the last header: PRAW, snoowrap and gallery-dl work
// unchanged, from their own packages, at the names they have built in.
// Method: each in a network of its own, where those names lead to a sandbox that speaks TLS. What the client was
// answered, what the platform was asked, and what has become of its world are compared.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'

import { findWay, has, tell } from '../clients/network.ts'
import type { Report } from '../clients/report.ts'

setDefaultTimeout(60_000)

const DOMAIN = 'reddit.com'
const PYTHON = '/usr/bin/python3'
const GALLERY_DL = '/usr/bin/gallery-dl'
const PRAW_STORY = `${import.meta.dir}/../clients/praw_story.py`
const SNOOWRAP_STORY = Bun.fileURLToPath(import.meta.resolve('../clients/snoowrap-story.mjs'))

const way = findWay()
const lacking = [
  ...(way === null ? ['a network of its own (root or user namespaces, and ip of iproute2)'] : []),
  ...(has('node', '--version') ? [] : ['node']),
  ...(has(PYTHON, '-c', 'import praw') ? [] : ['python3-praw']),
  ...(has(PYTHON, GALLERY_DL, '--version') ? [] : ['gallery-dl']),
]
const skipped = lacking.length > 0
if (skipped)
  console.log(`lacking ${lacking.join(', ')}: nobody else's client is tried on the sandbox`)

test.skipIf(process.env['CI'] === undefined)('in CI nothing is lacking', () => {
  expect(lacking).toEqual([])
})

/** One sitting of a client, and all that came of it. What it told is JSON. */
type Sitting = Report & { told: any }

async function sit(command: string[]): Promise<Sitting> {
  const report = await tell(way ?? [], DOMAIN, command)
  if (report.code !== 0) throw new Error(`the client ended with ${report.code}: ${report.stderr}`)
  return { ...report, told: JSON.parse(report.stdout) }
}

const CLIENTS = {
  PRAW: [PYTHON, PRAW_STORY],
  // Under Bun it takes itself for one in a browser, and does not say who it is.
  snoowrap: ['node', SNOOWRAP_STORY],
}
const sittings = new Map<string, Promise<Sitting>>()
/** Each sits once, and is asked about it many times. */
function sitting(client: keyof typeof CLIENTS): Promise<Sitting> {
  const known = sittings.get(client) ?? sit(CLIENTS[client])
  sittings.set(client, known)
  return known
}

const asked = ({ requests }: Report, path: RegExp) => requests.filter((it) => path.test(it.path))

// Both do what people do, and are held to the same.
describe.skipIf(skipped).each(['PRAW', 'snoowrap'] as const)('%s', (client) => {
  test('gets a token from one host and is somebody on the other', async () => {
    const one = await sitting(client)
    const tokens = asked(one, /access_token$/)

    expect(one.told.me).toEqual([one.facts.username, 5])
    expect(tokens).toMatchObject([{ method: 'POST', face: 'www', status: 200 }])
    for (const request of one.requests) {
      expect(request.user_agent).toStartWith(`${client.toLowerCase()}-story`)
      expect(request.face).toBe(tokens.includes(request) ? 'www' : 'bearer')
    }
  })

  test('pages through 280 rows without losing one or seeing one twice', async () => {
    const one = await sitting(client)

    expect(one.told.new).toEqual(one.facts.wire.slice(0, 280))
    expect(asked(one, /^\/r\/worldwire\/new/).length).toBeGreaterThan(2)
  })

  test('has the whole of a thread, branch after branch', async () => {
    const one = await sitting(client)

    expect(one.told.thread[1]).toBe(one.facts.comments)
    expect(asked(one, /morechildren/).length).toBeGreaterThan(3)
  })

  test('finds what it searches for', async () => {
    const { told } = await sitting(client)

    expect(told.search.length).toBeGreaterThan(20)
    for (const text of told.search) expect(text.toLowerCase()).toContain('recommend')
  })

  test('knows a place: its rules, its wiki, who moderates it', async () => {
    const { told, facts } = await sitting(client)

    expect(told.about).toEqual([facts.place, true, true])
    expect(told.moderators).toEqual(facts.moderators)
    expect(told.rules).toEqual(facts.rules)
    expect(new Set(told.wiki)).toEqual(new Set(['index', 'faq', 'config/sidebar']))
    expect(told.wiki_text).toStartWith('# ')
  })

  test('knows a person: karma, trophies, every comment', async () => {
    const { told, facts } = await sitting(client)

    expect(facts.peer_comments).toBeGreaterThan(100)
    expect(told.peer).toEqual([facts.peer, facts.peer_karma, true, facts.peer_comments])
  })

  test('finds what is its own: saved, subscribed, mail, answers', async () => {
    const { told, facts, after } = await sitting(client)

    expect(told.saved).toEqual(facts.saved)
    expect(new Set(told.subscribed)).toEqual(new Set(facts.subscribed))
    expect(new Set(told.inbox)).toEqual(new Set(['t1', 't4']))
    expect([told.unread, after.unread]).toEqual([5, 3])
  })

  test('comments, answers, edits and deletes', async () => {
    const { told, facts, after } = await sitting(client)
    const [comment, answer] = after.comments

    expect(told.comment).toEqual([comment?.name, facts.username, `t3_${facts.thread}`])
    expect(after.comments).toMatchObject([
      { text: `a comment by ${client}`, parent: `t3_${facts.thread}`, edited: false },
      { text: 'an answer & its < edit', parent: comment?.name, edited: true, removed: null },
      { text: 'gone in a moment', removed: 'author' },
    ])
    expect(told.edited).toBe(answer?.text)
  })

  test('votes, saves and unsubscribes', async () => {
    const { facts, after } = await sitting(client)
    const [comment] = after.comments

    expect(after.votes).toMatchObject({ [comment?.name ?? '']: 1, [`t3_${facts.thread}`]: -1 })
    expect(after.saved.at(-1)).toBe(comment?.name)
    expect(after.subscribed).toEqual(facts.subscribed.filter((it) => it !== facts.place))
  })

  test('writes to somebody, and writes again', async () => {
    const { told, facts, after } = await sitting(client)
    const [message, reply] = after.sent.slice(-2)

    expect(told.message).toEqual([message?.name, `a subject by ${client}`, facts.peer])
    expect(message).toMatchObject({ text: `a text by ${client}`, parent: null })
    expect(reply).toMatchObject({ text: 'one more thing', parent: message?.name })
  })

  test('understands why it is refused', async () => {
    const { told } = await sitting(client)

    expect(told.locked).toContain('THREAD_LOCKED')
    expect([told.nobody, told.private]).toEqual(['404', '403'])
  })
})

describe.skipIf(skipped)('PRAW', () => {
  test('goes as deep as a listing goes', async () => {
    const { told, facts } = await sitting('PRAW')

    expect(facts.wire.length).toBeGreaterThan(900)
    expect(told.all).toBe(facts.wire.length)
  })

  test('reads what only a bearer may: karma, preferences, whom one has blocked', async () => {
    const { told, facts } = await sitting('PRAW')

    expect(told.karma).toBeGreaterThan(0)
    expect(told.prefs).toBe(25)
    expect(told.blocked).toEqual(facts.blocked)
  })

  test('is told of a place that is not there, and of mail without a subject', async () => {
    const { told } = await sitting('PRAW')

    expect(told.nowhere).toBe('302')
    expect(told.mute).toBe('NO_SUBJECT')
  })
})

// What gallery-dl calls what it finds.
const [DIRECTORY, URL_OF_A_FILE, URL_OF_A_PAGE] = [2, 3, 6]
const of = ({ told }: Sitting, kind: number | undefined) =>
  told.filter(([each]: [number]) => each === kind)

const look = (path: string, ...options: string[]) => {
  const url = `https://www.${DOMAIN}${path}`
  return sit([PYTHON, GALLERY_DL, '--config-ignore', '--dump-json', ...options, url])
}

describe.skipIf(skipped)('gallery-dl', () => {
  test('goes through a whole place, as an application that is nobody', async () => {
    const one = await look('/r/worldwire/new/')
    const pages = asked(one, /^\/r\/worldwire\/new/)

    expect(of(one, DIRECTORY).length).toBe(one.facts.wire_for_all)
    expect(of(one, URL_OF_A_PAGE).length).toBeGreaterThan(500)
    expect(pages.length).toBe(10)
    expect(new Set(one.requests.map(({ user }) => user))).toEqual(new Set([null]))
  })

  test('finds every picture', async () => {
    const one = await look('/r/coffee/new/')
    const files = of(one, URL_OF_A_FILE).map(([, url]: [number, string]) => url)

    expect(one.facts.pictures.length).toBeGreaterThan(5)
    expect(files).toEqual(expect.arrayContaining(one.facts.pictures))
  })

  test('looks behind what a thread leaves out', async () => {
    const options = ['-o', 'comments=500', '-o', 'morecomments=true']
    const one = await look('/r/selfhosting/comments/{thread}/', ...options)
    const links = of(one, URL_OF_A_PAGE).map(([, url]: [number, string]) => url)

    expect(links).toContain('https://pictures.example/behind.jpg')
    expect(asked(one, /morechildren/).length).toBeGreaterThan(0)
  })
})

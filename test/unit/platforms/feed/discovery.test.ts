import { describe, expect, test } from 'bun:test'

import { type Answered, discover, type Found } from '../../../../src/platforms/feed/discovery.ts'
import { readOpml, withoutSecrets, writeOpml } from '../../../../src/platforms/feed/opml.ts'

const RSS = '<?xml version="1.0"?><rss version="2.0"><channel><title>T</title></channel></rss>'
const DISCOURSE =
  '<html><head><meta name="generator" content="Discourse 3.4.0"></head><body></body></html>'
const DISCOURSE_RSS =
  '<rss version="2.0" xmlns:discourse="http://www.discourse.org/"><channel></channel></rss>'
const SITE = JSON.stringify({ version: '0.19.9', site_view: { site: { name: 'T' } } })

type Pages = (path: string) => string | { status: number; text?: string; to?: string } | undefined

/** Looks at an address of a site that is made of pages. */
async function at(address: string, pages: Pages) {
  const requests: string[] = []
  const result = await discover(address, async (asked): Promise<Answered> => {
    requests.push(asked)
    const url = new URL(asked)
    const page = pages(url.pathname + url.search)
    const {
      status,
      text = '',
      to = null,
    } = typeof page === 'string' ? { status: 200, text: page } : (page ?? { status: 404 })
    return { asked, url: asked, status, text, to: to === null ? null : new URL(to, asked).href }
  })
  expect(requests.length).toBeLessThanOrEqual(6)
  return result
}

const kindOf = ({ found }: { found: Found | null }) =>
  found && [found.kind, found.base_url, found.place]

const ALL =
  (page: string): Pages =>
  () =>
    page
const LEMMY: Pages = (path) =>
  path === '/api/v3/site' ? SITE : path.startsWith('/api/') ? undefined : '<html>lemmy-ui</html>'
const PIEFED: Pages = (path) =>
  /^\/api\/(?:alpha|v3)\/site$/.test(path)
    ? SITE
    : path.startsWith('/api/')
      ? undefined
      : '<html>PieFed</html>'
const R2: Pages = (path) =>
  path.includes('/new.json')
    ? JSON.stringify({ kind: 'Listing', data: { children: [] } })
    : '<html>r</html>'

describe('an address leads to its platform and place', () => {
  const forum = 'https://meta.example.org'
  test.each([
    ['https://meta.example.org/', null],
    ['meta.example.org', null],
    ['HTTPS://Meta.Example.org/latest', null],
    ['https://meta.example.org/c/support/5', 'support'],
    ['https://meta.example.org/c/support/bugs/12?order=created', 'support/bugs'],
    ['meta.example.org/c/support/5/l/latest', 'support'],
    ['https://meta.example.org/tag/plugin', 'tag:plugin'],
    ['https://meta.example.org/t/some-topic/1234/5', null],
    ['https://meta.example.org/u/ann/summary', null],
    [' https://meta.example.org/categories#top ', null],
  ])('Discourse: %s', async (address, place) => {
    expect(kindOf(await at(address, ALL(DISCOURSE)))).toEqual(['discourse', forum, place])
  })

  test.each([
    ['https://meta.example.org/c/support/5.rss', 'support'],
    ['feed://meta.example.org/latest.rss', null],
  ])('a feed of Discourse: %s', async (address, place) => {
    expect(kindOf(await at(address, ALL(DISCOURSE_RSS)))).toEqual(['discourse', forum, place])
  })

  test('Discourse in a folder', async () => {
    expect(kindOf(await at('https://example.org/forum/c/help/3', ALL(DISCOURSE)))).toEqual([
      'discourse',
      'https://example.org/forum',
      'help',
    ])
  })

  const COMMUNITIES = [
    ['https://c.example.org/', null],
    ['c.example.org', null],
    ['https://C.Example.org/c/coffee', 'coffee'],
    ['https://c.example.org/c/coffee@other.example', 'coffee@other.example'],
    ['c.example.org/c/coffee?dataType=Post&sort=New', 'coffee'],
    ['https://c.example.org/post/123', null],
    ['https://c.example.org/comment/456', null],
    ['https://c.example.org/u/ann', null],
    ['http://c.example.org/communities', null],
  ] as const
  test.each([
    ...COMMUNITIES,
    ['https://c.example.org/feeds/c/coffee.xml?sort=New', 'coffee'],
  ] as const)('Lemmy: %s', async (address, place) => {
    const scheme = address.startsWith('http:') ? 'http' : 'https'
    expect(kindOf(await at(address, LEMMY))).toEqual(['lemmy', `${scheme}://c.example.org`, place])
  })

  test.each([...COMMUNITIES, ['https://c.example.org/community/coffee/feed', 'coffee']] as const)(
    'PieFed: %s',
    async (address, place) => {
      const scheme = address.startsWith('http:') ? 'http' : 'https'
      expect(kindOf(await at(address, PIEFED))).toEqual([
        'piefed',
        `${scheme}://c.example.org`,
        place,
      ])
    },
  )

  test.each([
    ['https://news.ycombinator.com/', null],
    ['news.ycombinator.com', null],
    ['https://news.ycombinator.com/newest', null],
    ['https://news.ycombinator.com/ask', 'ask'],
    ['https://news.ycombinator.com/show', 'show'],
    ['https://news.ycombinator.com/jobs', 'job'],
    ['https://News.YCombinator.com/item?id=1', null],
    ['https://news.ycombinator.com/user?id=ann', null],
    ['https://hnrss.org/newest?points=100', null],
    ['https://hn.algolia.com/?q=x', null],
  ])('Hacker News: %s', async (address, place) => {
    const found = await at(address, () => undefined)
    expect([kindOf(found), found.asked]).toEqual([['hackernews', '', place], []])
  })

  test.each([
    ['https://www.reddit.com/r/coffee/', 'coffee'],
    ['reddit.com/r/coffee', 'coffee'],
    ['https://old.reddit.com/r/Coffee/new/', 'Coffee'],
    ['https://www.reddit.com/r/coffee/comments/1abc/title/', 'coffee'],
    ['https://www.reddit.com/r/coffee.rss', 'coffee'],
    ['https://www.reddit.com/', null],
    ['https://www.reddit.com/user/ann', null],
    ['https://redd.it/1abc', null],
  ])('Reddit: %s', async (address, place) => {
    expect(kindOf(await at(address, R2))).toEqual(['reddit', 'https://www.reddit.com', place])
  })

  test.each([
    ['https://r.example.org/r/coffee', 'coffee'],
    ['r.example.org/r/coffee/new?sort=x', 'coffee'],
  ])('another Reddit-style platform: %s', async (address, place) => {
    expect(kindOf(await at(address, R2))).toEqual(['reddit', 'https://r.example.org', place])
  })
})

const linking = (href: string, type = 'application/rss+xml', title = 'Posts') =>
  `<html><head><link rel="alternate" title="${title}" type="${type}" href="${href}"></head></html>`

describe('an address leads to a feed', () => {
  test.each([
    ['its own', 'https://f.example.org/feed.xml', ALL(RSS), 'https://f.example.org/feed.xml'],
    [
      'Atom',
      'f.example.org/a',
      ALL('<feed xmlns="http://www.w3.org/2005/Atom"></feed>'),
      'https://f.example.org/a',
    ],
    [
      'JSON',
      'f.example.org/j',
      ALL('{"version": "https://jsonfeed.org/version/1.1", "items": []}'),
      'https://f.example.org/j',
    ],
    [
      'one that a page names',
      'https://f.example.org/blog',
      (path: string) => (path === '/x?a=1&b=2' ? RSS : linking('/x?a=1&amp;b=2')),
      'https://f.example.org/x?a=1&b=2',
    ],
    [
      'not that of comments',
      'https://f.example.org/',
      (path: string) =>
        path === '/'
          ? linking('/comments/feed', 'application/rss+xml', 'Comments') + linking('/feed')
          : RSS,
      'https://f.example.org/feed',
    ],
    [
      'that of phpBB',
      'https://f.example.org/',
      (path: string) => (path === '/' ? '<body id="phpbb">' : path === '/feed' ? RSS : undefined),
      'https://f.example.org/feed',
    ],
    [
      'that of a forum of XenForo',
      'https://f.example.org/forums/help.3/',
      (path: string) => (path === '/forums/help.3/index.rss' ? RSS : '<html id="XF">'),
      'https://f.example.org/forums/help.3/index.rss',
    ],
    [
      'that of the start page, where the page is gone',
      'https://f.example.org/old',
      (path: string) => (path === '/' ? linking('/feed') : path === '/feed' ? RSS : undefined),
      'https://f.example.org/feed',
    ],
    [
      'a guess',
      'https://f.example.org/',
      (path: string) => (path === '/' ? '<html></html>' : path === '/rss' ? RSS : undefined),
      'https://f.example.org/rss',
    ],
    [
      'behind a redirect',
      'f.example.org/old',
      (path: string) => (path === '/old' ? { status: 301, to: '/new' } : RSS),
      'https://f.example.org/new',
    ],
  ] as const)('%s', async (_, address, pages, expected) => {
    expect(kindOf(await at(address, pages))).toEqual(['feed', expected, null])
  })
})

test.each(['', 'no address', 'ftp://f.example.org', 'javascript:alert(1)'])(
  '%p is no address',
  async (text) => {
    const { found, asked, why } = await at(text, () => RSS)
    expect([found, asked]).toEqual([null, []])
    expect(why).toContain('paste that of a site')
  },
)

test('nothing is found after six requests at most, and the reason names them', async () => {
  const { found, why, asked } = await at('https://f.example.org/a', ALL('<html>lemmy</html>'))
  expect(found).toBeNull()
  expect(asked.length).toBeLessThanOrEqual(6)
  expect(why).toContain('https://f.example.org/a (200)')
})

test('a site without TLS is found by its host alone', async () => {
  const { found, asked } = await discover('f.example.org', async (address) => ({
    asked: address,
    url: address,
    status: address.startsWith('http:') ? 200 : 0,
    text: address.startsWith('http:') ? RSS : '',
  }))
  expect(found?.base_url).toBe('http://f.example.org/')
  expect(asked).toHaveLength(2)
})

test('redirects count as requests', async () => {
  const { found } = await at('https://f.example.org/a', () => ({ status: 302, to: '/a' }))
  expect(found).toBeNull()
})

const outline = (text: string, url: string) =>
  `<outline text="${text}" type="rss" xmlUrl="${url}"/>`

const opml = (body: string) =>
  `<?xml version="1.0"?><opml version="1.0"><head/><body>${body}</body></opml>`

describe('a list of feeds in OPML', () => {
  test('has its feeds at any depth, each once, with names of their own', () => {
    const { feeds, rejected } = readOpml(
      opml(
        `<outline text="News &amp; Tech"><outline title="Deep">${outline('A Blog', 'https://a.example/feed?x=1&amp;y=2')}</outline>${outline('A blog!', 'https://b.example/feed')}</outline>${outline('again', 'https://a.example/feed?x=1&amp;y=2')}`,
      ),
    )
    expect(feeds).toEqual([
      { name: 'a-blog', url: 'https://a.example/feed?x=1&y=2', folder: 'News & Tech / Deep' },
      { name: 'a-blog-2', url: 'https://b.example/feed', folder: 'News & Tech' },
    ])
    expect(rejected).toEqual([])
  })

  test('names what it leaves out', () => {
    const many = Array.from({ length: 201 }, (_, n) => outline('', `https://f${n}.example/`)).join(
      '',
    )
    const { feeds, rejected } = readOpml(
      opml(
        `${outline('x', 'javascript:1')}${outline('r', 'https://www.reddit.com/r/x/.rss')}${many}`,
      ),
    )
    expect(feeds).toHaveLength(200)
    expect(rejected).toEqual([
      'x: no address with http or https',
      expect.stringContaining('a kind of its own'),
      'f200.example: a source has at most 200 feeds',
    ])
    expect(readOpml('x'.repeat(2 * 1024 * 1024)).rejected).toEqual([
      'the file is larger than 1 MiB',
    ])
    expect(readOpml('<outline'.repeat(10_000)).feeds).toEqual([])
  })

  test('is read as it was written, without addresses that may hold a secret', () => {
    const feeds = withoutSecrets([
      { name: 'a', url: 'https://a.example/feed?x=1&y=2', user: '' },
      { name: 'b', url: 'https://b.example/feed?key=1', user: '' },
      { name: 'c', url: 'https://c.example/feed', user: 'ann' },
      { name: 'd', url: 'https://d.example/feed?u=0123456789abcdef0123', user: '' },
    ])
    const text = writeOpml('boards', feeds)
    expect(readOpml(text).feeds).toEqual([
      { name: 'a', url: 'https://a.example/feed?x=1&y=2', folder: '' },
    ])
    expect(text).toContain('a secret: 3')
    expect(text).not.toMatch(/[bcd]\.example/)
  })
})

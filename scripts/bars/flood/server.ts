/**
 * Forums that fill what reads them: each answer is as large as one may be, all its rows are new, and their texts are as long as
 * they may be. Prints the addresses of the sites as JSON.
 *
 *     bun scripts/bars/flood/server.ts discourse hackernews …
 */
const BODY_MAX = 8 * 1024 * 1024
/** Left for the frame of an answer. */
const FRAME = 64 * 1024
const TITLE_MAX = 4000
const TEXT_MAX = 250_000
/** Bytes of a row without its texts. */
const ROW_BYTES = 700
/** Ids between two answers. */
const LEAP = 10_000

const POOL = Array.from({ length: 200_000 }, (_, n) => `w${(n * 7919) % 100_003}`).join(' ')
let taken = 0
/** Words in ever another order. */
function words(length: number): string {
  taken = (taken + 104_729) % (POOL.length - length)
  return `flood ${POOL.slice(taken, taken + length - 6)}`
}

type Row = { id: number; title: string; text: string }
let answers = 0

/** Rows of one answer: few with long texts, or many with long titles. */
function rows(first: number, count = Infinity): Row[] {
  answers += 1
  const [title, text] = answers % 2 === 0 ? [100, TEXT_MAX] : [TITLE_MAX, 20]
  const most = Math.floor((BODY_MAX - FRAME) / (title + text + ROW_BYTES))
  return Array.from({ length: Math.min(count, most) }, (_, n) => ({
    id: first - n,
    title: words(title),
    text: words(text),
  }))
}

const iso = () => new Date().toISOString()
type Site = (path: string, query: URLSearchParams, next: () => number) => unknown

const lemmyFrame = () => ({
  creator: { id: 2, name: 'ann', local: true },
  community: { id: 3, name: 'coffee', local: true },
  counts: { score: 1, comments: 0 },
})
const lemmyPost = ({ id, title, text }: Row) => ({
  post: { id, name: title, body: text, published: iso(), local: true, nsfw: false },
  ...lemmyFrame(),
})
const lemmyComment = ({ id, title, text }: Row) => ({
  comment: { id, content: text, published: iso(), local: true, post_id: id, path: `0.${id}` },
  post: { id, name: title, published: iso(), local: true, nsfw: false },
  ...lemmyFrame(),
})

const lemmy =
  (base: string): Site =>
  (path, query, next) => {
    if (path === `${base}/site`) return { version: '0.19.5', site_view: { site: { name: 'F' } } }
    if (path === `${base}/post/list`)
      return { posts: rows(next()).map(lemmyPost), next_page: String(next()) }
    if (path === `${base}/comment/list`) return { comments: rows(next()).map(lemmyComment) }
    if (path === `${base}/modlog`) return { removed_posts: [], removed_comments: [] }
    const id = Number(query.get('id'))
    if (path === `${base}/post`) return { post_view: rows(id, 1).map(lemmyPost)[0] }
    if (path === `${base}/comment`) return { comment_view: rows(id, 1).map(lemmyComment)[0] }
    return undefined
  }

const SITES: Readonly<Record<string, Site>> = {
  discourse(path, query, next) {
    if (path === '/site.json') return { categories: [{ id: 5, name: 'Help', slug: 'help' }] }
    const before = Number(query.get('before') ?? 0)
    if (path === '/posts.json')
      return {
        latest_posts: rows(before === 0 ? next() : before - LEAP / 50).map(
          ({ id, title, text }) => ({
            id,
            topic_id: id,
            post_number: 1,
            topic_title: title,
            topic_slug: 'x',
            category_id: 5,
            raw: text,
            username: 'ann',
            created_at: iso(),
            updated_at: iso(),
            version: 1,
          }),
        ),
      }
    if (path === '/latest.json')
      return {
        users: [],
        topic_list: {
          more_topics_url: '/latest?page=1',
          topics: rows(next()).map(({ id, title }) => ({
            id,
            title,
            slug: 'x',
            category_id: 5,
            created_at: iso(),
            bumped_at: iso(),
            posts_count: 1,
          })),
        },
      }
    const topic = Number(/^\/t\/(\d+)\.json$/.exec(path)?.[1])
    if (topic > 0)
      return {
        id: topic,
        title: words(TITLE_MAX),
        category_id: 5,
        post_stream: {
          stream: [],
          posts: rows(next()).map(({ id, text }, n) => ({
            id,
            topic_id: topic,
            post_number: n + 1,
            raw: text,
            username: 'ann',
            created_at: iso(),
            updated_at: iso(),
            version: 1,
          })),
        },
      }
    return undefined
  },
  hackernews(path, _query, next) {
    if (path === '/v0/maxitem.json') return next()
    if (path === '/v0/updates.json') {
      const from = next()
      // Every other id is a gap of its own.
      return { items: Array.from({ length: 20_000 }, (_, n) => from - 2 * n), profiles: [] }
    }
    const id = Number(/^\/v0\/item\/(\d+)\.json$/.exec(path)?.[1])
    if (!(id > 0)) return undefined
    const time = Math.floor(Date.now() / 1000)
    return {
      id,
      type: 'story',
      by: 'ann',
      title: words(TITLE_MAX),
      text: words(TEXT_MAX),
      time,
      score: 1,
    }
  },
  lemmy: lemmy('/api/v3'),
  piefed: lemmy('/api/alpha'),
  reddit: (path, query, next) =>
    path.endsWith('.json')
      ? {
          kind: 'Listing',
          data: {
            after: `t3_${next().toString(36)}`,
            children: rows(next()).map(({ id, title, text }) => ({
              kind: 't3',
              data: {
                id: id.toString(36),
                name: `t3_${id.toString(36)}`,
                title,
                selftext: text,
                is_self: true,
                author: 'ann',
                subreddit: 'coffee',
                permalink: `/r/coffee/comments/${id.toString(36)}/x/`,
                created_utc: Math.floor(Date.now() / 1000),
                score: 1,
                num_comments: 0,
              },
            })),
          },
        }
      : undefined,
}

function start(kind: string): { kind: string; url: string } {
  const site = SITES[kind]
  if (site === undefined) throw new Error(`there is no kind ${kind}`)
  let head = 1_000_000
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const value = site(pathname, searchParams, () => (head += LEAP))
      if (value === undefined) return Response.json({ error: 'not_found' }, { status: 404 })
      return Response.json(value, { headers: { 'x-discourse-cached': 'skip' } })
    },
  })
  return { kind, url: `http://127.0.0.1:${server.port}` }
}

console.log(JSON.stringify(process.argv.slice(2).map(start)))

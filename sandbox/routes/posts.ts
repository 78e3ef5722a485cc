import { commentPermalink } from '../render/comments.ts'
import { shellPage } from '../render/pages.ts'
import { permalink } from '../render/posts.ts'
import type { SandboxRequest } from '../server/request.ts'
import {
  escapeHtml,
  json,
  page,
  redirect,
  type SandboxResponse,
  toHtml,
} from '../server/response.ts'
import { isVisible } from '../server/viewer.ts'
import type { SandboxComment, SandboxPost, Subforum, Thing, World } from '../world/model.ts'
import { POST_SORTS, type PostSort, rank } from '../world/ranking.ts'
import { accessError, findSubforums, publicSubforums } from '../world/subforum-access.ts'
import { inOrder, merge, newestFirst, type RowSource } from '../world/timeline.ts'
import { composer, permalinkOf } from '../writes/comment.ts'
import { DEEPEST, listing } from './listing.ts'

/** Parses a path segment as a sort. */
export const parseSort = (word: string | undefined): PostSort | undefined =>
  POST_SORTS.find((sort) => sort === word)

const keyOf = (from: readonly Subforum[]) => from.map(({ id }) => id).join('+')

// Cache key of the current minute: results over a time range may be that old.
const minute = ({ viewer }: SandboxRequest) => Math.floor(viewer.now_s / 60)

/** `/r/a+b/<sort>`: pinned posts precede the first page of hot, beyond its limit. */
export function subforumPosts(
  request: SandboxRequest,
  joined: string,
  sort: PostSort,
): SandboxResponse {
  const found = findListed(request, joined)
  return Array.isArray(found) ? postListing(request, found, sort, found.length === 1) : found
}

/** `/r/a+b/comments`: newest first, no other order. */
export function subforumComments(request: SandboxRequest, joined: string): SandboxResponse {
  const found = findListed(request, joined)
  if (!Array.isArray(found)) return found
  const [only, ...others] = found
  const source: RowSource<Thing> =
    only !== undefined && others.length === 0
      ? newestFirst(only.comments)
      : request.cache(`comments ${keyOf(found)}`, () =>
          inOrder(
            merge(
              found.map(({ comments }) => comments),
              DEEPEST + 1,
            ),
          ),
        )
  return json(listing(request, source))
}

/** `all` and `popular` are all public subforums. */
function findListed(request: SandboxRequest, joined: string): Subforum[] | SandboxResponse {
  const word = joined.toLowerCase()
  return word === 'all' || word === 'popular'
    ? publicSubforums(request)
    : findSubforums(request, joined)
}

/**
 * `/`, `/new`, `/best` and so on: the viewer's subscriptions; all public subforums for an anonymous
 * viewer.
 */
export function homePosts(request: SandboxRequest, sort: PostSort): SandboxResponse {
  const { user } = request.viewer
  const chosen = user && user.subscribed.size > 0 ? [...user.subscribed] : publicSubforums(request)
  return postListing(request, chosen, sort, false)
}

function postListing(
  request: SandboxRequest,
  from: readonly Subforum[],
  sort: PostSort,
  single: boolean,
): SandboxResponse {
  if (sort === 'new') return json(listing(request, newest(request, from)))
  const t = request.query.get('t')
  const pinned = single && sort === 'hot' ? stickies(request, from) : []
  const ranked = request.cache(`${sort} ${t} ${minute(request)} ${keyOf(from)}`, () => {
    const things = from.flatMap((subforum) => subforum.posts)
    const candidates = things.filter((it) => !pinned.includes(it))
    return inOrder(rank(candidates, sort, t, request.viewer.now_s).slice(0, DEEPEST + 1))
  })
  return json(listing(request, ranked, { pinned }))
}

function newest({ cache }: SandboxRequest, from: readonly Subforum[]): RowSource<Thing> {
  const [only, ...others] = from
  if (only !== undefined && others.length === 0) return newestFirst(only.posts)
  return cache(`new ${keyOf(from)}`, () =>
    inOrder(
      merge(
        from.map((subforum) => subforum.posts),
        DEEPEST + 1,
      ),
    ),
  )
}

/** At most two, cached until the world changes. */
function stickies({ cache }: SandboxRequest, from: readonly Subforum[]): Thing[] {
  const pinned = cache(`pinned ${keyOf(from)}`, () =>
    inOrder(
      from.flatMap((subforum) => subforum.posts.filter((it) => it.stickied && it.removed === null)),
    ),
  )
  return [pinned.at(pinned.length - 2), pinned.at(pinned.length - 1)].filter(
    (it) => it !== undefined,
  )
}

const CODE = /^([13])z([a-z0-9]+)$/

/** Code of a share link. On the platform it is opaque; here it contains the name. */
export const shareCode = ({ kind, id }: Thing): string => `${kind.slice(1)}z${id}`

/**
 * `/r/<name>/s/<code>` and `/u/<name>/s/<code>`: redirects to the shared item. Null for every other
 * path.
 */
export function share({ path, world, origin }: SandboxRequest): SandboxResponse | null {
  const [root = '', , s, code = ''] = path
  if (!['r', 'u', 'user'].includes(root) || s !== 's' || path.length !== 4) return null
  const thing = findShared(world, code)
  if (thing === undefined) return page(shellPage('Page not found'), 404)
  const to = thing.kind === 't3' ? permalink(thing) : commentPermalink(thing)
  return redirect(`${origin}${to}?share_id=${code}&utm_medium=web2x`)
}

function findShared({ things }: World, code: string): Thing | undefined {
  const [, kind, id] = CODE.exec(code) ?? []
  return kind === undefined ? undefined : things.get(`t${kind}_${id}`)
}

/** HTML page of a post; an empty page for other paths. */
export function postPage(request: SandboxRequest): string {
  const at = request.path.indexOf('comments')
  const post = at < 0 ? undefined : request.world.things.get(`t3_${request.path[at + 1] ?? ''}`)
  if (post?.kind !== 't3' || post.removed !== null || accessError(post.subforum, request) !== null)
    return shellPage('Sandbox')
  const heading = `${post.title} : ${post.subforum.name}`
  const { user } = request.viewer
  const comments = pageComments(request, post)
    .filter((it) => isVisible(it, user))
    .slice(0, 100)
    .map(paragraph)
  return shellPage(
    heading,
    `    <h1>${escapeHtml(post.title)}</h1>\n    <p>${byline(post)}</p>\n${toHtml(post.text)}\n${composer(request, post)}\n${comments.join('\n')}`,
    user !== null,
  )
}

/** Comments of a page; a linked comment comes first. */
function pageComments(
  { path, world }: SandboxRequest,
  post: SandboxPost,
): readonly SandboxComment[] {
  const [, id = '', , last = ''] = path.slice(path.indexOf('comments'))
  const linked = id === post.id ? world.things.get(`t1_${last}`) : undefined
  if (linked?.kind !== 't1' || linked.post !== post) return post.comments
  return [linked, ...post.comments.filter((it) => it !== linked)]
}

const byline = ({ author, created_s }: Pick<SandboxComment, 'author' | 'created_s'>) =>
  `${escapeHtml(author.name)}, ${new Date(created_s * 1000).toISOString()}`

const paragraph = (comment: SandboxComment) =>
  `<shreddit-comment author="${escapeHtml(comment.author.name)}" thingid="${comment.name}" permalink="${permalinkOf(comment)}"><div slot="comment"><p>${byline(comment)}</p>${toHtml(comment.text)}</div><button type="button" data-reply>Reply</button></shreddit-comment>`

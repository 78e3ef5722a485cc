import type { Ask } from './ask.ts'
import { composer, permalinkOf } from './composer.ts'
import { escapeHtml, toHtml } from './json.ts'
import type { Comment, Post } from './model.ts'
import { shellPage } from './pages.ts'
import { refused } from './places.ts'
import { visible } from './viewer.ts'

/** A page a person can read, where a link to a post leads; a bare shell anywhere else. */
export function postPage(ask: Ask): string {
  const at = ask.path.indexOf('comments')
  const post = at < 0 ? undefined : ask.world.things.get(`t3_${ask.path[at + 1] ?? ''}`)
  if (post?.kind !== 't3' || post.removed !== null || refused(post.subforum, ask) !== null)
    return shellPage('Sandbox')
  const heading = `${post.title} : ${post.subforum.name}`
  const { user } = ask.viewer
  const comments = shown(ask, post)
    .filter((it) => visible(it, user))
    .slice(0, 100)
    .map(paragraph)
  return shellPage(
    heading,
    `    <h1>${escapeHtml(post.title)}</h1>\n    <p>${byline(post)}</p>\n${toHtml(post.text)}\n${composer(ask, post)}\n${comments.join('\n')}`,
    user !== null,
  )
}

/** The comments of a page: under a link to one of them, that one first. */
function shown({ path, world }: Ask, post: Post): readonly Comment[] {
  const [, id = '', , last = ''] = path.slice(path.indexOf('comments'))
  const named = id === post.id ? world.things.get(`t1_${last}`) : undefined
  if (named?.kind !== 't1' || named.post !== post) return post.comments
  return [named, ...post.comments.filter((it) => it !== named)]
}

const byline = ({ author, created_s }: Pick<Comment, 'author' | 'created_s'>) =>
  `${escapeHtml(author.name)}, ${new Date(created_s * 1000).toISOString()}`

const paragraph = (comment: Comment) =>
  `<shreddit-comment author="${escapeHtml(comment.author.name)}" thingid="${comment.name}" permalink="${permalinkOf(comment)}"><div slot="comment"><p>${byline(comment)}</p>${toHtml(comment.text)}</div><button type="button" data-reply>Reply</button></shreddit-comment>`

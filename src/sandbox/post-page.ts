import type { Ask } from './ask.ts'
import { escapeHtml, toHtml } from './json.ts'
import type { Comment } from './model.ts'
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
  const comments = post.comments
    .filter((it) => visible(it, user))
    .slice(0, 100)
    .map(paragraph)
  return shellPage(
    heading,
    `    <h1>${escapeHtml(post.title)}</h1>\n    <p>${byline(post)}</p>\n${toHtml(post.text)}\n${comments.join('\n')}`,
  )
}

const byline = ({ author, created_s }: Pick<Comment, 'author' | 'created_s'>) =>
  `${escapeHtml(author.name)}, ${new Date(created_s * 1000).toISOString()}`

const paragraph = (comment: Comment) =>
  `<article id="${comment.name}"><p>${byline(comment)}</p>${toHtml(comment.text)}</article>`

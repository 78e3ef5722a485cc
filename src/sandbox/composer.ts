import type { Ask } from './ask.ts'
import type { Comment, Post } from './model.ts'
import { refusedAt } from './write-comment.ts'

/** Where a comment's own page is. */
export const permalinkOf = ({ id, post }: Comment): string =>
  `/r/${post.subforum.name}/comments/${post.id}/comment/${id}/`

/** A box that opens when it is wanted, keeps a paragraph a line, and sends them as the modern page does. */
const SCRIPT = `
const host = document.querySelector('comment-composer-host')
const csrf_token = () => /(?:^|; )csrf_token=([^;]*)/.exec(document.cookie)?.[1] ?? ''

function open(at, parentId) {
  if (at.querySelector(':scope > shreddit-composer')) return
  const box = document.createElement('shreddit-composer')
  box.innerHTML = '<div slot="rte" role="textbox" contenteditable="true"><p><br></p></div>' +
    '<button slot="submit-button" type="submit">Comment</button><div role="alert"></div>'
  at.append(box)
  document.execCommand('defaultParagraphSeparator', false, 'p')
  box.querySelector('[contenteditable]').focus()
  box.querySelector('button').addEventListener('click', () => send(box, parentId))
}

const paragraphs = (box) =>
  [...box.querySelector('[contenteditable]').children].map(({ textContent }) => ({
    e: 'par',
    c: textContent === '' ? [] : [{ e: 'text', t: textContent }],
  }))

async function send(box, parentId) {
  const button = box.querySelector('button')
  button.disabled = true
  const answer = await fetch('/svc/shreddit/' + host.getAttribute('post-id') + '/create-comment', {
    method: 'POST',
    headers: { accept: 'text/vnd.reddit.partial+html, application/json' },
    body: new URLSearchParams({
      content: JSON.stringify({ document: paragraphs(box) }),
      mode: 'richText',
      richTextMedia: '[]',
      csrf_token: csrf_token(),
      ...(parentId && { parentId }),
    }),
  })
  const text = await answer.text()
  button.disabled = false
  if (answer.ok && text.includes('<shreddit-comment')) return box.insertAdjacentHTML('afterend', text), box.remove()
  box.querySelector('[role=alert]').innerHTML = answer.ok ? text : ''
  for (const alert of box.querySelectorAll('faceplate-alert'))
    alert.textContent = alert.getAttribute('message')
}

host?.querySelector('[data-testid=trigger-button]')?.addEventListener('click', () => open(host, ''))
document.addEventListener('click', ({ target }) => {
  const comment = target.matches('[data-reply]') && target.closest('shreddit-comment')
  if (comment) open(comment, comment.getAttribute('thingid'))
})
`

const BANNERS = {
  locked: `<div slot="post-locked-banner">This post is locked. You won't be able to comment.</div>`,
  archived: '<div slot="post-archived-banner">Archived post. New comments cannot be posted.</div>',
}

/** What stands between a post and its comments: a way to answer, or why there is none. */
export function composer({ viewer }: Ask, post: Post): string {
  if (post.locked) return BANNERS.locked
  if (post.archived) return BANNERS.archived
  // Strangers are shown the way in, and those who may not write here nothing at all.
  if (viewer.user === null) return '<a href="/login/">Log in to comment</a>'
  if (refusedAt(post, viewer.user) === 403) return ''
  return `<comment-composer-host post-id="${post.name}"><button type="button" data-testid="trigger-button">Join the conversation</button></comment-composer-host>\n<script>${SCRIPT}</script>`
}

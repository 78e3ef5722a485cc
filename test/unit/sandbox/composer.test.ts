import { expect, test } from 'bun:test'

import { fetchPath, open, signedIn } from './fetch-path.ts'

const DOCUMENT = JSON.stringify({
  document: [
    { e: 'par', c: [{ e: 'text', t: 'Well' }] },
    { e: 'par', c: [{ e: 'text', t: 'said.' }] },
  ],
})

/** Post that ann may answer, and the request of its reply form. */
async function posted() {
  const sandbox = await open()
  sandbox.subforum({ name: 'bread' })
  sandbox.user({ name: 'ann' })
  const { name, id } = sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })
  const { cookie } = signedIn(sandbox, 'ann')
  const csrf_token = /csrf_token=([^;]*)/.exec(cookie)?.[1] ?? ''
  const compose = (more: Record<string, string> = {}, cookies = cookie, target = name) =>
    fetchPath(sandbox, `/svc/shreddit/${target}/create-comment`, {
      cookie: cookies,
      form: { content: DOCUMENT, mode: 'richText', richTextMedia: '[]', csrf_token, ...more },
    })
  const texts = () =>
    [...sandbox.world.things.values()].flatMap((it) => (it.kind === 't1' ? [it.text] : []))
  return { sandbox, name, id, cookie, csrf_token, compose, texts }
}

test('the reply form creates a comment and returns it as an element of the page', async () => {
  const { sandbox, id, compose, texts } = await posted()
  await using _ = sandbox

  const { status, headers, text } = await compose()

  expect(status).toBe(200)
  expect(headers.get('content-type')).toStartWith('text/vnd.reddit.partial+html')
  const [, comment_id] = /<shreddit-comment [^>]*thingId="t1_(\w+)"/.exec(text) ?? []
  expect(text).toContain(`permalink="/r/bread/comments/${id}/comment/${comment_id}/"`)
  expect(texts()).toEqual(['Well\n\nsaid.'])
})

test('a comment is answered under its own post only', async () => {
  const { sandbox, name, compose, texts } = await posted()
  await using _ = sandbox
  const parent = sandbox.comment({ parent: name, author: 'bea', text: 'With a sourdough.' })
  const other = sandbox.post({ subforum: 'bread', author: 'bea', title: 'Wheat' })
  const elsewhere = sandbox.comment({ parent: other.name, author: 'bea', text: 'No.' })

  const there = await compose({ parentId: parent.name })
  const strange = await compose({ parentId: elsewhere.name })

  expect([there.status, strange.status]).toEqual([200, 400])
  expect(texts().length).toBe(3)
})

test('the token must match in cookie and form, with a valid session', async () => {
  const { sandbox, csrf_token, compose, texts } = await posted()
  await using _ = sandbox

  const wrong = await compose({ csrf_token: 'f'.repeat(32) })
  const anonymous_result = await compose({}, `csrf_token=${csrf_token}`)

  expect([wrong.status, anonymous_result.status]).toEqual([403, 401])
  expect(texts()).toEqual([])
})

test('a refusal is an alert in a fragment of a page, and nothing is written', async () => {
  const { sandbox, compose, texts } = await posted()
  await using _ = sandbox
  sandbox.addFault({ path: '/svc/', fault: 'form_error', code: 'THREAD_LOCKED' })

  const { status, text } = await compose()

  expect(status).toBe(200)
  expect(text).toBe(
    '<faceplate-alert level="error" message="Comments are locked."></faceplate-alert>',
  )
  expect(texts()).toEqual([])
})

test('a post has a reply form if the viewer may reply, and a banner if it is locked or archived', async () => {
  const { sandbox, id, name, cookie } = await posted()
  await using _ = sandbox
  const path = `/r/bread/comments/${id}/`
  const mine = await fetchPath(sandbox, path, { cookie })
  const anonymous_page = await fetchPath(sandbox, path)
  const post = sandbox.world.things.get(name)
  if (post?.kind === 't3') post.locked = true

  const locked = await fetchPath(sandbox, path, { cookie })

  expect(mine.text).toContain('<comment-composer-host ')
  expect(mine.text).toContain('user-logged-in="true"')
  expect(anonymous_page.text).not.toContain('<comment-composer-host ')
  expect(locked.text).toContain('slot="post-locked-banner"')
  expect(locked.text).not.toContain('<comment-composer-host ')
})

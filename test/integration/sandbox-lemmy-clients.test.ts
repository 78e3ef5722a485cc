// Goal: the official clients of Lemmy work with the simulated instance, unmodified: lemmy-js-client of 0.19 with v3, and of
// 1.0 with v4.
import { expect, test } from 'bun:test'

import { LemmyHttp as LemmyHttpV4, type RequestState } from 'lemmy-js-client'
import { LemmyHttp } from 'lemmy-js-client-v3'

import { LEMMY } from '../../sandbox/lemmy/kind.ts'
import { codeAt } from '../../sandbox/routes/login.ts'
import { startSource } from '../../sandbox/sources/start.ts'

async function open(version: '0.19' | '1.0') {
  const site = await startSource(LEMMY, {
    port: 0,
    seed: 3,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
  })
  site.call('site', { version })
  return site
}

/** Data of a successful call; throws the error of another one. */
async function data<T>(call: Promise<RequestState<T>>): Promise<T> {
  const result = await call
  if (result.state === 'success') return result.data
  throw new Error(JSON.stringify(result))
}

test('v3: it reads the site, walks posts by cursor, and opens one with its comments', async () => {
  await using site = await open('0.19')
  const client = new LemmyHttp(site.url)
  const { version, site_view } = await client.getSite()
  const ids: number[] = []
  let page_cursor: string | undefined
  do {
    const page = await client.getPosts({
      sort: 'New',
      type_: 'All',
      limit: 50,
      show_nsfw: true,
      ...(page_cursor !== undefined && { page_cursor }),
    })
    ids.push(...page.posts.map(({ post }) => post.id))
    page_cursor = page.next_page
  } while (page_cursor !== undefined)
  const [post] = [...site.world.posts.values()].filter(({ comments }) => comments.length > 3)
  const { post_view } = await client.getPost({ id: post?.id ?? 0 })
  const { comments } = await client.getComments({
    post_id: post?.id ?? 0,
    max_depth: 8,
    type_: 'All',
  })

  expect(version).toBe('0.19.12')
  expect(site_view.local_site_rate_limit.message).toBe(180)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.length).toBeGreaterThan(300)
  expect(post_view.counts.comments).toBe(post?.comments.length ?? 0)
  expect(comments).toHaveLength(post?.comments.length ?? 0)
})

test('v3: it logs in with a code, writes, votes, sends a message, and reads its answers', async () => {
  await using site = await open('0.19')
  const client = new LemmyHttp(site.url)
  const login = { username_or_email: 'bruno_keeps', password: 'battery-staple-4' }
  const refusal = await client.login(login).catch(String)
  const secret = site.world.persons.find(({ name }) => name === 'bruno_keeps')?.totp_secret ?? ''
  const { jwt } = await client.login({
    ...login,
    totp_2fa_token: codeAt(secret, site.world.now() / 1000),
  })
  client.setHeaders({ Authorization: `Bearer ${jwt}` })
  const community_id = site.world.communities[0]?.id ?? 0
  const { post_view } = await client.createPost({
    name: 'A quiet grinder',
    community_id,
    body: 'Any?',
  })
  const { comment_view } = await client.createComment({
    content: 'I have one.',
    post_id: post_view.post.id,
  })
  const voted = await client.likePost({ post_id: post_view.post.id, score: 1 })
  const other = site.world.persons.find(({ name }) => name === 'ada_reads')
  await client.createPrivateMessage({ content: 'Hello', recipient_id: other?.id ?? 0 })
  site.call('comment', { post_id: post_view.post.id, text: 'So do I', author: 'cedar_owl' })
  const { replies } = await client.getReplies({})
  const { private_messages } = await client.getPrivateMessages({})
  const { my_user } = await client.getSite()
  const { post } = await client.resolveObject({ q: post_view.post.ap_id })

  expect(refusal).toContain('missing_totp_token')
  expect(comment_view.comment.path).toBe(`0.${comment_view.comment.id}`)
  expect([voted.post_view.my_vote, voted.post_view.counts.score]).toEqual([1, 2])
  expect(replies.map(({ comment }) => comment.content)).toContain('So do I')
  expect(private_messages[0]?.private_message.content).toBe('Hello')
  expect(my_user?.local_user_view.person.name).toBe('bruno_keeps')
  expect(post?.post.id).toBe(post_view.post.id)
})

test('v4: it reads the site, walks posts and comments by cursor, a person and a community', async () => {
  await using site = await open('1.0')
  const client = new LemmyHttpV4(site.url)
  const { version, site_view } = await data(client.getSite())
  const first = await data(client.getPosts({ sort: 'new', type_: 'all', limit: 20 }))
  const second = await data(
    client.getPosts({
      sort: 'new',
      type_: 'all',
      limit: 20,
      page_cursor: first.next_page ?? '',
    }),
  )
  const comments = await data(client.getComments({ sort: 'new', limit: 50 }))
  const person = await data(client.getPersonDetails({ username: 'ada_reads' }))
  const { community_view } = await data(client.getCommunity({ name: 'coffee@north.example' }))
  const found = await data(client.search({ search_term: 'the', type_: 'posts' }))
  const ids = [...first.items, ...second.items].map(({ post }) => post.id)

  expect(version).toStartWith('1.0.0')
  expect(site_view.local_site_rate_limit.message_max_requests).toBe(180)
  expect(new Set(ids).size).toBe(40)
  expect(comments.items).toHaveLength(50)
  expect(person.person_view.person.name).toBe('ada_reads')
  expect(community_view.community.local).toBe(false)
  expect(found.posts.length).toBeGreaterThan(0)
})

test('v4: the modlog names a removal and the restoration after it', async () => {
  await using site = await open('1.0')
  const client = new LemmyHttpV4(site.url)
  const [id] = site.world.posts.keys()
  site.call('remove', { kind: 'post', id, by: 'moderator' })
  site.call('restore', { kind: 'post', id })
  const { items, next_page } = await data(client.getModlog({ type_: 'mod_remove_post', limit: 2 }))
  const rest = await data(
    client.getModlog({ type_: 'mod_remove_post', limit: 2, page_cursor: next_page ?? '' }),
  )

  expect(items.map(({ modlog, target_post }) => [modlog.is_revert, target_post?.id])).toEqual([
    [true, id],
    [false, id],
  ])
  expect(rest.items[0]?.modlog.id).toBeLessThan(items[1]?.modlog.id ?? 0)
})

test('v4: it logs in, writes, votes, deletes, and gets notified', async () => {
  await using site = await open('1.0')
  const client = new LemmyHttpV4(site.url)
  const { jwt } = await data(
    client.login({
      username_or_email: 'ada_reads',
      password: 'correct-horse-7',
    }),
  )
  client.setHeaders({ Authorization: `Bearer ${jwt}` })
  const community_id = site.world.communities[0]?.id ?? 0
  const { post_view } = await data(client.createPost({ name: 'A quiet grinder', community_id }))
  const post_id = post_view.post.id
  const voted = await data(client.likePost({ post_id, is_upvote: true }))
  const { id: answer_id } = site.call('comment', {
    post_id,
    text: 'I have one',
    author: 'cedar_owl',
  }) as { id: number }
  const { items } = await data(client.listNotifications({}))
  const { comment_view } = await data(
    client.createComment({
      content: 'Great!',
      post_id,
      parent_id: answer_id,
    }),
  )
  const deleted = await data(
    client.deleteComment({ comment_id: comment_view.comment.id, deleted: true }),
  )
  const me = await data(client.getMyUser())

  expect(voted.post_view.post.score).toBe(2)
  expect(items[0]?.notification.kind).toBe('reply')
  expect(comment_view.comment.path).toBe(`0.${answer_id}.${comment_view.comment.id}`)
  expect([deleted.comment_view.comment.deleted, deleted.comment_view.comment.content]).toEqual([
    true,
    '',
  ])
  expect(me.local_user_view.person.name).toBe('ada_reads')
})

// Goal: a client that was written for the real Discourse works with the simulated one: discourse2, which is generated from
// the official description of the API and validates what it sends.
import { expect, test } from 'bun:test'

import Discourse from 'discourse2'

import { DISCOURSE } from '../../sandbox/discourse/kind.ts'
import { startSource } from '../../sandbox/sources/start.ts'

async function open() {
  const site = await startSource(DISCOURSE, {
    port: 0,
    seed: 3,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
  })
  const { key } = site.call('key', {}) as { key: string }
  const as = (username: string) =>
    new Discourse(site.url, { 'Api-Key': key, 'Api-Username': username })
  return { site, as, anonymous: new Discourse(site.url) }
}

test('it lists topics, opens one, and reads its posts by id', async () => {
  const { site, anonymous } = await open()
  await using _ = site
  const { topic_list } = await anonymous.listLatestTopics()
  const row = topic_list?.topics?.find(({ posts_count = 0 }) => posts_count > 3)
  const topic = await anonymous.getTopic({ id: String(row?.id) })
  const world_topic = site.world.topics.get(row?.id ?? 0)
  const [, second] = topic.post_stream.posts ?? []
  const post = await anonymous.getPost({ id: String(second?.id) })

  expect(topic.title).toBe(world_topic?.title ?? '')
  expect(topic.post_stream.stream).toContain(second?.id)
  expect([post.raw, post.post_number]).toEqual([world_topic?.posts[1]?.raw ?? '', 2])
})

test('it walks the site-wide list of posts by id', async () => {
  const { site, anonymous } = await open()
  await using _ = site
  const seen: number[] = []
  for (let pages = 0; pages < 3; pages++) {
    const before = seen.at(-1)
    const { latest_posts } = await anonymous.listPosts(
      before === undefined ? {} : { before: String(before) },
    )
    seen.push(...(latest_posts ?? []).map(({ id }) => id ?? 0))
  }

  expect(seen).toHaveLength(150)
  expect(seen).toEqual(seen.toSorted((one, other) => other - one))
})

test('it reads the site, its categories, a user, and searches', async () => {
  const { site, anonymous, as } = await open()
  await using _ = site
  const { category_list } = await anonymous.listCategories({})
  const basic = await anonymous.getSiteBasicInfo()
  const whole = await anonymous.getSite()
  const { user } = await as('system').getUser({ username: 'cedar_owl' })
  const found = await anonymous.search({ q: 'grinder' })
  const actions = await anonymous.listUserActions({
    offset: 0,
    username: 'cedar_owl',
    filter: '4,5',
  })

  expect(category_list.categories.map(({ slug }) => slug)).toContain('coffee')
  expect(basic.title).toBe('Common Ground')
  expect(whole.default_archetype).toBe('regular')
  expect(user?.username).toBe('cedar_owl')
  expect(found.posts?.length).toBeGreaterThan(0)
  expect(actions.user_actions?.length).toBeGreaterThan(0)
})

test('it writes a topic, a reply and a message, likes, edits and deletes', async () => {
  const { site, as } = await open()
  await using _ = site
  const [ada, cedar] = [as('ada_reads'), as('cedar_owl')]
  const raw = 'Which burrs do you use, and for how long have you had them?'
  const topic = await ada.createTopicPostPM({
    title: 'Burrs that last for years',
    raw,
    category: 5,
  })
  const reply = await cedar.createTopicPostPM({
    topic_id: topic.topic_id,
    raw: 'Steel ones, for eleven years now.',
  })
  await ada.performPostAction({ id: reply.id, post_action_type_id: 2 })
  await ada.updatePost({
    id: String(topic.id),
    post: { raw: `${raw} Thanks!`, edit_reason: 'manners' },
  })
  const message = await ada.createTopicPostPM({
    title: 'Thanks for the answer',
    raw: 'That was quick, and just what I needed.',
    archetype: 'private_message',
    target_recipients: 'cedar_owl',
  })
  const inbox = await cedar.listUserPrivateMessages({ username: 'cedar_owl' })
  const liked = await ada.getPost({ id: String(reply.id) })
  await cedar.deletePost({ id: reply.id })
  const gone = site.world.posts.find(({ id }) => id === reply.id)

  expect(liked.actions_summary?.[0]).toMatchObject({ id: 2, count: 1 })
  expect(inbox.topic_list?.topics?.map(({ id }) => id)).toContain(message.topic_id)
  expect(site.world.topics.get(topic.topic_id)?.posts[0]?.raw).toBe(`${raw} Thanks!`)
  expect(gone?.user_deleted_at).not.toBeNull()
})

test('it gets the refusal of the site as an error with its status', async () => {
  const { site, anonymous } = await open()
  await using _ = site
  const refusal = await anonymous.getTopic({ id: '99999999' }).catch(String)

  expect(refusal).toMatch(/404|could not be found/i)
})

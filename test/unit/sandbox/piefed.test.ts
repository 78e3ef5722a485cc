import { expect, test } from 'bun:test'

import { PIEFED } from '../../../sandbox/piefed/kind.ts'
import { startSource } from '../../../sandbox/sources/start.ts'

const START = Date.UTC(2026, 10, 20, 12)

async function open() {
  let now = START
  const site = await startSource(PIEFED, {
    port: 0,
    seed: 3,
    speed: 0,
    world: 'empty',
    now: () => now,
  })
  const read = async (path: string) => {
    const answer = await fetch(`${site.url}/api/alpha/${path}`)
    return { status: answer.status, body: Object(await answer.json()) }
  }
  const pass = (ms: number): void => void (now += ms)
  return { site, read, pass, [Symbol.asyncDispose]: () => site.stop() }
}

const LIST = 'post/list?type_=All&sort=New&nsfw=Include&limit=5'

test('a post has its title alone until its second commit', async () => {
  await using it = await open()
  it.site.call('post', { community: 'coffee', title: 'a kettle', text: 'whole', nsfw: true })
  const [half] = (await it.read(LIST)).body.posts
  expect(half.post).toMatchObject({ title: 'a kettle', nsfw: false })
  expect(half.post).not.toHaveProperty('body')
  it.pass(5000)
  const [whole] = (await it.read(LIST)).body.posts
  expect(whole.post).toMatchObject({ body: 'whole', nsfw: true, user_id: expect.any(Number) })
  expect(whole.creator.user_name).toBe('passer_by')
})

test('a name in another case and an unknown one list nothing', async () => {
  await using it = await open()
  it.site.call('post', { community: 'coffee', title: 'a kettle' })
  expect((await it.read(`${LIST}&community_name=coffee`)).body.posts).toHaveLength(1)
  for (const name of ['Coffee', 'nope'])
    expect(await it.read(`${LIST}&community_name=${name}`)).toMatchObject({
      status: 200,
      body: { posts: [] },
    })
})

test.each([
  ['post?id=99', '()'],
  ['comment?id=99', "'NoneType' object has no attribute 'community_id'"],
  ['community?name=nope', 'error - unknown community. Please wait a sec and try again.'],
])('%s is answered with 400 and the text %j', async (path, message) => {
  await using it = await open()
  expect(await it.read(path)).toMatchObject({ status: 400, body: { code: 400, message } })
})

test('without its database a community has the text of an unknown one', async () => {
  await using it = await open()
  it.site.call('post', { community: 'coffee', title: 'a kettle' })
  it.site.call('site', { database: 'down' })
  expect((await it.read('community?name=coffee')).body.message).toContain('unknown community')
  expect((await it.read(LIST)).body.message).toContain('OperationalError')
})

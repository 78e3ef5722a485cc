import { describe, expect, test } from 'bun:test'

import { createServer, MINUTE, S } from './fixture.ts'

/** Not so young that the two reads of a server that publishes in steps delay it. */
const AGE = 2 * MINUTE
const namesOf = ({ items }: { items: { name: string }[] }) => items.map(({ name }) => name)

async function begun() {
  const fixture = createServer('piefed')
  fixture.put('post', 100)
  fixture.put('comment', 500)
  const { state } = await fixture.step(null)
  fixture.world.now += 10 * MINUTE
  return { ...fixture, state, [Symbol.asyncDispose]: fixture[Symbol.asyncDispose] }
}

test('posts of a community outside of the list of everything are delivered: its own list has them', async () => {
  await using fixture = await begun()
  const { world, put, step, state } = fixture
  world.community = { hidden: true }
  put('post', 101, { is_unlisted: true, published: world.now - AGE })
  expect(namesOf(await step(state))).toEqual(['t3_101'])
})

describe('a post that takes the time of its publication', () => {
  test('is no sign of ids that went back, and is delivered', async () => {
    await using fixture = await begun()
    const { world, put, step, state } = fixture
    put('post', 101, { is_draft: true, author: 8 })
    put('post', 102, { published: world.now - AGE })
    const first = await step(state)
    expect(namesOf(first)).toEqual(['t3_102'])
    world.now += 3 * MINUTE
    put('post', 101, { author: 8, published: world.now })
    const second = await step(first.state)
    expect(second.went_back).toBeUndefined()
    world.now += 10 * S
    const third = await step(second.state)
    expect(namesOf(third)).toEqual(['t3_101'])
  })

  test('is none either if its first commit was listed', async () => {
    await using fixture = await begun()
    const { world, put, step, state } = fixture
    put('post', 101, { author: 8, text: '' })
    const first = await step(state)
    put('post', 101, { author: 8, is_draft: true })
    const second = await step(first.state)
    world.now += 3 * MINUTE
    put('post', 101, { author: 8, published: world.now })
    expect((await step(second.state)).went_back).toBeUndefined()
  })
})

test('a known id with another author and a later time is one that is given again', async () => {
  await using fixture = await begun()
  const { world, put, step, state } = fixture
  put('post', 101, { author: 8, published: world.now - AGE })
  const first = await step(state)
  world.now += MINUTE
  put('post', 101, { author: 9, published: world.now })
  expect((await step(first.state)).went_back).toBe(true)
})

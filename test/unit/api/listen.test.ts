// Goal: a start composes the app once. Method: the app's compositions are counted until all
// deferred work has run.
import { expect, spyOn, test } from 'bun:test'

import { Elysia } from 'elysia'

import { listen } from '../../../src/api/app.ts'

test('an app is composed once, and answers', async () => {
  const app = new Elysia().get('/here', () => 'here')
  const composed = spyOn(app, 'compile')

  listen(app, { hostname: '127.0.0.1', port: 0 })
  await new Promise(setImmediate)
  const answer = await fetch(`http://127.0.0.1:${app.server?.port}/here`)
  await app.stop(true)

  expect(await answer.text()).toBe('here')
  expect(composed).toHaveBeenCalledTimes(1)
})

import { expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const started = () => startTestDaemon()

test('an answer names every invalid field of a body and of its filter', async () => {
  await using daemon = await started()
  const send = (path: string, body: object) =>
    daemon.call(path, { method: 'POST', body: JSON.stringify(body) })
  const { status, body } = await send('/forum/monitor/add', {
    filter_spec: { subforum: ['bread', 'a b'], include_any: [''], min_score: 'many', nme: 1 },
    name: '',
    cadence_s: 0,
  })

  expect(status).toBe(400)
  expect(body.code).toBe('INVALID_REQUEST')
  expect(body.errors.map((it: { field: string }) => it.field)).toEqual([
    'filter_spec.nme',
    'filter_spec.subforum[1]',
    'filter_spec.include_any[0]',
    'filter_spec.min_score',
    'name',
    'cadence_s',
  ])
  expect(body).toMatchObject({
    field: body.errors[0].field,
    error: body.errors[0].message,
  })
  expect(body.errors.map((it: { message: string }) => it.message)).toEqual([
    expect.stringContaining('is not a field of filter_spec'),
    expect.stringContaining('(it was "a b")'),
    expect.stringContaining('1 to 100 characters'),
    expect.stringContaining('a whole number from'),
    expect.stringContaining('name must have 1 to 120 characters'),
    expect.stringContaining('cadence_s must be a whole number of seconds'),
  ])
})

test('an absent place and an absent target are refused together, all places at once', async () => {
  await using daemon = await started()
  daemon.sandbox.subforum({ name: 'bread' })
  const { status, body } = await daemon.call('/forum/monitor/add', {
    method: 'POST',
    body: JSON.stringify({
      filter_spec: { subforum: ['bread', 'nowhere1', 'nowhere2'], q: 'rye' },
      webhook_ids: ['wh_none'],
    }),
  })

  expect(status).toBe(400)
  expect(body).toMatchObject({
    code: 'webhook_not_found',
    field: 'webhook_ids',
    errors: [
      { field: 'webhook_ids', message: 'there is no webhook wh_none' },
      {
        field: 'filter_spec.subforum',
        message: 'nowhere1, nowhere2 cannot be watched at forum',
      },
    ],
  })
})

test('a single invalid field keeps the short answer', async () => {
  await using daemon = await started()
  const { body } = await daemon.call('/forum/monitor/preview', {
    method: 'POST',
    body: JSON.stringify({ filter_spec: { q: 'rye', min_score: 'many' } }),
  })

  expect(Object.keys(body)).toEqual(['error', 'code', 'field'])
})

const own = (subforum: string) => ({ filter_spec: { subforum, q: 'rye' } })

test('a mistyped name is refused with the nearest one of the source, or that the customer itself has', async () => {
  await using daemon = await started()
  daemon.sandbox.subforum({ name: 'gardening' })
  const other = daemon.mint('bea')
  const add = (body: object, key = daemon.key) =>
    daemon.call('/forum/monitor/add', { method: 'POST', body: JSON.stringify(body) }, key)
  expect((await add(own('gardening'), other)).status).toBe(200)
  const target = { url: 'https://receiver.test/x', name: 'Night desk' }
  const { id } = (await daemon.send('/forum/monitor/webhook/create', target)).body

  expect((await add(own('gardenign'))).body.message).toBe(
    'gardenign cannot be watched at forum; did you mean gardening?',
  )
  const named = { ...own('gardening'), webhook_ids: ['Night dsek'] }
  expect((await add(named)).body.message).toBe(
    `there is no webhook Night dsek; did you mean ${id}?`,
  )
  expect((await add(named, other)).body.message).toBe('there is no webhook Night dsek')
})

// Goal: monitoring, inbox and archive answer under their second prefix as under the first.
import { expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

test('both prefixes give the same status, method list and body', async () => {
  await using daemon = await startTestDaemon()
  const ask = async (path: string, method = 'GET') => {
    const { status, headers, body } = await daemon.call(path, { method })
    return { status, allow: headers.get('allow'), type: headers.get('content-type'), body }
  }

  for (const [path, method, status] of [
    ['/forum/monitor/list', 'GET', 200],
    ['/forum/monitor/list/', 'GET', 200],
    ['/forum/inbox?limit=x', 'GET', 400],
    ['/forum/monitor/list', 'PUT', 405],
    ['/forum/monitor/nothing', 'GET', 404],
    ['/forum/monitor/feed/none', 'GET', 404],
    ['/forum/monitor/feed/%2F%zz', 'GET', 404],
    ['/forum/monitorlist', 'GET', 404],
    ['/forum/inbox', 'GET', 200],
    ['/forum/inbox/counts', 'GET', 200],
    ['/forum/archive', 'GET', 200],
  ] as const) {
    const first = await ask(path, method)
    expect(await ask(`/api${path}`, method), `${method} ${path}`).toEqual(first)
    expect(first.status, `${method} ${path}`).toBe(status)
  }
})

test('metrics name the prefix that was called', async () => {
  await using daemon = await startTestDaemon()
  for (const path of ['/api/forum/monitor/list', '/api/forum/monitor/feed/none', '/forum/inbox'])
    await daemon.call(path)
  const text = await (await fetch(`${daemon.url()}/metrics`)).text()

  const routes = [...text.matchAll(/http_requests_total\{.*?route="(.*?)"/g)].map((it) => it[1])
  expect(new Set(routes)).toEqual(
    new Set(['/api/forum/monitor/feed/:token', '/api/forum/monitor/list', '/forum/inbox']),
  )
})

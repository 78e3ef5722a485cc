import { expect, test } from 'bun:test'

import { createRouteTable, queryOf, requestPath } from '../../../../src/api/http/routes.ts'

const table = createRouteTable<true>()
for (const path of [
  '/health',
  '/health/ready',
  '/api/forum/post/:id',
  '/api/forum/post/:id/comments',
  '/api/forum/comments/verify',
  '/api/forum/comments/:postId',
  '/feed/*',
])
  table.add('GET', path, true)
table.add('POST', '/health', true)

test.each([
  ['/health', '/health'],
  ['/health/', '/health'],
  ['/health/ready', '/health/ready'],
  ['/api/forum/post/abc', '/api/forum/post/:id'],
  ['/api/forum/post/a%2Fb', '/api/forum/post/:id'],
  ['/api/forum/post/abc/comments', '/api/forum/post/:id/comments'],
  ['/api/forum/comments/verify', '/api/forum/comments/verify'],
  ['/api/forum/comments/verified', '/api/forum/comments/:postId'],
  ['/feed/a/b', '/feed/*'],
])('%s belongs to %s', (path, pattern) => {
  expect(table.find(path)?.path).toBe(pattern)
})

test.each([
  '/',
  '',
  '/healthy',
  '/Health',
  '/api/forum/post',
  '/api/forum/post//comments',
  '//health',
  '/health/ready/x',
])('%p belongs to no route', (path) => {
  expect(table.find(path)).toBeNull()
})

test('an entry contains every method of its path', () => {
  expect([...(table.find('/health')?.methods.keys() ?? [])]).toEqual(['GET', 'POST'])
})

test.each([
  ['http://host:80/a/b?c=/d', '/a/b'],
  ['http://host/', '/'],
  ['http://host/a', '/a'],
  ['/a/b?c=://d/', '/a/b'],
])('the path of %s is %s', (url, path) => {
  expect(requestPath(url)).toBe(path)
})

test.each([
  'http://localhost:8080/api/x?q=a+b%26c&q=2',
  'http://localhost/api/x?',
  'http://localhost/api/x',
  '/api/x?q=käse&q=%ff',
  '/api/x?q=1#?q=2',
  '/api/x?a=b?c&d',
])('the query of %s is parsed as by a browser', (url) => {
  expect([...queryOf(url)]).toEqual([...new URL(url, 'http://localhost').searchParams])
})

// Goal: clients that send much or read nothing do not fill the daemon's memory, and others are answered meanwhile.
// Method: each attack against the daemon in its own process, its memory read from /proc while a
// third process calls `/health`. Rate limits are off, so only the byte limits protect it.
// `bun run bar:abuse` measures how long others wait.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { startAbused } from '../support/abuse/fixture.ts'
import {
  leaveMcpUnread,
  openUnreadDocuments,
  pipelineUnread,
  sendMcpBatches,
  sendRefusedBodies,
} from '../support/abuse/in-flight.ts'
import type { Outcome } from '../support/abuse/target.ts'
import { watchProcess } from '../support/abuse/watch-process.ts'

setDefaultTimeout(60_000)
const RSS_MAX_MIB = 256
const HOLD_MS = 500

let abused: Awaited<ReturnType<typeof startAbused>>

beforeAll(async () => {
  abused = await startAbused()
  // The first use loads and compiles, which is no part of an attack.
  await sendMcpBatches(abused.target, { clients: 1, lists: 1, rounds: 20, allowed: [200] })
})
afterAll(async () => {
  await abused[Symbol.asyncDispose]()
})

async function expectBounded(attack: () => Promise<Outcome>): Promise<void> {
  const { pid, target } = abused
  const seen = await watchProcess({ pid, url: target.url }, attack)
  expect(seen.result.wrong).toEqual([])
  expect(seen.failed).toBe(0)
  expect(seen.rss_max_mib).toBeLessThan(RSS_MAX_MIB)
}

test('2,500 pipelined requests on a connection that is never read', () =>
  expectBounded(() => pipelineUnread(abused.target, 2500, HOLD_MS)))

test('300 connections that leave the OpenAPI document unread', () =>
  expectBounded(() => openUnreadDocuments(abused.target, 300, HOLD_MS)))

test('20 MCP clients that request 100 lists of tools in a batch', () =>
  expectBounded(() =>
    sendMcpBatches(abused.target, { clients: 20, lists: 100, rounds: 4, allowed: [400] }),
  ))

test('20 MCP clients that request a list of tools repeatedly', () =>
  expectBounded(() =>
    sendMcpBatches(abused.target, { clients: 20, lists: 1, rounds: 8, allowed: [200] }),
  ))

test('40 MCP clients that read none of 100 lists of tools', () =>
  expectBounded(() => leaveMcpUnread(abused.target, { clients: 40, lists: 100, for_ms: HOLD_MS })))

test('200 MCP clients that do not read their list of tools', () =>
  expectBounded(() => leaveMcpUnread(abused.target, { clients: 200, lists: 1, for_ms: HOLD_MS })))

test('30 parallel bodies of 7.9 MiB with an invalid key', () =>
  expectBounded(() =>
    sendRefusedBodies(
      { ...abused.target, key: 'fk_wrong' },
      { width: 30, rounds: 4, allowed: [403] },
    ),
  ))

test('30 parallel bodies of 7.9 MiB that the route refuses', () =>
  expectBounded(() =>
    sendRefusedBodies(abused.target, { width: 30, rounds: 4, allowed: [400, 503] }),
  ))

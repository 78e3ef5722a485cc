/**
 * The smallest executable of the same parts: Elysia with one route that validates, a database in WAL mode, and one durable
 * commit before it listens. What forumd does beside that at its start is the difference. Argument: the port.
 */
import { Database } from 'bun:sqlite'

import { Elysia } from 'elysia'
import * as z from 'zod'

const db = new Database('floor.sqlite', { create: true, strict: true })
db.run('PRAGMA journal_mode = WAL')
db.run('PRAGMA synchronous = FULL')
db.run('CREATE TABLE IF NOT EXISTS starts (at INTEGER)')
db.query('INSERT INTO starts VALUES (?)').run(Date.now())

new Elysia()
  .get('/health', () => ({ ok: true }), { query: z.object({ deep: z.string().optional() }) })
  .listen({ port: Number(process.argv[2]), hostname: '127.0.0.1' })

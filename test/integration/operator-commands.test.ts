import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ACTIONS } from '../../src/api/operator/commands.ts'
import { run } from '../../src/cli/run.ts'
import { surroundings } from '../unit/cli/environment.ts'
import { operatorKey, startOperated } from './operator-fixture.ts'

const dir = mkdtempSync(join(tmpdir(), 'commands-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const config = join(dir, 'forumd.toml')
await Bun.write(
  config,
  `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.forum.example"\nsession_cookie = "s"\n[storage]\ndir = "${dir}/data"\n[billing]\nenabled = true\n[plans.entry]\n`,
)

async function forumd(...args: string[]) {
  const { around, said } = surroundings()
  const code = await run([...args, '--config', config], around)
  return { code, ...said }
}

const inPath = (route: string, field: string) => route.includes(`:${field}`)

/** An empty text is wrong for every field; there is nothing of this name. */
const wrongInputs = ACTIONS.flatMap(({ command, operands, route }) =>
  operands.map((wrong) => ({
    command,
    wrong,
    input: Object.fromEntries(
      operands.map((it) => {
        if (it === wrong) return [it, inPath(route, it) ? 'nobody' : ' ']
        return [it, it === 'usd' ? '5' : it === 'plan' ? 'entry' : 'ann']
      }),
    ),
  })),
)

test('a command and the API answer wrong input with the same message', async () => {
  await using daemon = await startOperated()
  const key = operatorKey(daemon)
  await Bun.write(join(dir, 'data/forumd.address'), daemon.url())
  await Bun.write(join(dir, 'data/command.key'), key)
  expect((await forumd('customer', 'create', 'bob')).code).toBe(0)
  const answers: [string, string, string][] = []
  for (const { command, wrong, input } of wrongInputs) {
    const { route, operands } = ACTIONS.find((it) => it.command === command)!
    const [method = '', pattern = ''] = route.split(' ')
    const path = pattern.replace(/:(\w+)/, (_, field: string) => input[field] ?? '')
    const fields = Object.entries(input).filter(([field]) => !inPath(route, field))
    const { body: answer } = await daemon.call(
      `/operator${path}`,
      {
        method,
        headers: { 'idempotency-key': `${command} ${wrong}` },
        ...(method === 'POST' && { body: JSON.stringify(Object.fromEntries(fields)) }),
      },
      key,
    )
    const given = operands.map((it) => input[it] ?? '')
    const { code, err } = await forumd(...command.split(' '), ...given)
    expect([command, wrong, code > 0]).toEqual([command, wrong, true])
    answers.push([command, err.replace('forumd: ', '').trim(), answer.message ?? answer.error])
  }

  for (const [command, typed, answered] of answers)
    expect([command, typed]).toEqual([command, answered])
  expect(answers.length).toBeGreaterThan(8)
})

test('a command whose daemon hangs up changes nothing by itself', async () => {
  const own = mkdtempSync(join(dir, 'hung-'))
  const file = join(own, 'forumd.toml')
  const text = (await Bun.file(config).text()).replace(`${dir}/data`, `${own}/data`)
  await Bun.write(file, text)
  const { around, said } = surroundings()
  expect(await run(['customer', 'create', 'ann', '--config', file], around)).toBe(0)
  const { promise: received, resolve } = Promise.withResolvers<void>()
  using listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        resolve()
        socket.terminate()
      },
    },
  })
  await Bun.write(join(own, 'data/forumd.address'), `http://127.0.0.1:${listener.port}`)
  await Bun.write(join(own, 'data/command.key'), 'fk_none')

  const code = await run(['customer', 'create', 'bob', '--config', file], around)
  await received
  listener.stop(true)
  await run(['customer', 'list', '--json', '--config', file], around)

  expect(code).toBe(1)
  expect(said.err).toContain('closed the connection before it answered')
  expect(said.out).not.toContain('bob')
})

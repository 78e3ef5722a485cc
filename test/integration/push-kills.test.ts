// Goal: a daemon that is killed between sending and recording repeats a message so that ntfy replaces it, Matrix drops it, and
// an MQTT subscriber sees the same id. Method: the program, a source, and services that keep their answers back until the kill.
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { MOSQUITTO, startMosquitto, startRelay, TOPIC, USER } from '../support/mosquitto.ts'
import { runForumd, startProcess } from '../support/process.ts'
import { type Push, startPushServices, TOKENS } from '../support/push-services.ts'

const WAIT_MAX_MS = 20_000
const KINDS = Object.keys(TOKENS) as Push[]

async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT_MAX_MS; Date.now() < end && !(await met());)
    await Bun.sleep(20)
}

test.skipIf(MOSQUITTO === null && !process.env['CI'])(
  'SIGKILL between sending and recording',
  async () => {
    await using platform = await startKind('hackernews', {
      port: 0,
      seed: 7,
      speed: 0,
      now: Date.now,
    })
    await using services = await startPushServices({ plain: true })
    using folder = tempFolder()
    await using broker = await startMosquitto(folder)
    using relay = await startRelay(broker.plain)
    const config = folder.file('forumd.toml')
    writeFileSync(
      config,
      `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
platform = { base_url = "http://127.0.0.1:1", session_cookie = "s" }
billing = { enabled = false }
guard = { allow_targets = ["127.0.0.1"], allow_http = true }
[plans.entry]
cadence_s = 1
[[source]]
name = "s"
kind = "hackernews"
base_url = "${platform.url}"
requests_per_minute = 6000
`,
    )
    const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const first = await startProcess(config)
    const calling =
      (at: { url: string }) =>
      async (path: string, body?: object): Promise<any> =>
        (
          await fetch(`${at.url}/forum/monitor/${path}`, {
            headers,
            ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
          })
        ).json()
    const call = calling(first)
    for (const kind of KINDS)
      await call('webhook/create', { kind, url: services.urls[kind], token: TOKENS[kind] })
    const url = `mqtt://127.0.0.1:${relay.port}/${TOPIC}`
    const made = await call('webhook/create', { kind: 'mqtt', url, ...USER })
    expect(made).toMatchObject({ kind: 'mqtt', has_credentials: true })
    const { id } = await call('add', { filter_spec: { source: 's', include_any: ['kettle'] } })
    await until(async () => (await call(`health?id=${id}`)).coverage_24h.audited_until !== null)

    services.hold()
    relay.keepAcknowledgements(true)
    await fetch(`${platform.url}/__sandbox/post`, {
      method: 'POST',
      body: JSON.stringify({ title: 'A kettle for sale', text: 'A text that is long enough.' }),
    })
    await until(() => services.held() === KINDS.length && relay.held() === 1)
    expect([services.held(), relay.held()]).toEqual([KINDS.length, 1])
    await first.end('SIGKILL')
    services.release()
    relay.keepAcknowledgements(false)
    const second = await startProcess(config)
    const delivered = async () =>
      (await calling(second)('deliveries')).deliveries.map((it: { status: string }) => it.status)
    await until(async () => (await delivered()).every((status: string) => status === 'delivered'))

    expect(await delivered()).toEqual(Array(KINDS.length + 1).fill('delivered'))
    const times = Object.fromEntries(KINDS.map((kind) => [kind, services.shown(kind).length]))
    expect(times).toEqual({ ntfy: 1, matrix: 1, telegram: 2, gotify: 2 })
    for (const kind of KINDS) expect(services.requests[kind]).toHaveLength(2)
    const [one, two, ...more] = relay.published
    expect(more).toEqual([])
    expect(two).toEqual({ ...one, dup: true } as never)
    expect(JSON.parse(two?.payload ?? '')).toMatchObject({
      delivery_id: expect.stringMatching(/^dlv_/),
      items: [{ title: 'A kettle for sale' }],
    })
    const secrets = [...Object.values(TOKENS), USER.token]
    const logged = [...first.lines, ...second.lines].join('\n')
    for (const secret of secrets) expect(logged).not.toContain(secret)
    await second.end('SIGTERM')
  },
  60_000,
)

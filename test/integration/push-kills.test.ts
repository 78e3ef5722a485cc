// Goal: a daemon that is killed between sending and recording repeats a message so that ntfy replaces it, Matrix drops it, and
// an MQTT subscriber sees the same id. Method: the program, a source, and services that keep their answers back until the kill.
import { expect, test } from 'bun:test'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { MOSQUITTO, startMosquitto, startRelay, TOPIC, USER } from '../support/mosquitto.ts'
import { type Push, startPushServices, TOKENS } from '../support/push-services.ts'
import { startSourceProgram, untilMet } from '../support/source-program.ts'

const KINDS = Object.keys(TOKENS) as Push[]

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
    using program = await startSourceProgram({
      kind: 'hackernews',
      url: platform.url,
      more: 'guard = { allow_targets = ["127.0.0.1"], allow_http = true }',
    })
    const { call } = program
    for (const kind of KINDS)
      await call('webhook/create', { kind, url: services.urls[kind], token: TOKENS[kind] })
    const url = `mqtt://127.0.0.1:${relay.port}/${TOPIC}`
    const made = await call('webhook/create', { kind: 'mqtt', url, ...USER })
    expect(made).toMatchObject({ kind: 'mqtt', has_credentials: true })
    const { id } = await call('add', { filter_spec: { source: 's', include_any: ['kettle'] } })
    await untilMet(async () => (await call(`health?id=${id}`)).coverage_24h.audited_until !== null)

    services.hold()
    relay.keepAcknowledgements(true)
    await fetch(`${platform.url}/__sandbox/post`, {
      method: 'POST',
      body: JSON.stringify({ title: 'A kettle for sale', text: 'A text that is long enough.' }),
    })
    await untilMet(() => services.held() === KINDS.length && relay.held() === 1)
    expect([services.held(), relay.held()]).toEqual([KINDS.length, 1])
    await program.end('SIGKILL')
    services.release()
    relay.keepAcknowledgements(false)
    await program.startAgain()
    const delivered = async () =>
      (await call('deliveries')).deliveries.map((it: { status: string }) => it.status)
    await untilMet(async () =>
      (await delivered()).every((status: string) => status === 'delivered'),
    )

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
    for (const secret of secrets) expect(program.logged()).not.toContain(secret)
    await program.end('SIGTERM')
  },
  60_000,
)

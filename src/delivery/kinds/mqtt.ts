import { dialable } from '../../core/delivery/target.ts'
import { decoded, type Kind } from './kind.ts'

export const mqtt: Kind = {
  name: 'mqtt',
  label: 'MQTT',
  example_url: 'mqtts://broker.example.com:8883/topic',
  note: 'without wildcards',
  schemes: ['mqtt:', 'mqtts:'],
  infers: /^mqtts?:/,
  credential: { label: 'Password', hint: 'Empty for a broker without users.', with_username: true },
  takes_events: true,
  check(url) {
    const topic = decoded(url.pathname.slice(1))
    // oxlint-disable-next-line no-control-regex -- a topic must not contain U+0000 (MQTT-1.5.4-2)
    if (topic === null || topic === '' || /[+#\x00]/.test(topic) || url.search !== '') return null
    const [username, token] = [decoded(url.username), decoded(url.password)]
    if (username === null || token === null) return null
    url.username = ''
    url.password = ''
    return { url: url.href, ...(username && { username }), ...(token && { token }) }
  },
  async send({ to, id, body, credentials, attempts, interrupted }, { publish, redact }) {
    const address = dialable(to.url)
    const outcome = await publish({
      address,
      topic: decodeURIComponent(new URL(address).pathname.slice(1)),
      payload: body,
      username: credentials?.username ?? null,
      password: credentials?.token ?? null,
      id,
      tried: attempts,
      repeated: attempts + interrupted > 0,
    })
    if (outcome.kind === 'failed') return { attempt: outcome, excerpt: null }
    const { answer, ...attempt } = outcome
    return { attempt, excerpt: { headers: {}, body_start: redact(answer) } }
  },
  verdict: {
    hints: {
      mqtt_134: 'the broker does not accept the user and the password',
      mqtt_135: 'the broker does not let this user connect, or publish to this topic',
      mqtt_144: 'the broker does not accept the name of the topic',
      mqtt_149: 'the message is larger than the broker accepts; raise its limit to 256 KiB',
    },
  },
}

import { type Dashboard, MINUTE } from './dashboard-fixture.ts'

/** Fills the daemon with data of an established customer: deliveries in every state, a gap. */
export async function fillWorld({ daemon }: Dashboard) {
  const { sandbox, receiver, clock, send } = daemon
  const create = async (path: string, body: object) => {
    const answer = await send(path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  sandbox.post({ subforum: 'cheese', title: 'An old gouda' })
  const old = sandbox.post({
    subforum: 'bread',
    title: 'An old loaf',
    text: 'Sourdough from last week.',
  })
  await clock.advance(MINUTE)
  const hook = await create('/forum/monitor/webhook/create', { url: receiver.url })
  await create('/forum/monitor/webhook/update', { id: hook.id, name: 'The bakery' })
  const monitor = await create('/forum/monitor/add', {
    name: 'Sourdough',
    filter_spec: { subforum: ['bread'], include_any: ['sourdough', 'rye'] },
  })
  const other = await create('/forum/monitor/add', {
    filter_spec: { subforum: 'cheese', include_any: ['gouda'] },
  })
  await clock.advance(2 * MINUTE)
  for (const title of [
    'Is sourdough worth it?',
    'Rye: best flour for beginners',
    'My first rye loaf',
  ])
    sandbox.post({
      subforum: 'bread',
      title,
      author: 'baker_one',
      text: 'I love this bread. Does anybody have a good recipe for sourdough?',
    })
  await clock.advance(2 * MINUTE)
  // A delivery that fails permanently, and an item that is first seen when it is stale.
  receiver.answers.push(...Array.from({ length: 6 }, () => ({ status: 503, body: 'oven is cold' })))
  sandbox.post({ subforum: 'bread', title: 'Sourdough that never arrives' })
  await clock.advance(2 * MINUTE)
  sandbox.addFault({ path: '/r/', fault: '5xx', status: 503 })
  sandbox.post({ subforum: 'bread', title: 'Sourdough from the outage' })
  await clock.advance(5 * MINUTE)
  sandbox.clearFaults()
  await clock.advance(4 * MINUTE)
  await daemon.call('/api/forum/posts?subforum=bread&limit=5')
  await daemon.call('/api/forum/search?q=rye')
  await create('/drafts', {
    action: 'comment',
    body: { post_url: sandbox.url + old.permalink, text: 'Thanks for the recipe!\nIt worked.' },
  })
  return { monitor, other, hook }
}

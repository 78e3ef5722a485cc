// Goal: the simulated Lemmy matches recorded answers of both API generations. Every field it sends was recorded with the same
// type, and every field that all recorded objects of its kind have is sent.
import { LEMMY } from '../../sandbox/lemmy/kind.ts'
import type { SourceSandbox } from '../../sandbox/sources/start.ts'
import {
  compareShapes,
  fieldsOf,
  rowsOf,
  type Sampled,
  type ShapedRoute,
  without,
} from './source-shapes.ts'

const rows = (kind: string) => (body: unknown) => [
  { kind: `${kind} list`, value: without(body, 'items', 'comments') },
  ...rowsOf(fieldsOf(body)['items'] ?? fieldsOf(body)['comments']).map((value) => ({
    kind,
    value,
  })),
]

const ROUTES: readonly ShapedRoute[] = [
  { endpoint: /v4\/post\/list/, objects: rows('v4 post') },
  { endpoint: /v4\/comment\/list/, objects: rows('v4 comment') },
  { endpoint: /v3\/comment\/list/, objects: rows('v3 comment') },
  {
    endpoint: /v4\/account\/notification/,
    objects: (body) =>
      rowsOf(fieldsOf(body)['items']).map((value) => {
        const { type_ } = fieldsOf(fieldsOf(value)['data'])
        return { kind: `notification of a ${String(type_)}`, value }
      }),
  },
  { endpoint: /v4\/person/, objects: (value) => [{ kind: 'person', value }] },
]

/** Optional in the types of the official client, or depend on the object; also what a signed-in reader alone gets. */
const OPTIONAL =
  /\.(url|body|embed_title|display_name|avatar|banner|bio|sidebar|updated_at|\w+_actions|url_content_type|next_page|prev_page)(\.|$)|\.saved_at$/

/** Optional fields that the recorded objects happen not to have. */
const UNRECORDED = [/\.(updated_at|updated|sidebar|description|body|bio): string$/]

async function sample(sandbox: SourceSandbox<ReturnType<typeof LEMMY.create>>): Promise<Sampled[]> {
  const { jwt } = sandbox.call('session', { username: 'ada_reads' }) as { jwt: string }
  const [post] = [...sandbox.world.posts.values()].filter(
    ({ creator }) => creator.name === 'ada_reads',
  )
  sandbox.call('comment', { post_id: post?.id, text: 'An answer', author: 'cedar_owl' })
  sandbox.call('message', { from: 'bruno_keeps', to: 'ada_reads', text: 'Hello' })
  const answers: Sampled[] = []
  const get = async (path: string, headers = {}) => {
    const response = await fetch(sandbox.url + path, { headers })
    answers.push({ endpoint: `GET ${path}`, body: response.ok ? await response.json() : null })
  }
  await get('/api/v3/comment/list?limit=50&sort=New')
  sandbox.call('site', { version: '1.0' })
  await get('/api/v4/post/list?limit=50&sort=new')
  await get('/api/v4/comment/list?limit=50&sort=new')
  await get('/api/v4/account/notification/list', { authorization: `Bearer ${jwt}` })
  await get('/api/v4/person?username=ada_reads')
  return answers
}

const KINDS = [
  'v4 post, v4 post list, v4 comment, v4 comment list, v3 comment, v3 comment list',
  'notification of a comment, notification of a private_message, person',
].flatMap((line) => line.split(', '))

await compareShapes({
  name: 'lemmy',
  kind: LEMMY,
  routes: ROUTES,
  sample,
  kinds: KINDS,
  unrecorded: UNRECORDED,
  optional: OPTIONAL,
  // PieFed.
  unserved: /api\/alpha/,
})

import type { SandboxResponse } from '../server/response.ts'
import { findRoute, type SourceRoutes } from '../sources/routes.ts'
import type { SimulatedKind } from '../sources/source.ts'
import { indexedUser, itemTree, searchItems, searchRateLimit } from './algolia.ts'
import { NEWS_CONTROLS } from './control.ts'
import {
  firebaseJson,
  itemShow,
  maxItem,
  type NewsCall,
  newsProfile,
  storyList,
  updates,
} from './firebase.ts'
import { createNewsWorld, type NewsWorld } from './model.ts'
import { addNewsEvent, seedNews } from './seed.ts'

/** Mean time between two events at speed 1; half of them are items. */
const MEAN_MS = 3_000

const ROUTES: SourceRoutes<NewsCall> = {
  'GET v0/item/#': itemShow,
  'GET v0/maxitem': maxItem,
  'GET v0/updates': updates,
  'GET v0/user/*': newsProfile,
  'GET v0/*': storyList,
  'GET api/v1/search': searchItems(false),
  'GET api/v1/search_by_date': searchItems(true),
  'GET api/v1/items/#': itemTree,
  'GET api/v1/users/*': indexedUser,
}

function respond(call: NewsCall): SandboxResponse {
  const { segments, method, world, fault } = call
  if (segments[0] === 'api') {
    const most = world.settings.search_per_hour
    const use = world.rates.take(call.address, most, 3600, call.now)
    if (!use.allowed || fault?.fault === 'rate_limit') return searchRateLimit()
  } else if (fault?.fault === 'rate_limit')
    return firebaseJson(call, { error: 'Too many requests' }, 429)
  const found = findRoute(ROUTES, method, segments)
  if (found !== null) return found.handler(call, ...found.parts)
  if (segments[0] === 'api') return { status: 404, headers: {}, body: '' }
  // A path that holds nothing is null; writes are refused.
  return method === 'GET' || method === 'HEAD'
    ? firebaseJson(call, null)
    : firebaseJson(call, { error: 'Permission denied' }, 401)
}

/** Site with one serial for all items, a database of them and a search index. */
export const HACKERNEWS: SimulatedKind<NewsWorld> = {
  create: createNewsWorld,
  seed: seedNews,
  mean_ms: MEAN_MS,
  addEvent: addNewsEvent,
  faults: ['null_item', 'delayed', 'search_limit'],
  respond,
  userOf: () => null,
  overview: (world) => ({
    accounts: [],
    settings: world.settings,
    counts: { users: world.users.size, items: world.items.size, maxitem: world.max_id },
  }),
  controls: NEWS_CONTROLS,
}

import * as z from 'zod'

import { hookAddress, integer, secret, sourceName, table } from '../../core/config/values.ts'
import { defineKind } from '../kind.ts'
import { createFeeds } from './adapter.ts'

const address = table({
  name: sourceName(),
  url: hookAddress(),
  interval_s: integer(0, 0, 86_400, 'seconds'),
  user: secret(),
  password: secret(),
})

export const feed = defineKind({
  kind: 'feed',
  title: 'Feeds of any site',
  words: ['rss', 'atom'],
  pace: 60,
  keys: {
    requests_per_minute: integer(0, 0, 6000),
    feeds: z
      .array(z.unknown(), { error: 'a list of feeds, each { name = "bikes", url = "https://…" }' })
      .max(200, 'at most 200 feeds')
      .prefault([])
      .pipe(z.array(address)),
  },
  address: 'https://forum.example.org/feed',
  docs: 'feeds',
  syntax: {
    place: 'the name of a feed',
    user: 'none',
    post: 'entry',
    comment: 'none',
    proof: 'overlap: each list has entries of the one before',
  },
  open: createFeeds,
})

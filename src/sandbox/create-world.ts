import type { Chance } from './chance.ts'
import type { Application, World } from './model.ts'

/** Every world knows one application, which may act for its users and for itself. */
const APPLICATION: Application = {
  client_id: 'sandbox-application',
  client_secret: 'nobody-needs-to-know-this',
}

/** A world with nothing in it but an application. */
export function createWorld(chance: Chance, now: () => number): World {
  return {
    chance,
    now,
    subforums: new Map(),
    users: new Map(),
    things: new Map(),
    sessions: new Map(),
    bearers: new Map(),
    grants: new Map(),
    applications: new Map([[APPLICATION.client_id, APPLICATION]]),
    messages: new Map(),
    rooms: new Map(),
    version: 0,
    next: {
      post: Number.parseInt('1lq4a02', 36),
      comment: Number.parseInt('n3k01ab', 36),
      user: Number.parseInt('kx3f2', 36),
      subforum: Number.parseInt('2xq81', 36),
      message: Number.parseInt('2q5k1c0', 36),
    },
  }
}

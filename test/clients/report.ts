import type { LoggedRequest } from '../../sandbox/server/request-log.ts'

/** Parameters of a client run. Paths are absolute. */
export type Plan = {
  /** Domain of the client's host names. */
  domain: string
  cert: string
  key: string
  /** `{thread}` is replaced by the id of the biggest thread. */
  command: string[]
  env: Record<string, string>
}

/** The parameters and output of a client, and the platform's state afterwards. */
export type Report = {
  code: number
  stdout: string
  stderr: string
  facts: {
    username: string
    password: string
    refresh_token: string
    client_id: string
    client_secret: string
    /** Ids of the posts of a busy subforum, newest first. */
    wire: string[]
    /** Number of these posts that an anonymous user sees. */
    wire_for_all: number
    /** URLs of the images in a subforum with images. */
    pictures: string[]
    /** Subforum and id of the biggest thread, and its number of visible comments. */
    place: string
    thread: string
    comments: number
    /** A locked post of that subforum. */
    locked: string
    moderators: string[]
    rules: string[]
    /** A user who accepts messages. */
    peer: string
    peer_karma: number
    peer_comments: number
    /** Fullnames, newest first. */
    saved: string[]
    subscribed: string[]
    blocked: string[]
  }
  requests: LoggedRequest[]
  after: {
    votes: Record<string, number>
    saved: string[]
    sent: { name: string; subject: string; text: string; parent: string | null }[]
    /** Messages sent during the run. */
    comments: {
      name: string
      text: string
      parent: string
      edited: boolean
      removed: string | null
    }[]
    subscribed: string[]
    unread: number
  }
}

import type { Entry } from '../../src/sandbox/journal.ts'

/** What a stage is to do. Paths are absolute. */
export type Plan = {
  /** Under which the client looks for its hosts. */
  domain: string
  cert: string
  key: string
  /** `{thread}` in it stands for the biggest thread's id. */
  command: string[]
  env: Record<string, string>
}

/** What a client was told, what it said, and what the platform saw and became of it. */
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
    /** Ids of the posts of a busy place, newest first. */
    wire: string[]
    /** How many of them nobody in particular sees. */
    wire_for_all: number
    /** Addresses of the pictures that a place of pictures shows. */
    pictures: string[]
    /** The place of the biggest thread, that thread's id, and how many comments it shows. */
    place: string
    thread: string
    comments: number
    /** A post of that place that takes no answers. */
    locked: string
    moderators: string[]
    rules: string[]
    /** Somebody who takes mail. */
    peer: string
    peer_karma: number
    peer_comments: number
    /** Fullnames, newest first. */
    saved: string[]
    subscribed: string[]
    blocked: string[]
  }
  requests: Entry[]
  after: {
    votes: Record<string, number>
    saved: string[]
    sent: { name: string; subject: string; text: string; parent: string | null }[]
    /** Those written during the story. */
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

import {
  bool,
  cookieName,
  hosts,
  inner,
  integer,
  table,
  webAddress,
} from '../../core/config/values.ts'
import { defineKind } from '../kind.ts'
import { openAnonymous } from './source.ts'

export const reddit = defineKind({
  kind: 'reddit',
  title: 'Reddit-style platform',
  pace: 30,
  keys: {
    session_cookie: cookieName(),
    api_url: webAddress(),
    token_url: webAddress(),
    chat_url: webAddress(),
    link_hosts: hosts(),
    short_link_hosts: hosts(),
    retries: integer(3, 0, 10),
    accounts: inner(
      table({
        allow_anonymous: bool(true),
        session_requests_per_minute: integer(30, 1, 60_000),
        oauth_requests_per_minute: integer(60, 1, 60_000),
      }),
    ),
  },
  address: 'https://www.forum.example',
  asks: ['session_cookie'],
  docs: 'a-reddit-style-platform',
  syntax: {
    place: 'a name',
    user: 'a name',
    post: 'post',
    comment: 'comment',
    proof: 'polls and audits of listings',
  },
  open: openAnonymous,
})

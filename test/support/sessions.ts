import type { Sandbox } from '../../sandbox/server/sandbox.ts'

/** Headers of a session at the sandbox, with the configured wire names. */
export function signedIn(sandbox: Sandbox, username: string): Record<string, string> {
  const { cookies } = sandbox.session({ username })
  return {
    'x-forum-session': cookies[sandbox.session_cookie] ?? '',
    'x-forum-loid': cookies['loid'] ?? '',
  }
}

/** Headers of a session that the platform does not know. */
export const fake_session = { 'x-forum-session': 'made-up', 'x-forum-loid': 'made-up' }

import type { Sandbox } from '../../src/sandbox/sandbox.ts'

/** The headers of somebody's session at the sandbox, in the words of the wire. */
export function signedIn(sandbox: Sandbox, username: string): Record<string, string> {
  const { cookies } = sandbox.session({ username })
  return {
    'x-forum-session': cookies[sandbox.session_cookie] ?? '',
    'x-forum-loid': cookies['loid'] ?? '',
  }
}

/** Of a session that the platform never knew. */
export const made_up = { 'x-forum-session': 'made-up', 'x-forum-loid': 'made-up' }

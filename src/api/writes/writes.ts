import type { AnyElysia } from 'elysia'

import type { SignedIn, SignIn } from '../../gateway/act-login.ts'
import type { Acting } from '../../gateway/act.ts'
import type { Infra } from '../infra.ts'
import { comments } from './comments.ts'
import { createWriteDesk, type WritesOptions } from './desk.ts'
import { login } from './login.ts'
import { messages } from './messages.ts'
import type { LoadPicture } from './pictures.ts'
import { profile } from './profile.ts'
import { votes } from './votes.ts'

/** What can be done for a caller. */
export type Deeds = {
  acting: Acting
  signIn: (ask: SignIn) => Promise<SignedIn>
  /** Fetches a picture that a caller named by its address, past the guard. */
  loadPicture: LoadPicture
}

/** The routes of everything that is done as an account of the caller's own. */
export function writes(infra: Infra, deeds: Deeds, options: WritesOptions): AnyElysia[] {
  const desk = createWriteDesk(infra, options)
  return [
    login(desk, deeds.signIn),
    comments(desk, deeds.acting),
    votes(desk, deeds.acting),
    messages(desk, deeds.acting),
    profile(desk, deeds.acting, deeds.loadPicture),
  ]
}

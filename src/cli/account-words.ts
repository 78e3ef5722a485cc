import type { Finding, StateReason } from '../core/pool.ts'
import { UsageError } from './command.ts'

/** A name for an account or a way out. Throws UsageError. */
export function parsePoolName(text: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(text)) return text
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 80))} is no name here: allowed are 1 to 64 letters, digits, dots, _ and -, a letter or digit first`,
  )
}

/** Why a sign-in came to nothing, and what helps. */
const SIGN_IN_ENDS: Readonly<Partial<Record<StateReason, string>>> = {
  wrong_credentials: 'the platform does not accept this username and password',
  second_factor_required: 'the account has a second factor: give its secret with --totp-file',
  second_factor_refused:
    'the platform does not accept the code of the second factor: check the secret and the clock',
  human_check:
    'the platform wants to see a person: sign in with your own browser, export its cookies, and give them with --jar',
  token_refused: 'the platform does not accept this application or its refresh token',
}

const UNREADABLE = 'the platform gave no readable answer: try again later'

/** A sentence for how a sign-in ended. */
export const explainSignIn = (reason: StateReason | null): string =>
  (reason && SIGN_IN_ENDS[reason]) ?? UNREADABLE

/** What a test says of an account, in a word, and what it means. */
export const VERDICTS: Readonly<Record<Finding['kind'], { word: string; means: string }>> = {
  alive: { word: 'alive', means: '' },
  nobody: {
    word: 'dead',
    means: 'the platform takes its session for nobody: forumd account login',
  },
  suspended: { word: 'suspended', means: 'the platform has suspended it' },
  locked: { word: 'locked', means: 'the platform wants a new password for it' },
  blocked: {
    word: 'blocked',
    means: 'a block page: its session or this address is not let in; try another way out',
  },
  throttled: { word: 'throttled', means: 'the platform wants to be left alone for a while' },
  unclear: { word: 'unclear', means: UNREADABLE },
}

import { IDEMPOTENCY_HOURS, IDEMPOTENCY_NAME_MAX } from '../../core/idempotency.ts'
import type { Words } from '../../core/wire.ts'
import type { Policy } from '../policy.ts'

// What the document tells of the writes beside their schemas.

/** Whether a call may be given a name, so that a repeat of it changes nothing. */
export const isNamed = ({ feature }: Policy): boolean => feature !== null && feature !== 'login'

/** The header that names a call. */
export const NAMING_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: `Names this call, for this key and route: a repeat within ${IDEMPOTENCY_HOURS} hours gets the first answer and changes nothing.`,
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_NAME_MAX },
}

/** What goes into a body's `meta` to show one: a session and these fields. */
export const exampleBody = (words: Words, fields: object) => ({
  examples: [
    { [words.session]: 'eyJhbGciOi…', loid: '0000000000000abc12.2.1600000000000', ...fields },
  ],
})

import { useState } from 'preact/hooks'

import { useCurrentUser } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import type { DeliveryRequest } from '../lib/types.ts'
import { Copyable } from './base/copyable.tsx'
import { ErrorNotice, Skeleton } from './base/notice.tsx'
import { Time } from './base/time.tsx'

/** Headers of each attempt, and the request as a command, for a receiver that refuses a signature. Read when it is opened. */
export function RequestView({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const [open, setOpen] = useState(false)
  const { value, failure, again } = useQuery<DeliveryRequest>(
    open ? `${monitor_path}/deliveries/request?delivery_id=${encodeURIComponent(id)}` : null,
  )
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Request headers and curl</summary>
      <ErrorNotice failure={failure} again={again} />
      {open && value === undefined && failure === null && <Skeleton rows={3} />}
      {value && (
        <>
          {value.attempts.map(({ n, headers }) => (
            <section key={n} aria-label={`Request of attempt ${n}`}>
              <h3>Attempt {n}</h3>
              <pre tabIndex={0}>{inLines(value.url, headers)}</pre>
            </section>
          ))}
          <h3>Send it by hand</h3>
          <p class="quiet">
            Signed <Time at={value.signed_at} />. Receivers that check the timestamp accept it for 5
            minutes.
          </p>
          <Copyable text={toCurl(value)} label="Request as curl" />
          <button type="button" class="small" onClick={again}>
            Sign again
          </button>
        </>
      )}
    </details>
  )
}

const inLines = (url: string, headers: DeliveryRequest['attempts'][number]['headers']): string =>
  [
    `POST ${url}`,
    ...Object.entries(headers).map(
      ([name, value]) => `${name}: ${value ?? '(by a secret that was rotated since)'}`,
    ),
  ].join('\n')

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

const toCurl = ({ url, headers, body }: DeliveryRequest): string =>
  [
    'curl',
    '-X POST',
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-raw ${quoted(body)}`,
    quoted(url),
  ].join(' ')

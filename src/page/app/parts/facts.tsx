import type { ComponentChildren } from 'preact'

/** Names and what they stand for, one under the other. Rows of null are left out. */
export const Facts = ({
  rows,
}: {
  rows: readonly (readonly [string, ComponentChildren] | null)[]
}) => (
  <dl class="facts-list">
    {rows.map(
      (row) =>
        row && (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
)

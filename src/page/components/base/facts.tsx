import type { ComponentChildren } from 'preact'

/** A list of names and values. null rows are omitted. */
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

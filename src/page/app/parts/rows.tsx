import type { ComponentChildren } from 'preact'

type Column<T> = {
  title: string
  cell: (row: T) => ComponentChildren
  /** Figures stand under each other; the main column leads a card on the phone. */
  kind?: 'figure' | 'main' | 'actions'
}

type RowsProps<T> = {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
}

/** A table that becomes cards on a narrow screen. The roles are said, because the cards' layout would take them away. */
export function Rows<T>({ caption, columns, rows, keyOf }: RowsProps<T>) {
  return (
    <table class="rows" role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind }) => (
            <th key={title} role="columnheader" scope="col" class={kind}>
              {kind === 'actions' ? <span class="unseen">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ title, cell, kind }) => (
              <td key={title} role="cell" class={kind} data-title={title}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

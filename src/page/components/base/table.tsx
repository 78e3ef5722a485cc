import type { ComponentChildren } from 'preact'

import { Icon } from './icon.tsx'

type Column<T> = {
  title: string
  cell: (row: T) => ComponentChildren
  /**
   * `figure`: right-aligned. `main`: the heading of the card on a narrow screen. `name`: wide enough for a word.
   * `state`: wide enough for a badge and its reason.
   */
  kind?: 'figure' | 'main' | 'name' | 'state' | 'actions'
}

type DataTableProps<T> = {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
}

/** A table that becomes cards on a narrow screen. Explicit roles, because the card layout removes the implicit ones. */
export function DataTable<T>({ caption, columns, rows, keyOf }: DataTableProps<T>) {
  return (
    <table class="rows" role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind }) => (
            <th key={title} role="columnheader" scope="col" class={classOf(kind)}>
              {kind === 'actions' ? <span class="unseen">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ title, cell, kind }) => (
              <td key={title} role="cell" class={classOf(kind)} data-title={title}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The class `actions` is that of a row of buttons, which is no table cell. */
const classOf = (kind: Column<unknown>['kind']) => (kind === 'actions' ? undefined : kind)

type SearchBoxProps = { label: string; value: string; change: (value: string) => void }

/** The search field of a page; the key `/` focuses it. */
export const SearchBox = ({ label, value, change }: SearchBoxProps) => (
  <div class="search">
    <Icon name="search" />
    <input
      type="search"
      aria-label={label}
      placeholder={`${label}  ( / )`}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  </div>
)

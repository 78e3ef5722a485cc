/**
 * SQL for these columns of the deliveries that wait or are on their way, as a table. Two indexes know them, one of each;
 * asked for by their status alone they would be looked for among all that there ever were.
 */
export const pendingDeliveries = (columns: string): string =>
  `(SELECT ${columns} FROM deliveries INDEXED BY deliveries_due WHERE status = 'pending' AND lease IS NULL
    UNION ALL SELECT ${columns} FROM deliveries INDEXED BY deliveries_leased WHERE lease IS NOT NULL)`

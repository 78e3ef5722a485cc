import { Page } from '../parts/page.tsx'
import { Link, pathOf } from '../route.tsx'

/** An address that leads to no page. */
export const Nowhere = () => (
  <Page title="There is no such page">
    <p>
      The address may be mistyped, or the page is for another kind of key.{' '}
      <Link to={pathOf()}>Go to the overview</Link>
    </p>
  </Page>
)

import { type ComponentType, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ErrorNotice, Notice, Skeleton } from './components/base/notice.tsx'
import { Frame, PageLayout } from './components/layout.tsx'
import { NotFound } from './components/not-found.tsx'
import { CurrentUser, LiveNow, useLiveConnection } from './hooks/contexts.ts'
import { callApi, clearCache, type Failure, onSessionEnd, requestSession } from './lib/api.ts'
import { dashboardPath, go, takeSignInLink, useRoute } from './lib/route.tsx'
import type { UserSession } from './lib/types.ts'
import { Deliveries } from './pages/deliveries.tsx'
import { DeliveryPage } from './pages/delivery.tsx'
import { Drafts } from './pages/drafts.tsx'
import { MonitorEdit, MonitorNew } from './pages/monitors/form.tsx'
import { MonitorPage } from './pages/monitors/monitor.tsx'
import { Monitors } from './pages/monitors/monitors.tsx'
import { Overview } from './pages/overview.tsx'
import { SignInLinkPage, SignInPage } from './pages/sign-in.tsx'
import { UsagePage } from './pages/usage.tsx'

// Pages that only some visits need are loaded with the first of these.
const Inbox = lazyPage('Inbox', async () => (await import('./pages/inbox/inbox.tsx')).Inbox)
const Webhooks = lazyPage(
  'Webhooks',
  async () => (await import('./pages/webhooks/webhooks.tsx')).Webhooks,
)
const WebhookPage = lazyPage(
  'Webhook',
  async () => (await import('./pages/webhooks/webhook.tsx')).WebhookPage,
)
const AccountPage = lazyPage(
  'Account',
  async () => (await import('./pages/account.tsx')).AccountPage,
)
const OperatorPages = lazyPage(
  'Dashboard',
  async () => (await import('./pages/operator/pages.tsx')).OperatorPages,
)

type State =
  | { at: 'looking' }
  | { at: 'link'; token: string }
  | { at: 'out'; ended: boolean; refused?: Failure | null }
  | { at: 'in'; user: UserSession }
  | { at: 'lost'; failure: Failure }

function App() {
  const [state, setState] = useState<State>({ at: 'looking' })

  function enter(user: UserSession) {
    if (location.pathname === dashboardPath('sign-in')) go(dashboardPath(), { replace: true })
    setState({ at: 'in', user })
  }

  /** As another user perhaps, who must not see responses of the one before. */
  function enterByLink(user: UserSession) {
    clearCache()
    enter(user)
  }

  /** Goes on without the link: as the signed-in user, or to the form. */
  function dropLink(refused: Failure | null) {
    if (refused === null) void checkSession()
    else setState({ at: 'out', ended: false, refused })
  }

  async function checkSession() {
    const token = takeSignInLink()
    if (token !== null) return setState({ at: 'link', token })
    const answer = await requestSession<UserSession>()
    if (answer.ok) enter(answer.value)
    else if (answer.failure.status === 401) setState({ at: 'out', ended: false })
    else setState({ at: 'lost', failure: answer.failure })
  }

  useEffect(() => {
    onSessionEnd(() => {
      clearCache()
      setState({ at: 'out', ended: true })
    })
    void checkSession()
    // A link that is opened in this tab changes the fragment only.
    const changed = () => {
      const token = takeSignInLink()
      if (token !== null) setState({ at: 'link', token })
    }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])

  async function leave() {
    await requestSession({ method: 'DELETE' })
    clearCache()
    setState({ at: 'out', ended: false })
  }

  switch (state.at) {
    case 'looking':
      return (
        <main class="sign-in">
          <Skeleton rows={1} />
        </main>
      )
    case 'lost':
      return (
        <main class="sign-in">
          <ErrorNotice failure={state.failure} again={() => void checkSession()} />
        </main>
      )
    case 'link':
      return <SignInLinkPage token={state.token} onSignIn={enterByLink} onDrop={dropLink} />
    case 'out':
      return <SignInPage ended={state.ended} refused={state.refused ?? null} onSignIn={enter} />
    case 'in':
      return (
        <CurrentUser value={state.user}>
          <Dashboard role={state.user.role} leave={() => void leave()} />
        </CurrentUser>
      )
  }
}

function Dashboard({ role, leave }: { role: UserSession['role']; leave: () => void }) {
  const live = useLiveConnection()
  const [first] = useRoute().parts
  // A disconnect may mean that the session ended: any API call finds out.
  useEffect(() => {
    if (live.broken) void callApi(role === 'operator' ? '/operator/overview' : '/account/me')
  }, [live.broken, role])
  // The inbox is the home page of an owner.
  useEffect(() => {
    if (role === 'owner' && first === undefined) go(dashboardPath('inbox'), { replace: true })
  }, [role, first])
  return (
    <LiveNow value={live}>
      <Frame leave={leave}>
        {first === 'account' ? (
          <AccountPage />
        ) : role === 'operator' || (role === 'owner' && FOR_OPERATORS.has(first ?? '')) ? (
          <OperatorPages />
        ) : (
          <CustomerPages />
        )}
      </Frame>
    </LiveNow>
  )
}

/** Pages that an owner has from the operator. */
const FOR_OPERATORS: ReadonlySet<string> = new Set([
  'sources',
  'pool',
  'customers',
  'system',
  'audit',
])

function CustomerPages() {
  const { parts } = useRoute()
  const [first = '', second, third] = parts
  if (first === '') return <Overview />
  if (first === 'inbox') return <Inbox />
  if (first === 'monitors' && second === undefined) return <Monitors />
  if (first === 'monitors' && second === 'new') return <MonitorNew />
  if (first === 'monitors' && second !== undefined)
    return third === 'edit' ? <MonitorEdit id={second} /> : <MonitorPage id={second} />
  if (first === 'deliveries')
    return second === undefined ? <Deliveries /> : <DeliveryPage id={second} />
  if (first === 'webhooks')
    return second === undefined ? <Webhooks /> : <WebhookPage key={second} id={second} />
  if (first === 'usage') return <UsagePage />
  if (first === 'drafts') return <Drafts />
  return <NotFound />
}

const root = document.querySelector('#app')
if (root !== null) render(<App />, root)

/** A page whose code is loaded when it is shown first, so that the start of the others does not wait for it. */
function lazyPage<P extends object>(title: string, load: () => Promise<ComponentType<P>>) {
  let loaded: ComponentType<P> | null = null
  return function LazyPage(props: P) {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>(
      loaded === null ? 'loading' : 'loaded',
    )
    useEffect(() => {
      if (loaded !== null) return
      let gone = false
      const settle = (to: 'loaded' | 'failed') => {
        if (!gone) setState(to)
      }
      void load().then(
        (page) => {
          loaded = page
          settle('loaded')
        },
        () => settle('failed'),
      )
      return () => {
        gone = true
      }
    }, [])
    const Page = loaded
    if (state === 'loaded' && Page !== null) return <Page {...props} />
    if (state !== 'failed') return <Skeleton rows={5} />
    // After an upgrade the daemon has files of other names.
    return (
      <PageLayout title={title}>
        <Notice tone="bad">
          <p>This page could not be loaded. The daemon may have been upgraded or is away.</p>
          <button type="button" onClick={() => location.reload()}>
            Load again
          </button>
        </Notice>
      </PageLayout>
    )
  }
}

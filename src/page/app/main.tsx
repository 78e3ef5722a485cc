import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ask, type Failure, forgetAnswers, onSessionEnd, session } from './api.ts'
import { LiveNow, SignedIn, useLine } from './around.ts'
import { Frame } from './frame.tsx'
import type { Who } from './own-types.ts'
import { Customers } from './pages/customers.tsx'
import { Deliveries } from './pages/deliveries.tsx'
import { DeliveryPage } from './pages/delivery.tsx'
import { Drafts } from './pages/drafts.tsx'
import { FeedbackPage } from './pages/feedback.tsx'
import { House } from './pages/house.tsx'
import { MonitorEdit, MonitorNew } from './pages/monitor-form.tsx'
import { MonitorPage } from './pages/monitor.tsx'
import { Monitors } from './pages/monitors.tsx'
import { Nowhere } from './pages/nowhere.tsx'
import { Overview } from './pages/overview.tsx'
import { PoolPage } from './pages/pool.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { UsagePage } from './pages/usage.tsx'
import { Webhooks } from './pages/webhooks.tsx'
import { Trouble, Waiting } from './parts/notice.tsx'
import { usePlace } from './route.tsx'

type State =
  | { at: 'looking' }
  | { at: 'out'; ended: boolean }
  | { at: 'in'; who: Who }
  | { at: 'lost'; failure: Failure }

function App() {
  const [state, setState] = useState<State>({ at: 'looking' })

  async function look() {
    const answer = await session<Who>()
    if (answer.ok) setState({ at: 'in', who: answer.value })
    else if (answer.failure.status === 401) setState({ at: 'out', ended: false })
    else setState({ at: 'lost', failure: answer.failure })
  }

  useEffect(() => {
    onSessionEnd(() => {
      forgetAnswers()
      setState({ at: 'out', ended: true })
    })
    void look()
  }, [])

  async function leave() {
    await session({ method: 'DELETE' })
    forgetAnswers()
    setState({ at: 'out', ended: false })
  }

  switch (state.at) {
    case 'looking':
      return (
        <main class="sign-in">
          <Waiting rows={1} />
        </main>
      )
    case 'lost':
      return (
        <main class="sign-in">
          <Trouble failure={state.failure} again={() => void look()} />
        </main>
      )
    case 'out':
      return <SignIn ended={state.ended} signedIn={(who) => setState({ at: 'in', who })} />
    case 'in':
      return (
        <SignedIn value={state.who}>
          <Inside role={state.who.role} leave={() => void leave()} />
        </SignedIn>
      )
  }
}

function Inside({ role, leave }: { role: Who['role']; leave: () => void }) {
  const live = useLine()
  // A line that breaks may mean that the session is over: any question tells.
  useEffect(() => {
    if (live.broken) void ask(role === 'operator' ? '/operator/overview' : '/account/me')
  }, [live.broken, role])
  return (
    <LiveNow value={live}>
      <Frame leave={leave}>{role === 'operator' ? <OperatorPages /> : <CustomerPages />}</Frame>
    </LiveNow>
  )
}

function CustomerPages() {
  const { parts } = usePlace()
  const [first = '', second, third] = parts
  if (first === '') return <Overview />
  if (first === 'monitors' && second === undefined) return <Monitors />
  if (first === 'monitors' && second === 'new') return <MonitorNew />
  if (first === 'monitors' && second !== undefined)
    return third === 'edit' ? <MonitorEdit id={second} /> : <MonitorPage id={second} />
  if (first === 'deliveries')
    return second === undefined ? <Deliveries /> : <DeliveryPage id={second} />
  if (first === 'webhooks') return <Webhooks />
  if (first === 'usage') return <UsagePage />
  if (first === 'drafts') return <Drafts />
  if (first === 'feedback') return <FeedbackPage />
  return <Nowhere />
}

function OperatorPages() {
  const [first = ''] = usePlace().parts
  if (first === '') return <House />
  if (first === 'pool') return <PoolPage />
  if (first === 'customers') return <Customers />
  if (first === 'drafts') return <Drafts />
  if (first === 'feedback') return <FeedbackPage />
  return <Nowhere />
}

const root = document.querySelector('#app')
if (root !== null) render(<App />, root)

import { escapeHtml } from './json.ts'

/** A person types a name and a password, then a code where one is wanted; the script asks as the modern page does. */
const SCRIPT = `
const WAY_IN = '/svc/shreddit/account/login'
const [first, second] = [document.getElementById('login'), document.getElementById('otp')]
const alerts = document.getElementById('alerts')
const field = (form, name) => form.elements.namedItem(name).value
const csrf_token = () => field(first, 'csrf_token')

function show(html) {
  alerts.innerHTML = html
  for (const alert of alerts.querySelectorAll('faceplate-alert'))
    alert.textContent = alert.getAttribute('message')
}

async function send(path, fields) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { accept: 'text/vnd.reddit.partial+html, application/json' },
    body: new URLSearchParams(fields),
  })
  const text = await answer.text()
  if (answer.status === 202) {
    first.hidden = true
    second.hidden = false
    second.elements.namedItem('appOtp').focus()
  } else if (answer.ok && !text.includes('faceplate-alert')) location.assign('/')
  else show(text.includes('faceplate-alert') ? text : '<faceplate-alert message="Something went wrong."></faceplate-alert>')
}

async function elsewhere(userIdentifier) {
  const answer = await fetch(WAY_IN + '/check_is_oidc_required', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userIdentifier, csrf_token: csrf_token() }),
  })
  return answer.ok && (await answer.json()).is_sso
}

const fields = () => ({
  username: field(first, 'username'),
  password: field(first, 'password'),
  csrf_token: csrf_token(),
})

first.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (await elsewhere(field(first, 'username')))
    return show('<faceplate-alert message="This account signs in with a third party."></faceplate-alert>')
  await send(WAY_IN, fields())
})
second.addEventListener('submit', async (event) => {
  event.preventDefault()
  await send(WAY_IN + '/otp', { ...fields(), appOtp: field(second, 'appOtp') })
})
`

/** `GET /login/`: a page with which a person signs in, in a real browser. Nothing on it comes from elsewhere. */
export const signInPage = (csrf_token: string): string =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Welcome to Reddit</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <h1>Log In</h1>
    <div id="alerts" role="alert"></div>
    <form id="login" method="post" action="/svc/shreddit/account/login">
      <label>Email or username <input name="username" autocomplete="username" required autofocus></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
      <input name="csrf_token" type="hidden" value="${escapeHtml(csrf_token)}">
      <button type="submit">Log In</button>
    </form>
    <form id="otp" hidden>
      <label>Verification code <input name="appOtp" inputmode="numeric" autocomplete="one-time-code" required></label>
      <button type="submit">Check code</button>
    </form>
    <script>${SCRIPT}</script>
  </body>
</html>
`

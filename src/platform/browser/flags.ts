/**
 * How Chromium is started. What is switched off is what it would say to third parties or do for a person at the
 * screen; nothing here hides that a program drives it, and `--enable-automation` says so.
 */
const FLAGS: readonly string[] = [
  '--headless=new',
  '--enable-automation',
  '--remote-debugging-pipe',
  // Silent towards everybody but the pages that are opened.
  '--disable-background-networking',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--component-updater=url-source=http://127.0.0.1:1/x,disable-background-downloads',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-field-trial-config',
  '--disable-quic',
  '--disable-sync',
  '--disable-search-engine-choice-screen',
  '--gaia-url=http://127.0.0.1:1',
  '--metrics-recording-only',
  '--no-first-run',
  '--no-default-browser-check',
  '--no-pings',
  '--disable-features=Translate,MediaRouter,OptimizationHints,NetworkTimeServiceQuerying,AcceptCHFrame,AutofillServerCommunication',
  // What has no way out of its own goes nowhere, and a call between pages does not tell our address beside its proxy.
  '--proxy-server=http://127.0.0.1:1',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Nobody looks at it, so nothing may be put off until somebody does.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-prompt-on-repost',
  '--hide-scrollbars',
  '--mute-audio',
  '--password-store=basic',
  '--use-mock-keychain',
  // A page that wants more dies, and not the machine.
  '--js-flags=--max-old-space-size=512',
]

/** The whole command line. `user_agent` null: Chromium's own. `believed`: a key's fingerprint. */
export const flagsOf = (start: {
  profile: string
  sandboxed: boolean
  user_agent: string | null
  believed: string | null
}): string[] => [
  ...FLAGS,
  `--user-data-dir=${start.profile}`,
  ...(start.sandboxed ? [] : ['--no-sandbox']),
  ...(start.user_agent === null ? [] : [`--user-agent=${start.user_agent}`]),
  ...(start.believed === null ? [] : [`--ignore-certificate-errors-spki-list=${start.believed}`]),
  'about:blank',
]

/**
 * What of our own environment Chromium gets. The rest may hold secrets, and proxies that are not ours to obey. Its
 * home is its profile, and what it writes for a while goes where it is started, so that nothing of it stays behind: it
 * makes a folder for a socket, which a killed one leaves. By its name that place could be too long for a socket.
 */
export function environmentOf(profile: string, ours: NodeJS.ProcessEnv): Record<string, string> {
  const kept = ['PATH', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH']
  const passed = kept.flatMap((name) => {
    const value = ours[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(passed), HOME: profile, TMPDIR: '.' }
}

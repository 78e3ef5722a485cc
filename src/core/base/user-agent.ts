/** Names in a User-Agent, the specific before those that other browsers send too. */
const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d{1,4})/],
  ['Opera', /\b(?:OPR|Opera)\/(\d{1,4})/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d{1,4})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d{1,4})/],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\/(\d{1,4})/],
  ['Safari', /\bVersion\/(\d{1,4})[.\d]* (?:Mobile\/\w+ )?Safari\//],
  ['curl', /^curl\/(\d{1,4})/],
] as const

const SYSTEMS = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
] as const

const READ_MAX = 512

/**
 * Names the browser and the system of a User-Agent header in a few words: `Firefox 128 on Linux`. Returns null if neither is
 * known; a text of the caller is never returned.
 */
export function browserName(user_agent: string | null): string | null {
  const text = (user_agent ?? '').slice(0, READ_MAX)
  const [browser] = BROWSERS.flatMap(([name, form]) => {
    const found = form.exec(text)
    return found === null ? [] : `${name} ${found[1]}`
  })
  const system = SYSTEMS.find(([, form]) => form.test(text))?.[0]
  if (browser === undefined) return system ?? null
  return system === undefined ? browser : `${browser} on ${system}`
}

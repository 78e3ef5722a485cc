import type { Row } from '../read.ts'

/** What the form calls otherwise than the page that shows what stands in it. */
const RENAMED: Readonly<Record<string, string>> = {
  default_set: 'allow_top',
  domain_css: 'css_on_cname',
  domain_sidebar: 'show_cname_sidebar',
  content_options: 'link_type',
  header_hover_text: 'header-title',
  language: 'lang',
  over_18: 'over_18',
  prev_description_id: 'prev_public_description_id',
  prev_public_description_id: 'prev_public_description_id',
  submit_link_label: 'submit_link_label',
  subreddit_type: 'type',
}
/** Which place it is has a name of its own in the form. */
const NOT_SETTINGS = new Set(['subreddit_id', 'sr', 'name'])

/**
 * All settings of a place as its form wants them. What is left out would fall back to a default; what has no value of its
 * own (null, a list, an object) is not in the form to begin with.
 */
export function settingsForm(place: string, settings: Row): Record<string, string> {
  const form: Record<string, string> = {}
  for (const [name, value] of Object.entries(settings)) {
    if (NOT_SETTINGS.has(name)) continue
    const text = asField(value)
    if (text !== null) form[RENAMED[name] ?? name] = text
  }
  return { ...form, sr: place }
}

function asField(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  // A box that is not ticked is not sent by a page; the form reads the word as well.
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return null
}

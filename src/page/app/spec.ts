// A filter_spec as a form, and back. What the form does not know of is kept as it is.

import type { FilterSpec, Who } from './types.ts'

/** What stands in the form: texts as they were typed, lists of what was ticked. */
export type Typed = { [field: string]: string | readonly string[] }

type Options = readonly (readonly [string, string])[]

export type FormField = {
  name: string
  label: string
  hint?: string
  /** `names`: between commas or spaces. `lines`: one a line. `flag`: any, yes or no. `label`: a text, or yes. */
  kind: 'names' | 'lines' | 'text' | 'number' | 'flag' | 'label' | 'one' | 'some'
  options?: Options
}

export type FormPart = { title: string; fields: FormField[] }

const asOptions = (...all: string[]): Options => all.map((it) => [it, it.replaceAll('_', ' ')])

/** The form, in the words that this daemon's interface uses. */
export function formParts({ communities, community }: Who['words']): FormPart[] {
  return [
    {
      title: 'Where',
      fields: [
        {
          name: community,
          label: capital(communities),
          hint: `Names, between commas or spaces. Empty: the whole platform, posts only.`,
          kind: 'names',
        },
        {
          name: 'kind',
          label: 'Watch',
          kind: 'one',
          options: [
            ['', 'posts; under chosen threads, comments'],
            ['post', 'posts'],
            ['comment', 'comments'],
            ['both', 'posts and comments'],
          ],
        },
      ],
    },
    {
      title: 'Words',
      fields: [
        {
          name: 'include_any',
          label: 'Any of these words or phrases',
          hint: 'One a line. One of them is enough.',
          kind: 'lines',
        },
        { name: 'include_all', label: 'All of these', hint: 'One a line.', kind: 'lines' },
        {
          name: 'exclude_terms',
          label: 'None of these',
          hint: 'One a line. Exclusions win.',
          kind: 'lines',
        },
        {
          name: 'q',
          label: 'Query',
          hint: 'For instance ("rate limit" OR throttl*) AND -hiring title:bun',
          kind: 'text',
        },
      ],
    },
  ]
}

/** What is asked for less often; folded away at first. */
export function moreParts({ community, communities }: Who['words']): FormPart[] {
  return [
    {
      title: 'How words are looked for',
      fields: [
        {
          name: 'search_in',
          label: 'Look in',
          hint: 'None ticked: title, body and url.',
          kind: 'some',
          options: asOptions('title', 'body', 'url', 'permalink', 'flair', 'author'),
        },
        {
          name: 'match',
          label: 'Match',
          kind: 'one',
          options: [
            ['', 'whole words (as usual)'],
            ['word', 'whole words'],
            ['substring', 'parts of words too'],
          ],
        },
        { name: 'fold_accents', label: 'cafe finds café', kind: 'flag' },
        { name: 'case_sensitive', label: 'Capitals matter', kind: 'flag' },
        {
          name: 'regex',
          label: 'Patterns',
          hint: 'One a line, in the syntax of RE2; any of them.',
          kind: 'lines',
        },
        {
          name: 'language',
          label: 'Languages',
          hint: 'ISO 639-1 codes, such as en de.',
          kind: 'names',
        },
      ],
    },
    {
      title: 'Who and where',
      fields: [
        { name: 'author', label: 'By one of these authors', kind: 'names' },
        { name: 'exclude_authors', label: 'By none of these', kind: 'names' },
        {
          name: `exclude_${communities}`,
          label: `Not in these ${communities}`,
          hint: `Only without ${community}.`,
          kind: 'names',
        },
        {
          name: 'thread',
          label: 'Comments under these posts',
          hint: 'Ids of posts.',
          kind: 'names',
        },
        { name: 'domain', label: 'Leads to one of these hosts', kind: 'names' },
        { name: 'exclude_domains', label: 'Leads to none of these', kind: 'names' },
      ],
    },
    {
      title: 'What it is like',
      fields: [
        {
          name: 'post_type',
          label: 'Kind of post',
          kind: 'some',
          options: asOptions('self', 'link', 'image', 'video', 'gallery', 'crosspost'),
        },
        {
          name: 'intent',
          label: 'Intent',
          kind: 'some',
          options: asOptions(
            'question',
            'recommendation_request',
            'complaint',
            'promotion',
            'praise',
            'discussion',
          ),
        },
        {
          name: 'sentiment',
          label: 'Mood',
          kind: 'some',
          options: asOptions('positive', 'negative', 'mixed', 'neutral'),
        },
        { name: 'flair', label: 'Flair is one of', hint: 'One a line.', kind: 'lines' },
        { name: 'exclude_flair', label: 'Flair is none of', hint: 'One a line.', kind: 'lines' },
        { name: 'has_flair', label: 'Has a flair', kind: 'flag' },
        { name: 'nsfw', label: 'Adult content', kind: 'flag' },
        { name: 'min_score', label: 'Score at least', kind: 'number' },
        { name: 'min_comments', label: 'Comments at least', kind: 'number' },
        {
          name: 'min_relevance',
          label: 'Relevance at least',
          hint: '0 to 100; what is below is withheld.',
          kind: 'number',
        },
      ],
    },
    {
      title: 'How matches travel',
      fields: [
        {
          name: 'group',
          label: 'Bundle',
          hint: 'A label, or yes: the matches of one check travel together. Empty: each alone.',
          kind: 'label',
        },
        {
          name: 'group_window_s',
          label: 'Collect for (seconds)',
          hint: '0 to 3600.',
          kind: 'number',
        },
      ],
    },
  ]
}

/** What a spec looks like in the form. */
export function toTyped(spec: FilterSpec, fields: readonly FormField[]): Typed {
  return Object.fromEntries(fields.map((field) => [field.name, typedOf(field, spec[field.name])]))
}

function typedOf({ kind }: FormField, value: unknown): string | readonly string[] {
  const list = asTexts(value)
  if (kind === 'some') return list
  if (kind === 'names') return list.join(', ')
  if (kind === 'lines') return list.join('\n')
  if (kind === 'label' && typeof value === 'boolean') return value ? 'yes' : ''
  return list[0] ?? ''
}

/** The spec that a form says. `base` is the one it began with: what the form has no field for stays in it. */
export function toSpec(
  typed: Typed,
  fields: readonly FormField[],
  base: FilterSpec = {},
): FilterSpec {
  const spec: FilterSpec = Object.fromEntries(
    Object.entries(base).filter(([name]) => !fields.some((it) => it.name === name)),
  )
  for (const field of fields) {
    const value = valueOf(field, typed[field.name] ?? '')
    if (value !== undefined) spec[field.name] = value
  }
  return spec
}

function valueOf({ kind }: FormField, typed: string | readonly string[]): unknown {
  if (typeof typed !== 'string') return typed.length > 0 ? typed : undefined
  const text = typed.trim()
  if (text === '') return undefined
  switch (kind) {
    case 'names':
      return text.split(/[\s,]+/).filter((it) => it !== '')
    case 'lines':
      return typed
        .split('\n')
        .map((it) => it.trim())
        .filter((it) => it !== '')
    case 'flag':
      return text === 'true'
    case 'label':
      return /^(?:yes|true)$/i.test(text) ? true : text
    case 'number':
      // What is no number goes as it is: the API says what is allowed.
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
    case 'text':
    case 'one':
    case 'some':
      return text
  }
}

/** The form's field that an error of the API is about: `filter_spec.include_any[2]` is `include_any`. */
export function fieldOf(named: string | null): string | null {
  return named?.replace(/^filter_spec\./, '').replace(/[.[].*$/, '') ?? null
}

/** A spec in one line, for a list. */
export function inShort(spec: FilterSpec, { community }: Who['words']): string {
  const words = [
    ...asTexts(spec['q']),
    ...asTexts(spec['include_any']),
    ...asTexts(spec['include_all']),
  ]
  const places = asTexts(spec[community])
  const about =
    words.length > 0 ? words.slice(0, 4).join(', ') + (words.length > 4 ? ' …' : '') : 'everything'
  const where = [
    ...(places.length > 0
      ? [`in ${places.slice(0, 3).join(', ')}${places.length > 3 ? ' …' : ''}`]
      : []),
    ...(spec['author'] === undefined
      ? []
      : [`by ${asTexts(spec['author']).slice(0, 3).join(', ')}`]),
    ...(spec['thread'] === undefined ? [] : ['in chosen threads']),
  ]
  return `${about} ${where.length > 0 ? where.join(' ') : 'on the whole platform'}`
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** One entry, several or none, as texts. */
const asTexts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((it: unknown) =>
    typeof it === 'string'
      ? it
      : typeof it === 'number' || typeof it === 'boolean'
        ? String(it)
        : [],
  )

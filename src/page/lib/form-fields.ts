// The fields of the filter form as data.

import type { UserSession } from './types.ts'

type Options = readonly (readonly [string, string])[]

export type FormField = {
  name: string
  label: string
  hint?: string
  /** The default, as the empty field shows it. */
  fallback?: string
  /** `names`: separated by commas or spaces. `lines`: one per line. `flag`: default, yes or no. `label`: text or yes. */
  kind: 'names' | 'lines' | 'text' | 'number' | 'flag' | 'label' | 'one' | 'some'
  options?: Options
}

export type FormPart = { title: string; fields: FormField[] }

const asOptions = (...all: string[]): Options => all.map((it) => [it, it.replaceAll('_', ' ')])

/** The main part of the form, labelled with the terms of this daemon's API. */
export function formParts({ communities, community }: UserSession['words']): FormPart[] {
  return [
    {
      title: 'Where',
      fields: [
        { name: 'source', label: 'Sources', kind: 'names' },
        {
          name: community,
          fallback: 'the whole platform',
          label: capital(communities),
          hint: 'Names, separated by commas or spaces. The whole platform has posts only.',
          kind: 'names',
        },
        {
          name: 'kind',
          label: 'Items',
          hint: 'For chosen threads the default is comments.',
          kind: 'one',
          options: [
            ['', 'default: posts'],
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
          fallback: 'any text',
          label: 'Any of these words or phrases',
          hint: 'One per line. One of them is enough.',
          kind: 'lines',
        },
        {
          name: 'include_all',
          fallback: 'none',
          label: 'All of these',
          hint: 'One per line.',
          kind: 'lines',
        },
        {
          name: 'exclude_terms',
          fallback: 'none',
          label: 'None of these',
          hint: 'One per line. Exclusions take precedence.',
          kind: 'lines',
        },
        {
          name: 'q',
          fallback: 'none',
          label: 'Query',
          hint: 'Example: ("rate limit" OR throttl*) AND -hiring title:bun',
          kind: 'text',
        },
      ],
    },
  ]
}

export function moreParts({ community, communities }: UserSession['words']): FormPart[] {
  return [
    {
      title: 'Text matching',
      fields: [
        {
          name: 'search_in',
          label: 'Search in',
          hint: 'Default: title, body and url.',
          kind: 'some',
          options: asOptions('title', 'body', 'url', 'permalink', 'flair', 'author'),
        },
        {
          name: 'match',
          label: 'Match',
          kind: 'one',
          options: [
            ['', 'default: whole words'],
            ['word', 'whole words'],
            ['substring', 'parts of words too'],
          ],
        },
        {
          name: 'fold_accents',
          fallback: 'no',
          label: 'Ignore accents (cafe matches café)',
          kind: 'flag',
        },
        { name: 'case_sensitive', fallback: 'no', label: 'Case-sensitive', kind: 'flag' },
        {
          name: 'regex',
          fallback: 'none',
          label: 'Regular expressions',
          hint: 'One per line, RE2 syntax. One match is enough.',
          kind: 'lines',
        },
        {
          name: 'language',
          fallback: 'every language',
          label: 'Languages',
          hint: 'ISO 639-1 codes, such as en de.',
          kind: 'names',
        },
      ],
    },
    {
      title: 'Authors, threads and links',
      fields: [
        { name: 'author', fallback: 'everyone', label: 'Authors', kind: 'names' },
        { name: 'exclude_authors', fallback: 'none', label: 'Exclude authors', kind: 'names' },
        {
          name: `exclude_${communities}`,
          fallback: 'none',
          label: `Exclude ${communities}`,
          hint: `Only if ${community} is empty.`,
          kind: 'names',
        },
        {
          name: 'thread',
          fallback: 'every post',
          label: 'Comments under these posts',
          hint: 'Post ids.',
          kind: 'names',
        },
        { name: 'domain', fallback: 'every host', label: 'Link hosts', kind: 'names' },
        { name: 'exclude_domains', fallback: 'none', label: 'Exclude link hosts', kind: 'names' },
      ],
    },
    {
      title: 'Item properties',
      fields: [
        {
          name: 'post_type',
          label: 'Post type',
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
          label: 'Sentiment',
          kind: 'some',
          options: asOptions('positive', 'negative', 'mixed', 'neutral'),
        },
        {
          name: 'flair',
          fallback: 'any',
          label: 'Flair is one of',
          hint: 'One per line.',
          kind: 'lines',
        },
        {
          name: 'exclude_flair',
          fallback: 'none',
          label: 'Flair is none of',
          hint: 'One per line.',
          kind: 'lines',
        },
        { name: 'has_flair', fallback: 'both', label: 'Has a flair', kind: 'flag' },
        { name: 'nsfw', fallback: 'both', label: 'Adult content (NSFW)', kind: 'flag' },
        { name: 'min_score', fallback: 'no minimum', label: 'Minimum score', kind: 'number' },
        { name: 'min_comments', fallback: 'no minimum', label: 'Minimum comments', kind: 'number' },
        {
          name: 'min_relevance',
          fallback: 'no minimum',
          label: 'Minimum relevance',
          hint: '0 to 100. Matches below it are suppressed.',
          kind: 'number',
        },
      ],
    },
    {
      title: 'Bundling',
      fields: [
        {
          name: 'group',
          fallback: 'one delivery per match',
          label: 'Bundle',
          hint: 'A label, or yes: the matches of one check are sent as one delivery.',
          kind: 'label',
        },
        {
          name: 'group_window_s',
          fallback: '0, the matches of one check',
          label: 'Collection window (seconds)',
          hint: '0 to 3600.',
          kind: 'number',
        },
      ],
    },
  ]
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

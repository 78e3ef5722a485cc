// The fields of the filter form as data.

import type { UserSession } from './types.ts'

type Options = readonly (readonly [string, string])[]

/** One field of the form. */
export type FormField = {
  name: string
  label: string
  hint?: string
  /** `names`: separated by commas or spaces. `lines`: one per line. `flag`: default, yes or no. `label`: text or yes. */
  kind: 'names' | 'lines' | 'text' | 'number' | 'flag' | 'label' | 'one' | 'some'
  options?: Options
}

/** Fields under one heading. */
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
          label: capital(communities),
          hint: 'Names, separated by commas or spaces. Empty: the whole platform, posts only.',
          kind: 'names',
        },
        {
          name: 'kind',
          label: 'Items',
          kind: 'one',
          options: [
            ['', 'default: posts, or the comments of chosen threads'],
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
          hint: 'One per line. One of them is enough.',
          kind: 'lines',
        },
        { name: 'include_all', label: 'All of these', hint: 'One per line.', kind: 'lines' },
        {
          name: 'exclude_terms',
          label: 'None of these',
          hint: 'One per line. Exclusions take precedence.',
          kind: 'lines',
        },
        {
          name: 'q',
          label: 'Query',
          hint: 'Example: ("rate limit" OR throttl*) AND -hiring title:bun',
          kind: 'text',
        },
      ],
    },
  ]
}

/** Less common fields, initially collapsed. */
export function moreParts({ community, communities }: UserSession['words']): FormPart[] {
  return [
    {
      title: 'Text matching',
      fields: [
        {
          name: 'search_in',
          label: 'Search in',
          hint: 'None selected: title, body and url.',
          kind: 'some',
          options: asOptions('title', 'body', 'url', 'permalink', 'flair', 'author'),
        },
        {
          name: 'match',
          label: 'Match',
          kind: 'one',
          options: [
            ['', 'whole words (default)'],
            ['word', 'whole words'],
            ['substring', 'parts of words too'],
          ],
        },
        { name: 'fold_accents', label: 'Ignore accents (cafe matches café)', kind: 'flag' },
        { name: 'case_sensitive', label: 'Case-sensitive', kind: 'flag' },
        {
          name: 'regex',
          label: 'Regular expressions',
          hint: 'One per line, RE2 syntax. One match is enough.',
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
      title: 'Authors, threads and links',
      fields: [
        { name: 'author', label: 'Authors', kind: 'names' },
        { name: 'exclude_authors', label: 'Exclude authors', kind: 'names' },
        {
          name: `exclude_${communities}`,
          label: `Exclude ${communities}`,
          hint: `Only if ${community} is empty.`,
          kind: 'names',
        },
        {
          name: 'thread',
          label: 'Comments under these posts',
          hint: 'Post ids.',
          kind: 'names',
        },
        { name: 'domain', label: 'Link hosts', kind: 'names' },
        { name: 'exclude_domains', label: 'Exclude link hosts', kind: 'names' },
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
        { name: 'flair', label: 'Flair is one of', hint: 'One per line.', kind: 'lines' },
        { name: 'exclude_flair', label: 'Flair is none of', hint: 'One per line.', kind: 'lines' },
        { name: 'has_flair', label: 'Has a flair', kind: 'flag' },
        { name: 'nsfw', label: 'Adult content (NSFW)', kind: 'flag' },
        { name: 'min_score', label: 'Minimum score', kind: 'number' },
        { name: 'min_comments', label: 'Minimum comments', kind: 'number' },
        {
          name: 'min_relevance',
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
          label: 'Bundle',
          hint: 'A label, or yes: the matches of one check are sent as one delivery. Empty: one delivery per match.',
          kind: 'label',
        },
        {
          name: 'group_window_s',
          label: 'Collection window (seconds)',
          hint: '0 to 3600.',
          kind: 'number',
        },
      ],
    },
  ]
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

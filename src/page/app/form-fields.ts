// The form of a filter, as a table.

import type { Who } from './own-types.ts'

type Options = readonly (readonly [string, string])[]

/** One field of the form. */
export type FormField = {
  name: string
  label: string
  hint?: string
  /** `names`: between commas or spaces. `lines`: one per line. `flag`: any, yes or no. `label`: a text, or yes. */
  kind: 'names' | 'lines' | 'text' | 'number' | 'flag' | 'label' | 'one' | 'some'
  options?: Options
}

/** Fields under one heading. */
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
            ['', 'posts (under chosen threads: comments)'],
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
          hint: 'One per line. Exclusions win.',
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
          hint: 'One per line, in the syntax of RE2; any of them.',
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
        { name: 'flair', label: 'Flair is one of', hint: 'One per line.', kind: 'lines' },
        { name: 'exclude_flair', label: 'Flair is none of', hint: 'One per line.', kind: 'lines' },
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

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

import * as z from 'zod'

import { INBOX_STATES } from '../../core/inbox/filter.ts'
import { INBOX_ACTIONS } from '../../store/inbox/actions.ts'
import { filterFields } from './fields.ts'

const instant = () => z.string().meta({ format: 'date-time' })
const state = () => z.enum(INBOX_STATES)

const keyShape = () =>
  z
    .object({
      key_id: z.string(),
      name: z.string().nullable().meta({ description: 'Name of the key; null: it has none.' }),
    })
    .meta({ description: 'Key that made the change.' })

const rangeShape = () =>
  z.object({
    in: z.enum(['title', 'excerpt']).meta({ description: 'Text that the range is in.' }),
    start: z.int().meta({ description: 'First UTF-16 unit of the term.' }),
    end: z.int().meta({ description: 'UTF-16 unit after the term.' }),
  })

const inboxMonitorShape = () =>
  z.object({
    id: z.string(),
    name: z.string().nullable(),
    removed: z.boolean().meta({ description: 'True: the monitor exists no longer.' }),
    matched_at: instant(),
    matched_terms: z.array(z.string()),
    judgement: z
      .object({
        score: z.number().nullable().meta({ description: 'Its score; null: it was unavailable.' }),
        min_score: z.number().nullable().meta({ description: 'Least score of the monitor.' }),
        reason: z.string().nullable().meta({ description: 'Its reason, in its own words.' }),
      })
      .nullable()
      .meta({ description: "Verdict of the operator's model; null: the monitor asks for none." }),
  })

/** An item of the inbox. */
const inboxItemShape = () =>
  z.object({
    id: z.string().meta({
      description:
        'Fullname of the item, after the name of its source and a slash unless it is of main.',
    }),
    source: z.string(),
    kind: z.enum(['post', 'comment']),
    title: z.string().nullable().meta({
      description: 'Title of the post, or of the thread of a comment; null: unknown or erased.',
    }),
    excerpt: z.string().meta({
      description: 'At most 300 characters around the first matched term, in one line.',
    }),
    highlights: z.array(rangeShape()).meta({ description: 'Matched terms within the texts.' }),
    matched_terms: z.array(z.string()),
    url: z.string().nullable(),
    place: z.string().meta({ description: 'Place of the item, such as its community.' }),
    author: z.string().nullable(),
    score: z.number().nullable(),
    comments: z.number().nullable(),
    created: z.string().nullable(),
    sentiment: z.string().nullable(),
    intent: z.string().nullable(),
    relevance: z.number().nullable(),
    enrichment: z.looseObject({}).meta({
      description:
        'As it was delivered: relevance, sentiment, intent, and a verdict if there is one.',
    }),
    erased: z.boolean().meta({
      description: 'True: its content was deleted at its source, or is past its retention.',
    }),
    matched_at: instant().meta({ description: 'First match, which is the order of the list.' }),
    monitors: z
      .array(inboxMonitorShape())
      .meta({ description: 'Monitors that matched it, the first first; at most 20.' }),
    state: state(),
    starred: z.boolean(),
    label: z.string().nullable(),
    changed: z
      .object({ at: instant(), by: keyShape().nullable() })
      .nullable()
      .meta({ description: 'Last change of state, star or label; null: none.' }),
  })

/** Answer of one item. */
export const inboxWholeShape = () =>
  inboxItemShape().extend({
    text: z.string().nullable().meta({
      description:
        'Whole text as it was last delivered, in the markdown of its author, at most 40,000 characters; null: erased.',
    }),
  })

/** Answer of the ids of a list. */
export const inboxIdsShape = () =>
  z.object({
    ids: z.array(z.string()),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Cursor of the next page; null at the end.' }),
  })

/** Answer of the list. */
export const inboxPageShape = () =>
  z.object({
    items: z.array(inboxItemShape()),
    next_cursor: z.string().nullable().meta({
      description:
        'Cursor of the next page; null at the end. A page may have fewer items than limit before the end.',
    }),
    examined_until: instant().nullable().meta({
      description:
        'Match up to which a page looked that ended before limit and before the end; else null.',
    }),
  })

const countFields = () => ({
  unread: z.int(),
  read: z.int(),
  answered: z.int(),
  dismissed: z.int(),
  starred: z.int().meta({ description: 'Starred items of any state.' }),
  total: z.int(),
  complete: z.boolean().meta({ description: 'False: the numbers are lower bounds.' }),
})

/** Answer of the counts. */
export const inboxCountsShape = () =>
  z.object({
    ...countFields(),
    labels: z
      .array(z.object({ label: z.string(), items: z.int() }))
      .meta({ description: 'Labels that are in use, at most 100.' }),
    version: z.string().meta({ description: 'Position of the event stream at this state.' }),
  })

/** Answer of a change. */
export const inboxChangedShape = () =>
  z.object({
    action_id: z.string().nullable().meta({ description: 'For undo; null: nothing changed.' }),
    changed: z.int(),
    unchanged: z.int().meta({ description: 'Named items that had the values already.' }),
    unknown_ids: z.array(z.string()),
    has_more: z.boolean(),
    next_cursor: z.string().nullable().meta({
      description: 'Continues a change of a filter in a further call; null: all are done.',
    }),
    previous: z
      .array(
        z.object({
          id: z.string(),
          state: state(),
          starred: z.boolean(),
          label: z.string().nullable(),
        }),
      )
      .meta({ description: 'The changed items as they were; empty for more than 500.' }),
    undo_until: instant().nullable(),
  })

/** Answer of an undoing. */
export const inboxUndoneShape = () =>
  z.object({
    action_id: z.string().meta({ description: 'The undoing itself, which can be undone too.' }),
    undone: z.string(),
    restored: z.int(),
    skipped: z.int().meta({ description: 'Items that were changed since, or are gone.' }),
  })

/** Answer of the history. */
export const inboxHistoryShape = () =>
  z.object({
    actions: z.array(
      z.object({
        action_id: z.string(),
        at: instant(),
        by: keyShape(),
        kind: z.enum(INBOX_ACTIONS).meta({
          description: 'update: by a person; answered: followed from a comment; undo.',
        }),
        set: z
          .object({
            state: state().optional(),
            starred: z.boolean().optional(),
            label: z.string().nullable().optional(),
          })
          .nullable()
          .meta({ description: 'Values that were set; null: an undoing.' }),
        items: z.int().meta({ description: 'Number of changed items.' }),
        ids: z.array(z.string()).meta({ description: 'The first 10 of them.' }),
        undoes: z.string().nullable(),
        undone_by: z.string().nullable(),
        can_undo: z.boolean(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })

/** A saved view. */
export const inboxViewShape = () =>
  z.object({
    id: z.string(),
    name: z.string(),
    filter: z
      .object({ ...filterFields(), text: z.string().optional() })
      .meta({ description: 'Fields of the list that it stands for.' }),
    created_at: instant(),
    updated_at: instant(),
    by: keyShape(),
  })

/** Answer of the list of views. */
export const inboxViewsShape = () => z.object({ views: z.array(inboxViewShape()), limit: z.int() })

/** Answer of a proposal. */
export const inboxMuteShape = () =>
  z.object({
    monitor_id: z.string(),
    monitor_name: z.string().nullable(),
    edit: z
      .object({
        field: z.string().meta({ description: 'List of the filter that changes.' }),
        added: z
          .string()
          .nullable()
          .meta({ description: 'New entry of an exclusion; null: an entry was removed.' }),
        removed: z
          .string()
          .nullable()
          .meta({ description: 'Entry that the filter watched by name; null: none was removed.' }),
        before: z.array(z.string()),
        after: z.array(z.string()),
      })
      .meta({ description: 'Change of the filter.' }),
    filter_spec: z.looseObject({}).meta({ description: 'The whole filter after the edit.' }),
    apply: z
      .object({
        path: z.string().meta({ description: 'Path of the update of a monitor.' }),
        body: z.looseObject({}).meta({ description: 'Body to send there.' }),
      })
      .meta({ description: 'Call that makes the edit.' }),
    effect: z
      .object({
        days: z.int(),
        examined: z.int().meta({ description: 'Matches of the monitor that were evaluated.' }),
        complete: z.boolean().meta({ description: 'False: only the newest were evaluated.' }),
        removed: z.int().meta({ description: 'Matches that there would not have been.' }),
        kept: z.int(),
        samples: z
          .array(
            z.object({
              id: z.string(),
              title: z.string().nullable(),
              excerpt: z.string(),
              place: z.string(),
              author: z.string().nullable(),
              matched_at: instant(),
            }),
          )
          .meta({ description: 'The newest of the removed, at most 5.' }),
      })
      .meta({ description: 'Effect of the edit on past matches.' }),
  })

const monitorFields = () => ({
  monitor_id: z.string(),
  name: z.string().nullable(),
  removed: z.boolean(),
})

const sentimentsShape = <T extends z.ZodType>(value: () => T) =>
  z.object({
    positive: value(),
    negative: value(),
    mixed: value(),
    neutral: value(),
    unknown: value(),
  })

const bucketCounts = () =>
  z.array(z.int()).meta({ description: 'One number for each interval of mentions.at.' })

/** Answer of the figures. */
export const inboxStatsShape = () =>
  z.object({
    from: instant().meta({
      description: 'Start of what was counted, which is later than requested unless complete.',
    }),
    to: instant(),
    bucket: z.enum(['hour', 'day']),
    examined: z.int().meta({ description: 'Items that were read.' }),
    complete: z
      .boolean()
      .meta({ description: 'False: there were more items than one answer reads.' }),
    mentions: z
      .object({
        at: z.array(z.string()).meta({ description: 'Begin of each interval, without holes.' }),
        series: z
          .array(
            z.object({
              ...monitorFields(),
              monitor_id: z.string().nullable(),
              counts: bucketCounts(),
            }),
          )
          .meta({
            description:
              'The 20 monitors with most mentions; then, without an id, all others together.',
          }),
        total: bucketCounts().meta({ description: 'Items of each interval, each once.' }),
      })
      .meta({ description: 'Items over time, by monitor.' }),
    share: z
      .array(
        z.object({
          ...monitorFields(),
          mentions: z.int(),
          share: z.number().meta({ description: 'Share of all mentions, 0 to 1.' }),
        }),
      )
      .meta({ description: 'Share of voice between the monitors, of the 100 with most mentions.' }),
    sentiment: sentimentsShape(() => z.int()),
    sentiment_over_time: sentimentsShape(bucketCounts),
    places: z
      .array(z.object({ source: z.string(), place: z.string(), mentions: z.int() }))
      .meta({ description: 'The 20 places with most items, in lower case.' }),
    authors: z
      .array(z.object({ source: z.string(), author: z.string(), mentions: z.int() }))
      .meta({ description: 'The 20 authors with most items, in lower case.' }),
    states: z.object({
      unread: z.int(),
      read: z.int(),
      answered: z.int(),
      dismissed: z.int(),
    }),
  })

const threadRowShape = () =>
  z.object({
    id: z.string(),
    kind: z.enum(['post', 'comment']),
    author: z.string().nullable(),
    title: z.string().nullable(),
    text: z.string().meta({ description: 'Visible text, at most 2,000 characters.' }),
    score: z.number().nullable(),
    url: z.string().nullable(),
    created: z.string().nullable(),
  })

/** Answer of the context. */
export const inboxContextShape = () =>
  z.object({
    id: z.string(),
    post: threadRowShape().nullable().meta({ description: 'The post; null: unreadable.' }),
    ancestors: z
      .array(threadRowShape())
      .meta({ description: 'Comments above it, from the top; none: it answers the post.' }),
    replies: z.array(threadRowShape()).meta({ description: 'Direct replies, at most 20.' }),
    found: z.boolean().meta({ description: 'False: the comment was not among those read.' }),
  })

/** Data of an event of the stream, for its document. */
export const inboxEventText =
  'Each event is named inbox; its data has version, new and changed (count and ids of items, newest first, at most 100), gone (true: read the list again) and counts.'

/** Counts of an event. */
export const toCounts = ({
  complete,
  starred,
  ...states
}: {
  unread: number
  read: number
  answered: number
  dismissed: number
  starred: number
  complete: boolean
}) => ({
  ...states,
  starred,
  total: states.unread + states.read + states.answered + states.dismissed,
  complete,
})

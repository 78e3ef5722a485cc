import * as z from 'zod'

import { INBOX_STATES } from '../../core/inbox/filter.ts'
import { INBOX_ACTIONS } from '../../store/inbox/actions.ts'

const instant = () => z.string().meta({ format: 'date-time' })
const state = () => z.enum(INBOX_STATES)

const keyShape = () =>
  z
    .object({
      key_id: z.string(),
      name: z.string().nullable().describe('Name of the key; null: it has none.'),
    })
    .describe('Key that made the change.')

const rangeShape = () =>
  z.object({
    in: z.enum(['title', 'excerpt']).describe('Text that the range is in.'),
    start: z.int().describe('First UTF-16 unit of the term.'),
    end: z.int().describe('UTF-16 unit after the term.'),
  })

const inboxMonitorShape = () =>
  z.object({
    id: z.string(),
    name: z.string().nullable(),
    removed: z.boolean().describe('True: the monitor exists no longer.'),
    matched_at: instant(),
    matched_terms: z.array(z.string()),
    judgement: z
      .object({
        score: z.number().nullable().describe('Its score; null: it was unavailable.'),
        min_score: z.number().nullable().describe('Least score of the monitor.'),
        reason: z.string().nullable().describe('Its reason, in its own words.'),
      })
      .nullable()
      .describe("Verdict of the operator's model; null: the monitor asks for none."),
  })

const inboxItemShape = () =>
  z
    .object({
      id: z.string().meta({
        description:
          'Fullname of the item, after the name of its source and a slash unless that is the first one of a Reddit-style platform.',
        examples: ['t3_1abcde'],
      }),
      source: z.string(),
      kind: z.enum(['post', 'comment']),
      title: z
        .string()
        .nullable()
        .describe('Title of the post, or of the thread of a comment; null: unknown or erased.'),
      excerpt: z
        .string()
        .describe('At most 300 characters around the first matched term, in one line.'),
      highlights: z.array(rangeShape()).describe('Matched terms within the texts.'),
      matched_terms: z.array(z.string()),
      url: z.string().nullable(),
      place: z.string().describe('Place of the item, such as its community.'),
      author: z.string().nullable(),
      score: z.number().nullable(),
      comments: z.number().nullable(),
      created: z.string().nullable(),
      sentiment: z.string().nullable(),
      intent: z.string().nullable(),
      relevance: z.number().nullable(),
      erased: z
        .boolean()
        .describe('True: its content was deleted at its source, or is past its retention.'),
      matched_at: instant().describe('First match, which is the order of the list.'),
      monitors: z
        .array(inboxMonitorShape())
        .describe('Monitors that matched it, the first first; at most 20.'),
      state: state(),
      starred: z.boolean(),
      label: z.string().nullable(),
      changed: z
        .object({ at: instant(), by: keyShape().nullable() })
        .nullable()
        .describe('Last change of state, star or label; null: none.'),
    })
    .meta({ title: 'InboxItem' })

export const inboxWholeShape = () =>
  inboxItemShape().extend({
    text: z
      .string()
      .nullable()
      .describe(
        'Whole text as it was last delivered, in the markdown of its author, at most 40,000 characters; null: erased.',
      ),
  })

export const inboxIdsShape = () =>
  z.object({
    ids: z.array(z.string()),
    next_cursor: z.string().nullable().describe('Cursor of the next page; null at the end.'),
  })

export const inboxPageShape = () =>
  z.object({
    items: z.array(inboxItemShape()),
    next_cursor: z
      .string()
      .nullable()
      .describe(
        'Cursor of the next page; null at the end. A page may have fewer items than limit before the end.',
      ),
    examined_until: instant()
      .nullable()
      .describe(
        'Match up to which a page looked that ended before limit and before the end; else null.',
      ),
  })

export const inboxCountsShape = () =>
  z.object({
    unread: z.int(),
    read: z.int(),
    answered: z.int(),
    dismissed: z.int(),
    starred: z.int().describe('Starred items of any state.'),
    total: z.int(),
    complete: z.boolean().describe('False: the numbers are lower bounds.'),
    labels: z
      .array(z.object({ label: z.string(), items: z.int() }))
      .describe('Labels that are in use, at most 100.'),
  })

export const inboxChangedShape = () =>
  z.object({
    action_id: z.string().nullable().describe('For undo; null: nothing changed.'),
    changed: z.int(),
    unchanged: z.int().describe('Named items that had the values already.'),
    unknown_ids: z.array(z.string()),
    has_more: z.boolean(),
    next_cursor: z
      .string()
      .nullable()
      .describe('Continues a change of a filter in a further call; null: all are done.'),
    undo_until: instant().nullable(),
  })

export const inboxUndoneShape = () =>
  z.object({
    action_id: z.string().describe('The undoing itself, which can be undone too.'),
    undone: z.string(),
    restored: z.int().describe('Items, or the filter of a mute: 1.'),
    skipped: z.int().describe('Items that were changed since, or are gone.'),
  })

const editFields = () => ({
  field: z.string().describe('List of the filter that changes.'),
  added: z.string().nullable().describe('New entry; null: an entry was removed.'),
  removed: z.string().nullable().describe('Removed entry; null: one was added.'),
})

export const inboxHistoryShape = () =>
  z.object({
    actions: z.array(
      z.object({
        action_id: z.string(),
        at: instant(),
        by: keyShape(),
        kind: z
          .enum(INBOX_ACTIONS)
          .describe(
            'update: by a person; answered: followed from a comment; mute: edited a filter; undo.',
          ),
        set: z
          .object({
            state: state().optional(),
            starred: z.boolean().optional(),
            label: z.string().nullable().optional(),
          })
          .nullable()
          .describe('Values that were set; null: an undoing or a mute.'),
        mute: z
          .object({ monitor_id: z.string(), ...editFields() })
          .nullable()
          .describe('Edit of the filter of a monitor; null: items were changed.'),
        items: z.int().describe('Number of changed items.'),
        ids: z.array(z.string()).describe('The first 10 of them.'),
        undoes: z.string().nullable(),
        undone_by: z.string().nullable(),
        can_undo: z.boolean(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })

export const inboxMuteShape = () =>
  z.object({
    monitor_id: z.string(),
    monitor_name: z.string().nullable(),
    applied: z.boolean().describe('True: the filter is changed.'),
    action_id: z.string().nullable().describe('For undo; null: nothing changed.'),
    undo_until: instant().nullable(),
    edit: z
      .object({
        ...editFields(),
        before: z.array(z.string()),
        after: z.array(z.string()),
      })
      .describe('Change of the filter.'),
    effect: z
      .object({
        days: z.int(),
        examined: z.int().describe('Matches of the monitor that were evaluated.'),
        complete: z.boolean().describe('False: only the newest were evaluated.'),
        removed: z.int().describe('Matches that there would not have been.'),
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
          .describe('The newest of the removed, at most 5.'),
      })
      .describe('Effect of the edit on past matches.'),
  })

const threadRowShape = () =>
  z.object({
    id: z.string().meta({ examples: ['t3_1abcde'] }),
    kind: z.enum(['post', 'comment']),
    author: z.string().nullable(),
    title: z.string().nullable(),
    text: z.string().describe('Visible text, at most 2,000 characters.'),
    score: z.number().nullable(),
    url: z.string().nullable(),
    created: z.string().nullable(),
  })

export const inboxContextShape = () =>
  z.object({
    id: z.string(),
    post: threadRowShape().nullable().describe('The post; null: unreadable.'),
    ancestors: z
      .array(threadRowShape())
      .describe('Comments above it, from the top; none: it answers the post.'),
    replies: z.array(threadRowShape()).describe('Direct replies, at most 20.'),
    found: z.boolean().describe('False: the comment was not among those read.'),
  })

/** What paths of the service begin with already: the word for the platform must be another one. */
export const TAKEN_PLACES: readonly string[] = [
  'account',
  'api',
  'confirm',
  'dashboard',
  'docs',
  'feed',
  'feedback',
  'health',
  'mcp',
  'metrics',
  'openapi',
  'operator',
  'unsubscribe',
]

/** What stands beside the community in rows, parameters and filters: the word for it must be another one. */
export const TAKEN_FIELDS: readonly string[] = `
  after author author_info body comment_count comments contest_mode created created_utc
  crosspost_origin depth domain edited enrichment flair id interval_s is_crosspost is_self
  is_submitter is_video kind limit link_title link_url listing_status locked media
  media_kind name nsfw over_18 parent_id permalink post post_id q score sort sort_type
  spoiler stickied t text thumbnail_url title top_comment total_score upvote_ratio upvotes
  url max_comments max_score min_comments min_score min_relevance include_all include_any
  exclude_terms search_in match fold_accents case_sensitive regex exclude_authors thread
  exclude_domains exclude_flair has_flair post_type intent sentiment language group
  group_window_s query place scanned matched oldest error first_seen_at
`
  .trim()
  .split(/\s+/)

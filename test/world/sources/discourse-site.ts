/** The answers of a simulated Discourse forum as a function of the instant. Written from the protocol and the recordings. */
import { CATEGORIES, isListed, isPublic, postAt, TAGS, topicAt } from './discourse-plan.ts'
import type { Forum, Post, Topic } from './discourse-plan.ts'

export const PAGE = 50
const TOPIC_PAGE = 20
const NOTICE = '(post deleted by author)'

type Answer = { readonly status: number; readonly body: unknown; readonly ids: readonly number[] }

const NOT_FOUND: Answer = {
  status: 404,
  body: { errors: ['The requested URL or resource could not be found.'], error_type: 'not_found' },
  ids: [],
}

/** The site's answers as a function of the instant, without its misbehaviour in transport. */
export class Site {
  readonly forum: Forum
  readonly wireStartMs: number
  readonly oldListing: boolean
  /** Rows of the next page, where a plugin removes some before the page is cut. */
  readonly pageRows: () => number

  constructor(
    forum: Forum,
    wireStartMs: number,
    oldListing: boolean,
    pageRows: () => number = () => PAGE,
  ) {
    this.forum = forum
    this.wireStartMs = wireStartMs
    this.oldListing = oldListing
    this.pageRows = pageRows
  }

  private iso(atMs: number): string {
    return new Date(this.wireStartMs + Math.floor(atMs)).toISOString()
  }

  /** The page of `/posts.json`: by keyset, or by windows of fifty ids on an older server. */
  listing(before: number | null, atMs: number): Answer {
    const created = this.forum.posts.filter((post) => post.createdMs <= atMs)
    if (this.oldListing) {
      const head = before ?? created.at(-1)?.id ?? 0
      const rows = created
        .filter((post) => post.id <= head && post.id > head - PAGE)
        .filter(
          (post) =>
            isListed(post, atMs) ||
            (postAt(post, atMs)?.showing === 'hidden' && isPublic(post.topic, atMs)),
        )
        .toSorted((a, b) => b.createdMs - a.createdMs)
      return this.rows(rows, atMs)
    }
    const rows = created
      .filter(
        (post) =>
          post.postType === 1 && (before === null || post.id < before) && isListed(post, atMs),
      )
      .toSorted((a, b) => b.id - a.id)
    return this.rows(rows.slice(0, this.pageRows()), atMs)
  }

  private rows(posts: readonly Post[], atMs: number): Answer {
    const ids = posts
      .filter((post) => postAt(post, atMs)?.showing === 'shown')
      .map((post) => post.id)
    return {
      status: 200,
      body: { latest_posts: posts.map((post) => this.post(post, atMs, true)) },
      ids,
    }
  }

  private post(post: Post, atMs: number, inListing: boolean): Record<string, unknown> {
    const { topic } = post
    const state = postAt(post, atMs)
    const hidden = state?.showing === 'hidden'
    const text = hidden || state?.showing === 'notice' ? NOTICE : (state?.text ?? '')
    const row: Record<string, unknown> = {
      id: post.id,
      name: '',
      username: post.author,
      avatar_template: `/letter_avatar_proxy/v4/letter/${post.author[0]}/90db22/{size}.png`,
      created_at: this.iso(post.createdMs + (post.aheadMs ?? 0)),
      cooked: `<p>${text}</p>`,
      post_number: post.number,
      post_type: post.postType,
      posts_count: topic.posts.length,
      updated_at: this.iso(state?.fromMs ?? post.createdMs),
      reply_count: 0,
      reply_to_post_number: post.number === 1 ? null : post.replyTo,
      quote_count: 0,
      incoming_link_count: 0,
      reads: 3,
      readers_count: 2,
      score: 0.6,
      yours: false,
      topic_id: topic.id,
      topic_slug: topic.slug,
      display_username: '',
      primary_group_name: null,
      flair_name: null,
      flair_url: null,
      flair_bg_color: null,
      flair_color: null,
      flair_group_id: null,
      badges_granted: [],
      version: state?.version ?? 1,
      can_edit: false,
      can_delete: false,
      can_recover: false,
      can_see_hidden_post: false,
      can_wiki: false,
      user_title: null,
      bookmarked: false,
      actions_summary: [],
      moderator: false,
      admin: false,
      staff: false,
      user_id: 10 + (post.author.codePointAt(0) ?? 0),
      hidden,
      trust_level: 1,
      deleted_at: null,
      user_deleted: state?.showing === 'notice',
      edit_reason: null,
      can_view_edit_history: true,
      wiki: false,
      post_url: `/t/${topic.slug}/${topic.id}/${post.number}`,
    }
    if (!hidden) row['raw'] = text
    else row['cooked_hidden'] = true
    if (post.postType === 3) row['action_code'] = 'category_changed'
    if (!inListing) return row
    row['topic_title'] = topic.title
    row['topic_html_title'] = topic.title
    row['category_id'] = topicAt(topic, atMs)?.categoryId ?? null
    return row
  }

  private shownIn(topic: Topic, atMs: number): Post[] {
    return topic.posts.filter(
      (post) => post.createdMs <= atMs && postAt(post, atMs)?.showing !== 'gone',
    )
  }

  private topicRow(topic: Topic, atMs: number): Record<string, unknown> {
    const posts = this.shownIn(topic, atMs)
    const state = topicAt(topic, atMs)
    return {
      id: topic.id,
      title: topic.title,
      fancy_title: topic.title,
      slug: topic.slug,
      posts_count: posts.length,
      reply_count: 0,
      highest_post_number: posts.at(-1)?.number ?? 1,
      image_url: null,
      created_at: this.iso(topic.createdMs),
      last_posted_at: this.iso(posts.at(-1)?.createdMs ?? topic.createdMs),
      bumped: true,
      bumped_at: this.iso(posts.at(-1)?.createdMs ?? topic.createdMs),
      archetype: 'regular',
      unseen: false,
      pinned: false,
      unpinned: null,
      visible: state?.listed ?? true,
      closed: false,
      archived: false,
      bookmarked: null,
      liked: null,
      tags: state?.tags ?? [],
      tags_descriptions: {},
      views: 9,
      like_count: 0,
      has_summary: false,
      last_poster_username: posts.at(-1)?.author ?? topic.posts[0]?.author,
      category_id: state?.categoryId ?? null,
      pinned_globally: false,
      featured_link: null,
      posters: [],
    }
  }

  private topic(id: number, query: URLSearchParams, atMs: number, postsOnly: boolean): Answer {
    const topic = this.forum.topics.get(id)
    if (topic === undefined || topic.createdMs > atMs || topic.posts[0] === undefined)
      return NOT_FOUND
    if (!isPublic(topic, atMs)) return NOT_FOUND
    if (postAt(topic.posts[0], atMs)?.showing === 'gone') return NOT_FOUND
    const all = this.shownIn(topic, atMs)
    const wanted = query.getAll('post_ids[]').map(Number)
    const page = Math.max(1, Number(query.get('page') ?? '1'))
    const posts =
      wanted.length > 0
        ? all.filter((post) => wanted.includes(post.id))
        : all.slice((page - 1) * TOPIC_PAGE, page * TOPIC_PAGE)
    const rows = posts.map((post) => this.post(post, atMs, false))
    const ids = posts
      .filter((post) => postAt(post, atMs)?.showing === 'shown')
      .map((post) => post.id)
    if (postsOnly) return { status: 200, body: { post_stream: { posts: rows }, id }, ids }
    const stream = { posts: rows, stream: all.map((post) => post.id) }
    return {
      status: 200,
      body: {
        post_stream: stream,
        timeline_lookup: [],
        suggested_topics: [],
        ...this.topicRow(topic, atMs),
      },
      ids,
    }
  }

  private topics(
    page: number,
    atMs: number,
    belongs: (topic: Topic) => boolean,
    order: string | null,
  ): Answer {
    const found = [...this.forum.topics.values()]
      .filter(
        (topic) => topic.posts[0] !== undefined && topic.createdMs <= atMs && isPublic(topic, atMs),
      )
      .filter(
        (topic) =>
          topicAt(topic, atMs)?.listed === true &&
          postAt(topic.posts[0] as Post, atMs)?.showing !== 'gone',
      )
      .filter(belongs)
    const key = (topic: Topic) =>
      order === 'created'
        ? topic.createdMs
        : (this.shownIn(topic, atMs).at(-1)?.createdMs ?? topic.createdMs)
    const rows = found.toSorted((a, b) => key(b) - key(a)).slice(page * 30, page * 30 + 30)
    const list = {
      can_create_topic: false,
      per_page: 30,
      top_tags: [],
      topics: rows.map((topic) => this.topicRow(topic, atMs)),
      ...(found.length > (page + 1) * 30
        ? { more_topics_url: `/latest?order=${order ?? 'default'}&page=${page + 1}` }
        : {}),
    }
    return { status: 200, body: { users: [], primary_groups: [], topic_list: list }, ids: [] }
  }

  private categories(): Record<string, unknown>[] {
    return CATEGORIES.filter((one) => !one.isPrivate).map((one) => ({
      id: one.id,
      name: one.slug.toUpperCase(),
      color: '0088CC',
      text_color: 'FFFFFF',
      slug: one.slug,
      topic_count: 5,
      post_count: 20,
      position: one.id,
      description: null,
      description_text: null,
      topic_url: `/t/${one.id}`,
      read_restricted: false,
      permission: 1,
      notification_level: 1,
      has_children: CATEGORIES.some((other) => other.parent === one.id),
      num_featured_topics: 3,
      uploaded_logo: null,
      ...(one.parent === null ? {} : { parent_category_id: one.parent }),
    }))
  }

  /** The answer to a request at an instant. */
  answer(url: URL, atMs: number): Answer {
    const path = url.pathname.replace(/\.json$/, '')
    const query = url.searchParams
    const page = Number(query.get('page') ?? '0')
    const order = query.get('order')
    if (path === '/posts') {
      const before = query.get('before')
      return this.listing(before === null ? null : Number(before), atMs)
    }
    if (path === '/site')
      return {
        status: 200,
        body: {
          default_archetype: 'regular',
          categories: this.categories(),
          can_tag_topics: false,
        },
        ids: [],
      }
    if (path === '/categories') {
      const tree = this.categories().filter(
        (one) => query.has('include_subcategories') || one['parent_category_id'] === undefined,
      )
      return {
        status: 200,
        body: { category_list: { can_create_category: false, categories: tree } },
        ids: [],
      }
    }
    if (path === '/about')
      return {
        status: 200,
        body: { about: { version: '3.6.0.beta2', stats: {}, admins: [], moderators: [] } },
        ids: [],
      }
    if (path === '/site/basic-info')
      return { status: 200, body: { title: 'World', description: '' }, ids: [] }
    if (path === '/latest') return this.topics(page, atMs, () => true, order)
    const post = /^\/posts\/(\d+)$/.exec(path)
    if (post !== null) {
      const found = this.forum.posts.findLast(
        (one) => one.id === Number(post[1]) && one.createdMs <= atMs,
      )
      if (found === undefined || found.createdMs > atMs || !isPublic(found.topic, atMs))
        return NOT_FOUND
      const showing = postAt(found, atMs)?.showing
      if (showing === 'gone') return NOT_FOUND
      return {
        status: 200,
        body: this.post(found, atMs, false),
        ids: showing === 'shown' ? [found.id] : [],
      }
    }
    const posts = /^\/t\/(?:[^/]+\/)?(\d+)\/posts$/.exec(path)
    if (posts !== null) return this.topic(Number(posts[1]), query, atMs, true)
    const topic = /^\/t\/(?:[^/\d][^/]*\/)?(\d+)(?:\/\d+)?$/.exec(path)
    if (topic !== null) return this.topic(Number(topic[1]), query, atMs, false)
    const category = /^\/c\/(?:[^/]+\/)*(\d+)(?:\/l\/latest)?$/.exec(path)
    if (category !== null) {
      const id = Number(category[1])
      const own = new Set(
        CATEGORIES.filter((one) => one.id === id || one.parent === id).map((one) => one.id),
      )
      return this.topics(page, atMs, (one) => own.has(topicAt(one, atMs)?.categoryId ?? 0), order)
    }
    const tag = /^\/tag\/([^/]+)(?:\/l\/latest)?$/.exec(path)
    if (tag !== null) {
      const name = decodeURIComponent(tag[1] ?? '')
      if (!TAGS.includes(name)) return NOT_FOUND
      return this.topics(
        page,
        atMs,
        (one) => topicAt(one, atMs)?.tags.includes(name) === true,
        order,
      )
    }
    if (path === '/tags') {
      const tags = TAGS.map((id) => ({
        id,
        text: id,
        name: id,
        count: 5,
      }))
      return { status: 200, body: { tags, extras: {} }, ids: [] }
    }
    return NOT_FOUND
  }
}

import type { SandboxResponse } from '../server/response.ts'
import type { LemmyWorld, Person } from './model.ts'
import { lemmyJson } from './reads.ts'
import { apIdOf, type LemmyCall, personFields, personView, stampOf } from './shapes.ts'

const AGE_MS = 900 * 86_400_000

/** Versions that the sandbox simulates. */
const VERSIONS = { '0.19': '0.19.12', '1.0': '1.0.0-beta.1' }

function limitFields({ api, world }: LemmyCall) {
  const { limits } = world.settings
  const all = {
    ...limits,
    image: { requests: 6, seconds: 3600 },
    import_user_settings: { requests: 1, seconds: 86_400 },
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, { requests, seconds }]) =>
      api === 'v3'
        ? [
            [name, requests],
            [`${name}_per_second`, seconds],
          ]
        : [
            [`${name}_max_requests`, requests],
            [`${name}_interval_seconds`, seconds],
          ],
    ),
  )
}

const published = ({ api, now }: LemmyCall) =>
  api === 'v3' ? { published: stampOf(now - AGE_MS) } : { published_at: stampOf(now - AGE_MS) }

function siteFields(call: LemmyCall) {
  const { world, api, now } = call
  const actor = apIdOf(call, '/', { host: null })
  const sidebar = 'Be kind. Machines that read here name themselves.'
  return {
    id: 1,
    name: world.title,
    sidebar,
    ...published(call),
    ...(api === 'v3' ? { actor_id: actor, public_key: '' } : { ap_id: actor }),
    last_refreshed_at: stampOf(now - AGE_MS),
    inbox_url: apIdOf(call, '/inbox', { host: null }),
    instance_id: 1,
  }
}

const countFields = ({ posts, comments, communities, persons }: LemmyWorld) => ({
  users: persons.filter(({ host }) => host === null).length,
  posts: posts.size,
  comments: comments.size,
  communities: communities.length,
  users_active_day: 4,
  users_active_week: 9,
  users_active_month: 20,
  users_active_half_year: 31,
})

function localSite(call: LemmyCall) {
  const { world, api } = call
  const common = {
    id: 1,
    site_id: 1,
    site_setup: true,
    community_creation_admin_only: false,
    private_instance: world.settings.private_instance,
    default_theme: 'browser',
    application_email_admins: false,
    federation_enabled: true,
    reports_email_admins: false,
    federation_signed_fetch: false,
    ...published(call),
  }
  if (api === 'v3')
    return {
      ...common,
      enable_downvotes: true,
      enable_nsfw: true,
      require_email_verification: false,
      default_post_listing_type: 'Local',
      hide_modlog_mod_names: true,
      actor_name_max_length: 20,
      captcha_enabled: false,
      captcha_difficulty: 'medium',
      registration_mode: 'RequireApplication',
      default_post_listing_mode: 'List',
      default_sort_type: 'Active',
    }
  return {
    ...common,
    email_verification_required: false,
    default_post_listing_type: 'local',
    registration_mode: 'require_application',
    default_post_listing_mode: 'list',
    default_post_sort_type: 'active',
    default_comment_sort_type: 'hot',
    oauth_registration: false,
    post_upvotes: 'all',
    post_downvotes: 'all',
    comment_upvotes: 'all',
    comment_downvotes: 'all',
    nsfw_content_disallowed: false,
    email_notifications_disabled: false,
    default_items_per_page: 20,
    image_mode: 'none',
    image_upload_timeout_seconds: 30,
    image_max_thumbnail_size: 512,
    image_max_avatar_size: 512,
    image_max_banner_size: 1024,
    image_max_upload_size: 1024,
    image_allow_video_uploads: true,
    image_upload_disabled: false,
    max_invites_per_user_allowed: 0,
    ...countFields(world),
  }
}

/** `GET /site`; also answered by a private instance. */
export function siteGet(call: LemmyCall): SandboxResponse {
  const { world, api, viewer } = call
  const view = {
    site: siteFields(call),
    local_site: localSite(call),
    local_site_rate_limit: { local_site_id: 1, ...limitFields(call), ...published(call) },
  }
  const common = {
    admins: world.persons.filter(({ admin }) => admin).map((person) => personView(call, person)),
    version: VERSIONS[world.settings.version],
    all_languages: [
      { id: 0, code: 'und', name: 'Undetermined' },
      { id: 37, code: 'en', name: 'English' },
    ],
    discussion_languages: [0, 37],
    blocked_urls: [],
  }
  if (api === 'v3')
    return lemmyJson({
      site_view: { ...view, counts: { site_id: 1, ...countFields(world) } },
      ...common,
      ...(viewer !== null && { my_user: myUser(call, viewer) }),
      taglines: [],
      custom_emojis: [],
    })
  const instance = {
    id: 1,
    domain: new URL(call.origin).host,
    ...published(call),
    software: 'lemmy',
  }
  return lemmyJson({
    site_view: { ...view, instance },
    ...common,
    oauth_providers: [],
    admin_oauth_providers: [],
    active_plugins: [],
    captcha_enabled: false,
  })
}

/** The reader's own account. */
export function myUser(call: LemmyCall, person: Person) {
  const common = {
    follows: [],
    moderates: [],
    community_blocks: [],
    person_blocks: [],
    discussion_languages: [0, 37],
  }
  const local_user = {
    id: person.id,
    person_id: person.id,
    show_nsfw: false,
    theme: 'browser',
    interface_language: 'browser',
    show_bot_accounts: true,
    show_read_posts: true,
    email_verified: true,
    accepted_application: true,
    admin: person.admin,
    totp_2fa_enabled: person.totp_secret !== null,
  }
  if (call.api === 'v4')
    return {
      local_user_view: {
        local_user,
        person: personFields(call, person, true),
        banned: person.banned,
      },
      ...common,
      multi_community_follows: [],
      instance_communities_blocks: [],
      instance_persons_blocks: [],
      keyword_blocks: [],
    }
  const { counts } = personView(call, person)
  return {
    local_user_view: { local_user, person: personFields(call, person), counts },
    ...common,
    instance_blocks: [],
  }
}

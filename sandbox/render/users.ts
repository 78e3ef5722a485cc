import { encode, toHtml } from '../server/response.ts'
import type { Viewer } from '../server/viewer.ts'
import { countUnread } from '../world/inbox.ts'
import type { SandboxSession, SandboxUser, Subforum, World } from '../world/model.ts'
import { subforumType } from './posts.ts'

const AVATAR = 'https://www.redditstatic.com/avatars/defaults/v2/avatar_default_'

/** `t2` object of a user. A suspended one has little more than a name. */
export const renderUser = (user: SandboxUser, world: World): string =>
  encode(userThing(user, world))

/** Unserialised form, for nesting. */
export const userThing = (user: SandboxUser, world: World) => ({
  kind: 't2',
  data: user.standing === 'suspended' ? suspendedFields(user) : publicFields(user, world),
})

const suspendedFields = ({ name }: SandboxUser) => ({
  awardee_karma: 0,
  is_blocked: false,
  is_suspended: true,
  total_karma: 0,
  name,
  link_karma: 0,
  comment_karma: 0,
})

/** Account of a session as a `t2` object, with the write token. */
export const renderMe = ({ user, modhash }: SandboxSession, world: World): string =>
  encode({ kind: 't2', data: { ...meFields(user, world), is_friend: false, modhash } })

/** Fields of the viewer's own account, without the write token that only cookies need. */
export function meFields(user: SandboxUser, world: World) {
  const fields = commonFields(user, world)
  return {
    ...fields,
    subreddit: { ...fields.subreddit, ...OWN_PROFILE },
    is_suspended: user.standing === 'suspended',
    suspension_expiration_utc: null,
    over_18: false,
    inbox_count: countUnread(user),
    has_mail: countUnread(user) > 0,
    has_mod_mail: false,
    new_modmail_exists: false,
    force_password_reset: user.locked,
    password_set: true,
    in_beta: false,
    num_friends: 0,
    coins: 0,
    can_create_subreddit: true,
    can_edit_name: false,
    features: {},
  }
}

/** Fields that only the viewer's own profile has. */
const OWN_PROFILE = {
  user_is_contributor: false,
  user_is_banned: false,
  user_is_muted: false,
  user_is_moderator: true,
  user_is_subscriber: true,
}

const publicFields = (user: SandboxUser, world: World) => ({
  ...commonFields(user, world),
  is_friend: false,
  is_blocked: false,
})

/** Fields independent of the viewer. */
function commonFields(user: SandboxUser, world: World) {
  const icon_img = user.icon ?? `${AVATAR}${user.serial % 8}.png`
  return {
    is_employee: user.employee,
    subreddit: profileFields(user, icon_img),
    snoovatar_size: null,
    awardee_karma: 0,
    id: user.id,
    verified: user.verified,
    is_gold: user.premium,
    is_mod: [...world.subforums.values()].some(({ moderators }) => moderators.includes(user)),
    awarder_karma: 0,
    has_verified_email: user.verified,
    icon_img,
    hide_from_robots: user.curated,
    link_karma: user.post_karma,
    pref_show_snoovatar: false,
    total_karma: user.post_karma + user.comment_karma,
    accept_chats: user.chats === 'open',
    name: user.name,
    created: user.created_s,
    created_utc: user.created_s,
    snoovatar_img: '',
    comment_karma: user.comment_karma,
    accept_followers: true,
    has_subscribed: true,
    accept_pms: true,
  }
}

/** Fullname of a user's own page, which is a subforum. */
export const profileName = ({ serial }: SandboxUser): string =>
  `t5_${(serial * 3 + 1).toString(36)}`

function profileFields(user: SandboxUser, icon_img: string) {
  return {
    default_set: true,
    user_is_contributor: null,
    banner_img: user.banner ?? '',
    user_is_banned: null,
    free_form_reports: true,
    community_icon: null,
    show_media: true,
    icon_color: '#94B3FF',
    user_is_muted: null,
    display_name: `u_${user.name}`,
    header_img: null,
    title: user.display_name,
    previous_names: [],
    over_18: user.settings.get('over_18') === true,
    icon_size: [256, 256],
    primary_color: '',
    icon_img,
    description: '',
    submit_link_label: '',
    header_size: null,
    restrict_posting: true,
    restrict_commenting: false,
    subscribers: 0,
    submit_text_label: '',
    is_default_icon: user.icon === null,
    link_flair_position: '',
    display_name_prefixed: `u/${user.name}`,
    key_color: '',
    name: profileName(user),
    is_default_banner: user.banner === null,
    url: `/user/${user.name}/`,
    quarantine: false,
    banner_size: null,
    user_is_moderator: null,
    accept_followers: true,
    public_description: user.bio,
    link_flair_enabled: false,
    disable_contributor_requests: false,
    subreddit_type: 'user',
    user_is_subscriber: null,
  }
}

/** `t5` object of a subforum; fields about the viewer are null for an anonymous one. */
export function renderSubforum(subforum: Subforum, { user }: Viewer): string {
  const forViewer = (fact: boolean) => (user === null ? null : fact)
  const data = {
    user_flair_background_color: null,
    submit_text_html: null,
    restrict_posting: true,
    user_is_banned: forViewer(user !== null && subforum.bans.has(user)),
    free_form_reports: true,
    wiki_enabled: null,
    user_is_muted: forViewer(false),
    user_can_flair_in_sr: null,
    display_name: subforum.name,
    header_img: null,
    title: subforum.title,
    icon_size: null,
    primary_color: '#0079d3',
    active_user_count: Math.ceil(subforum.subscribers / 180),
    icon_img: '',
    display_name_prefixed: `r/${subforum.name}`,
    accounts_active: Math.ceil(subforum.subscribers / 180),
    public_traffic: false,
    subscribers: subforum.subscribers,
    user_flair_richtext: [],
    name: `t5_${subforum.id}`,
    quarantine: subforum.access === 'quarantined',
    hide_ads: false,
    emojis_enabled: false,
    advertiser_category: '',
    public_description: subforum.description,
    comment_score_hide_mins: 60,
    user_has_favorited: forViewer(false),
    user_flair_template_id: null,
    // The platform escapes this address even with `raw_json=1`.
    community_icon: `https://styles.redditmedia.com/t5_${subforum.id}/styles/communityIcon.png?width=256&amp;s=5a1d`,
    banner_background_image: '',
    original_content_tag_enabled: false,
    submit_text: '',
    description_html: `<!-- SC_OFF -->${toHtml(subforum.description)}<!-- SC_ON -->`,
    spoilers_enabled: true,
    header_title: '',
    header_size: null,
    user_flair_position: 'right',
    all_original_content: false,
    has_menu_widget: false,
    is_enrolled_in_new_modmail: null,
    key_color: '',
    can_assign_user_flair: true,
    created: subforum.created_s,
    wls: subforum.over_18 ? null : 6,
    show_media_preview: true,
    submission_type: 'any',
    user_is_subscriber: forViewer(user?.subscribed.has(subforum) ?? false),
    disable_contributor_requests: false,
    is_crosspostable_subreddit: true,
    allow_videogifs: true,
    user_flair_type: 'text',
    allow_polls: true,
    collapse_deleted_comments: false,
    emojis_custom_size: null,
    public_description_html: `<!-- SC_OFF -->${toHtml(subforum.description)}<!-- SC_ON -->`,
    allow_videos: true,
    notification_level: null,
    can_assign_link_flair: true,
    accounts_active_is_fuzzed: false,
    submit_text_label: '',
    link_flair_position: 'left',
    user_sr_flair_enabled: null,
    user_flair_enabled_in_sr: true,
    allow_discovery: subforum.access === 'public',
    accept_followers: true,
    user_sr_theme_enabled: true,
    link_flair_enabled: subforum.flairs.length > 0,
    subreddit_type: subforumType(subforum.access),
    suggested_comment_sort: null,
    banner_img: '',
    user_flair_text: null,
    banner_background_color: '',
    show_media: true,
    id: subforum.id,
    user_is_moderator: forViewer(user !== null && subforum.moderators.includes(user)),
    over18: subforum.over_18,
    description: subforum.description,
    submit_link_label: '',
    user_flair_text_color: null,
    restrict_commenting: false,
    user_flair_css_class: null,
    allow_images: true,
    lang: 'en',
    whitelist_status: subforum.over_18 ? null : 'all_ads',
    url: `/r/${subforum.name}/`,
    created_utc: subforum.created_s,
    banner_size: null,
    mobile_banner_image: '',
    user_is_contributor: forViewer(user !== null && subforum.members.has(user)),
    allow_galleries: true,
  }
  return encode({ kind: 't5', data })
}

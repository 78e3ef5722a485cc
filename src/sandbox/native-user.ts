import { countUnread } from './inbox.ts'
import { encode } from './json.ts'
import type { Session, User, World } from './model.ts'

const AVATAR = 'https://www.redditstatic.com/avatars/defaults/v2/avatar_default_'

/** The `t2` object of a user. A suspended one shows a name and hardly more. */
export const renderUser = (user: User, world: World): string => encode(userThing(user, world))

/** The same before it is spelled, to stand inside of something else. */
export const userThing = (user: User, world: World) => ({
  kind: 't2',
  data: user.standing === 'suspended' ? husk(user) : about(user, world),
})

const husk = ({ name }: User) => ({
  awardee_karma: 0,
  is_blocked: false,
  is_suspended: true,
  total_karma: 0,
  name,
  link_karma: 0,
  comment_karma: 0,
})

/** The session's own record, wrapped as `t2`, with the write token. */
export const renderMe = ({ user, modhash }: Session, world: World): string =>
  encode({ kind: 't2', data: { ...bareMe(user, world), is_friend: false, modhash } })

/** What somebody is told about himself, without the write token that only cookies need. */
export function bareMe(user: User, world: World) {
  const seen = known(user, world)
  return {
    ...seen,
    subreddit: { ...seen.subreddit, ...OWN_PROFILE },
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

/** What only oneself is in the own profile. */
const OWN_PROFILE = {
  user_is_contributor: false,
  user_is_banned: false,
  user_is_muted: false,
  user_is_moderator: true,
  user_is_subscriber: true,
}

const about = (user: User, world: World) => ({
  ...known(user, world),
  is_friend: false,
  is_blocked: false,
})

/** What is the same whoever looks. */
function known(user: User, world: World) {
  const icon_img = user.icon ?? `${AVATAR}${user.serial % 8}.png`
  return {
    is_employee: user.employee,
    subreddit: profile(user, icon_img),
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

/** The fullname of somebody's own page, which is a place like others. */
export const profileName = ({ serial }: User): string => `t5_${(serial * 3 + 1).toString(36)}`

function profile(user: User, icon_img: string) {
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

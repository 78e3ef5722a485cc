import type { Naming } from '../../core/forum/naming.ts'
import { inboxPaths } from '../http/routes.ts'

/** The purpose of operations: what each does, and when to use it. */
type Texts = Readonly<Record<string, string>>

const SERVICE: Texts = {
  'GET /health':
    'Answers as soon as the process accepts calls. Use it for a liveness probe, and to see which sources end soon.',
  'GET /health/ready':
    'Answers 200 while the service can do its work. Use it for a readiness probe or a load balancer.',
  'GET /account/me':
    'Returns the account of the key with its plan, balance and monitor slots. Use it to check a key, or the balance before a large job.',
  'GET /account/problems':
    'Lists each fault with its cause and its fix. Use it first when matches are missing, to watch an installation from a program, or to show what needs a person.',
  'GET /account/activity':
    'Counts matches and deliveries of each hour of 24 hours or 7 days, or of each day of 30 days. Use it for charts and for a list of the newest matches.',
  'GET /account/payments':
    'Lists every change of the balance that is not a call. Use it to reconcile credits with your own records.',
  'GET /account/usage':
    'Counts calls, errors and cost in each hour or day. Use it for charts, or to find the calls that cost most.',
  'POST /drafts':
    'Stores a write without doing it. Use it when a program proposes a comment, vote or message and a person decides.',
  'GET /drafts': 'Lists drafts of every status. Use it to show a person what waits for a decision.',
  'GET /drafts/:id':
    'Returns one draft. Use it to follow a proposal until it is approved, declined or expired.',
  'POST /drafts/:id/approve':
    'Does the write of a draft once. Use it for the decision of a person; a repeat does not write again.',
  'POST /drafts/:id/decline':
    'Closes a draft without writing. Use it for the decision of a person.',
  'POST /feedback':
    'Stores a report, idea or missing capability for the operator. Use it when something is wrong and support should see the evidence.',
  'GET /feedback/:id':
    'Returns one feedback with its answer. Use it to follow a report that you sent.',
}

const PROFILE = 'Acts as the account of the session.'
const TREE =
  'Returns a post with its comments as a tree. Use it to read a discussion; use the search for single comments.'
const OWN = 'Use it for a backup, or to act on your own history.'

/** Reads and writes, below the API's prefix. */
const PLATFORM: Texts = {
  'POST /login':
    'Signs in with a name and password and returns the cookies. Use it once per account, then send the cookies with each write.',
  'POST /comment':
    'Writes a comment through the page in a browser. Use it when the call over plain HTTP is refused; it is slower.',
  'POST /v2/comment':
    'Writes a comment over plain HTTP. Use it first: it is the faster of the two ways to comment.',
  'POST /vote':
    'Votes up or down, or takes a vote back. Use it for a decision of the account holder.',
  'POST /dm':
    'Sends a message to a user. Use it for a first message or for a reply in a conversation.',
  'POST /dm/threads':
    'Lists the conversations of the account. Use it to find unread messages and the id of a thread.',
  'POST /dm/messages':
    'Lists the messages of a conversation. Use it with a thread_id of the list of conversations.',
  'POST /profile/description': `Replaces the text of the profile. Use it to keep a profile in line with your own records. ${PROFILE}`,
  'POST /profile/display-name': `Replaces the name shown on the profile; the user name stays. Use it to rename a profile. ${PROFILE}`,
  'POST /profile/avatar': `Replaces the picture of the profile. Use it with a picture of your own. ${PROFILE}`,
  'POST /profile/banner': `Replaces the banner of the profile. Use it with a picture of your own. ${PROFILE}`,
  'GET /posts':
    'Lists the posts of a subforum in a chosen order. Use it to read a place once; use a monitor to watch it.',
  'GET /sub/:name/top':
    'Lists the highest rated posts of a period. Use it for summaries and research.',
  'GET /post/:id':
    'Returns one post without comments. Use it to refresh counts, or to look up an id that you stored.',
  'GET /post/:id/visibility':
    'Compares how others see a post. Use it to learn if your post was removed without a notice.',
  'GET /by_id/:fullnames':
    'Returns several posts in one call. Use it to refresh many stored ids at the price of one read.',
  'GET /search':
    'Finds posts by keyword. Use it to look back; use a monitor for posts still to come.',
  'GET /search/communities':
    'Finds each subforum that fits a keyword. Use it to choose the places of a monitor.',
  'GET /search/comments':
    'Finds posts whose comments contain the words. Use it to find discussions; use the deep search for the comments themselves.',
  'GET /search/comments/deep':
    'Finds comments, or their authors, by reading the trees of found posts. Use it for research where each comment counts; it takes longer and costs ten times a read.',
  'GET /search/media':
    'Finds posts with images, galleries or video, with the addresses of the files. Use it to collect media.',
  'GET /search/users': 'Finds users by name. Use it when you know only a part of a name.',
  'GET /comments': `${TREE} Takes the address or the id of the post.`,
  'GET /post/:id/comments': TREE,
  'GET /comments/:postId': `${TREE} Equals the path below /post, for clients that expect this one.`,
  'GET /comment/:id':
    'Returns one comment. Use it to look up a stored id, with its replies if needed.',
  'POST /comments/verify':
    'Checks many comments in one call. Use it to learn which of your comments were deleted or removed.',
  'GET /user/:name':
    'Returns the public profile of a user. Use it to judge an author before you answer.',
  'GET /user/:name/comments':
    'Lists the public comments of a user. Use it to read the history of an author.',
  'GET /user/:name/submitted':
    'Lists the public posts of a user. Use it to read the history of an author.',
  'GET /user/:name/achievements': 'Lists the badges of a profile. Use it where reputation matters.',
  'GET /sub/:name/about':
    'Returns the size, age and settings of a subforum. Use it before you post or monitor there.',
  'GET /sub/:name/comments':
    'Lists the newest comments of all discussions of a subforum. Use it to read a place once; use a monitor to watch it.',
  'GET /sub/:name/rules': 'Lists the rules of a subforum. Use it before you write there.',
  'GET /sub/:name/wiki/:page':
    'Returns a page of the wiki of a subforum. Use it for its guides and longer rules.',
  'GET /COMMUNITIES/popular':
    'Lists each subforum that the platform calls popular. Use it to explore a platform.',
  'GET /COMMUNITIES/new':
    'Lists each subforum that was created lately. Use it to find new places early.',
  'GET /COMMUNITIES/default':
    'Lists each subforum that new users are shown. Use it to explore a platform.',
  'GET /feed':
    'Lists the posts of the front page as your account sees it. Use it to read your subscriptions in one call.',
  'GET /sub/:name/moderators':
    'Lists the moderators and their permissions. Use it to find a person to ask; it needs a session.',
  'GET /user/:name/upvoted': `Lists your own votes. ${OWN}`,
  'GET /user/:name/saved': `Lists your own bookmarks. ${OWN}`,
  'GET /user/:name/hidden': `Lists your hidden items. ${OWN}`,
  'GET /user/:name/gilded': `Lists your items with awards. ${OWN}`,
  'GET /sources':
    'Lists the sources of this installation with the calls that each supports. Use it before you name a source in another call.',
}

const MONITORING: Texts = {
  'POST /add':
    'Starts to watch places for posts and comments that match a filter. Use it once per topic; preview the filter first.',
  'GET /list':
    'Returns all monitors with their filters and targets. Use it to show them, or to find an id.',
  'POST /update':
    'Replaces the given fields of a monitor. Use it to change a filter or target, or to pause and resume.',
  'POST /remove':
    'Ends a monitor and frees its slots. Use it when a topic is over; pause it if you may need it again.',
  'POST /acknowledge':
    'Marks alarms as seen. Use it when a person takes care of a silent or degraded monitor.',
  'GET /health':
    'Reports coverage, freshness, gaps and suppressed matches of the last 24 hours. Use it to know if silence means that nothing was posted.',
  'GET /coverage':
    'Reports by day what a monitor has observed, and the gaps with their reasons. Use it to look back further than a day.',
  'POST /webhook/update':
    'Replaces the given fields of a target. Use it to rename, pace or disable a receiver, or to resume it.',
  'POST /webhook/rotate':
    'Creates a new signing secret. Use it at regular times, and at once if the secret may be known to others. Only this answer has the new one.',
  'POST /webhook/create':
    'Adds a receiver of matches. Use it before a monitor names it, then send a test. Only this answer has the secret: show it to the person.',
  'GET /webhook/list':
    'Returns all targets with their state. Use it to show them, or to find one that was paused.',
  'POST /webhook/test':
    'Sends one example delivery at once and reports the answer. Use it after each change of a receiver; it resumes a paused one.',
  'POST /webhook/delete':
    'Removes a receiver for good. Use it when a receiver is gone; disable it if it comes back.',
  'GET /items':
    'Returns stored matches by cursor. Use it to pull matches without a webhook, or to catch up after a failure.',
  'GET /stream':
    'Sends matches as they are found. Use it in a program that stays connected and needs no public address.',
  'GET /feed/:token':
    'Returns the newest matches for a feed reader. Use it where only an address can be configured.',
  'POST /feed/rotate':
    'Creates a new secret address of the feed. Use it if the address may be known to others.',
  'GET /deliveries':
    'Lists deliveries with their status and last error. Use it to find failures and their causes.',
  'GET /deliveries/request':
    'Returns what was sent, with its signed headers. Use it when your receiver refuses a signature.',
  'POST /deliveries/redeliver':
    'Sends deliveries again. Use it after a receiver was repaired; try dry_run first to count them.',
  'POST /preview':
    'Applies a filter to the items that its places show now. Use it while you write a filter, before you create the monitor.',
  'GET /why':
    'Traces an item or a delivery from first sight to the receiver. Use it when a match is missing or was not expected.',
}

const ARCHIVE: Texts = {
  'GET /search':
    'Finds past items by the grammar of monitors. Use it to look back, and to try words before you watch them.',
  'GET /export':
    'Sends all past items that match as a file. Use it for analyses elsewhere, and before items expire.',
  'GET ':
    'Reports the age and the size of the archive. Use it to know how far back a search can reach.',
}

const INBOX: Texts = {
  'GET ':
    'Returns matches with excerpt, terms and state. Use it to read, search and triage what the monitors found.',
  'GET /ids':
    'Returns the ids of matches alone, thousands a call. Use it to show any part of a long list without reading all of it.',
  'GET /item':
    'Returns one match with its whole text. Use it to read what the excerpt of the list cuts off.',
  'GET /counts':
    'Counts the matches of each state. Use it for a badge, or to see if something is left.',
  'POST /update':
    'Marks matches as read, answered or dismissed, stars or labels them. Use it for one match or many at once. The action_id of the answer undoes it.',
  'POST /undo':
    'Restores the states before a change, or the filter before a mute. Use it after a mistake; what was changed since stays.',
  'GET /history':
    'Lists the changes with the key that made each. Use it to see who did what in a team.',
  'GET /context':
    'Reads the post and the comments around a match. Use it before you answer one whose excerpt is not enough.',
  'POST /mute':
    'Shows how a monitor would be edited and which past matches it would lose, and makes the edit with apply. Use it for an author, a place or a phrase that is not wanted.',
}

const under = (prefix: string, texts: Texts, words: Naming): [string, string][] =>
  Object.entries(texts).map(([route, text]) => {
    const [method, path = ''] = route.split(' ')
    return [`${method} ${prefix}${path.replace('COMMUNITIES', words.communities)}`, text]
  })

/** Texts of all operations, by method and path. */
export const operationTexts = (words: Naming): ReadonlyMap<string, string> =>
  new Map([
    ...under('', SERVICE, words),
    ...under(words.api, PLATFORM, words),
    ...under(words.monitor, MONITORING, words),
    ...under(`/${words.platform}/archive`, ARCHIVE, words),
    ...under(inboxPaths(words)[0], INBOX, words),
  ])

// oxlint-disable typescript/await-thenable -- its types do not declare the promises that it returns
// A session with the unmodified snoowrap package; prints its results as JSON.
import Snoowrap from 'snoowrap'

const facts = JSON.parse(process.env.STORY)
const r = new Snoowrap({
  userAgent: 'snoowrap-story/1.0',
  clientId: facts.client_id,
  clientSecret: facts.client_secret,
  refreshToken: facts.refresh_token,
})
const output = {}

/** The status of an error, or the error code inside a 200. */
const refusal = async (act) => {
  try {
    await act()
    return null
  } catch (error) {
    return String(error.statusCode ?? error.message)
  }
}

const me = await r.getMe()
output.me = [me.name, me.inbox_count]
output.subscribed = (await r.getSubscriptions({ limit: 100 })).map((it) => it.display_name)

const wire = await r.getNew('worldwire', { limit: 100 })
output.new = (await wire.fetchMore({ amount: 180 })).map((it) => it.id)
const place = await r.getSubreddit(facts.place).fetch()
output.about = [place.display_name, place.subscribers > 0, place.user_is_subscriber]
output.moderators = (await r.getSubreddit(facts.place).getModerators()).map((it) => it.name)
output.rules = (await r.getSubreddit(facts.place).getRules()).rules.map((it) => it.short_name)
output.wiki = [...(await r.getSubreddit(facts.place).getWikiPages())].map((it) => it.title)
output.wiki_text = await r.getSubreddit(facts.place).getWikiPage('index').content_md
const hits = await r.search({ query: 'recommend', sort: 'new', time: 'all', limit: 100 })
output.search = hits.map((it) => `${it.title} ${it.selftext}`)

// The platform expands one branch at a time per user and rejects concurrent requests.
r.config({ requestDelay: 50, retryErrorCodes: [429, 502, 503, 504, 522] })
const thread = await r
  .getSubmission(facts.thread)
  .expandReplies({ limit: Infinity, depth: Infinity })
r.config({ requestDelay: 0 })
const count = (comments) => comments.reduce((sum, it) => sum + 1 + count(it.replies), 0)
output.thread = [thread.title, count(thread.comments), thread.num_comments]

const peer = await r.getUser(facts.peer).fetch()
const { trophies } = await r.getUser(facts.peer).getTrophies()
const remarks = await (await r.getUser(facts.peer).getComments({ limit: 100 })).fetchAll()
output.peer = [peer.name, peer.comment_karma, trophies.length > 0, remarks.length]

output.saved = (
  await (await r.getUser(facts.username).getSavedContent({ limit: 100 })).fetchAll()
).map((it) => it.name)
const inbox = await (await r.getInbox({ limit: 100 })).fetchAll()
output.inbox = [...new Set(inbox.map((it) => it.name.slice(0, 2)))]
const unread = await r.getUnreadMessages({ limit: 100 })
output.unread = unread.length
await r.markMessagesAsRead(unread.slice(0, 2))

const comment = await r.getSubmission(facts.thread).reply('a comment by snoowrap')
output.comment = [comment.name, comment.author.name, comment.parent_id]
const answer = await comment.reply('an answer by snoowrap')
await answer.edit('an answer & its < edit')
output.edited = (await r.getComment(answer.id).fetch()).body
await r.getComment(comment.id).upvote()
await r.getComment(comment.id).save()
await r.getSubmission(facts.thread).downvote()
const gone = await r.getSubmission(facts.thread).reply('gone in a moment')
await r.getComment(gone.id).delete()
await r.getSubreddit(facts.place).unsubscribe()
await r.composeMessage({
  to: facts.peer,
  subject: 'a subject by snoowrap',
  text: 'a text by snoowrap',
})
const [message] = await r.getSentMessages({ limit: 1 })
output.message = [message.name, message.subject, message.dest]
await r.getMessage(message.id).reply('one more thing')

output.locked = await refusal(() => r.getSubmission(facts.locked).reply('hello?'))
output.unknown_user = await refusal(() => r.getUser('no_such_user').fetch())
output.private = await refusal(() => r.getNew('patronlounge'))

console.log(JSON.stringify(output))
process.exit(0)

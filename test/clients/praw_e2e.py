"""A session with the unmodified PRAW package; prints its results as JSON."""

import json
import os

import praw
import prawcore

facts = json.loads(os.environ["STORY"])
reddit = praw.Reddit(
    client_id=facts["client_id"],
    client_secret=facts["client_secret"],
    username=facts["username"],
    password=facts["password"],
    user_agent="praw-story/1.0",
    check_for_updates=False,
    ratelimit_seconds=1,
)
output = {}


def refusal(act):
    """The status of an error, or the error code inside a 200."""
    try:
        act()
    except praw.exceptions.RedditAPIException as error:
        return error.items[0].error_type
    except prawcore.exceptions.ResponseException as error:
        return str(error.response.status_code)
    return None


me = reddit.user.me()
output["me"] = [me.name, me.inbox_count]
output["karma"] = sum(k["link_karma"] for k in reddit.user.karma().values())
output["subscribed"] = [place.display_name for place in reddit.user.subreddits(limit=None)]
output["blocked"] = [user.name for user in reddit.user.blocked()]
output["prefs"] = reddit.user.preferences()["numsites"]

output["new"] = [post.id for post in reddit.subreddit("worldwire").new(limit=280)]
output["all"] = len(list(reddit.subreddit("worldwire").new(limit=None)))
place = reddit.subreddit(facts["place"])
output["about"] = [place.display_name, place.subscribers > 0, place.user_is_subscriber]
output["moderators"] = [user.name for user in place.moderator()]
output["rules"] = [rule.short_name for rule in place.rules]
output["wiki"] = [page.name for page in place.wiki]
output["wiki_text"] = place.wiki["index"].content_md
output["comments"] = len(list(place.comments(limit=130)))
output["search"] = [
    f"{post.title} {post.selftext}"
    for post in reddit.subreddit("all").search("recommend", sort="new", limit=120)
]

thread = reddit.submission(facts["thread"])
thread.comments.replace_more(limit=None)
output["thread"] = [thread.title, len(thread.comments.list()), thread.num_comments]

peer = reddit.redditor(facts["peer"])
output["peer"] = [
    peer.name,
    peer.comment_karma,
    len(peer.trophies()) > 0,
    len(list(peer.comments.new(limit=None))),
]

output["saved"] = [thing.fullname for thing in me.saved(limit=None)]
output["upvoted"] = all(thing.likes for thing in me.upvoted(limit=None))
output["inbox"] = list({thing.fullname[:2] for thing in reddit.inbox.all(limit=None)})
unread = list(reddit.inbox.unread(limit=None))
output["unread"] = len(unread)
reddit.inbox.mark_read(unread[:2])
output["threads"] = [len(message.replies) for message in reddit.inbox.messages(limit=None)]

comment = thread.reply(body="a comment by PRAW")
output["comment"] = [comment.fullname, comment.author.name, comment.parent_id]
answer = comment.reply(body="an answer by PRAW")
output["edited"] = answer.edit(body="an answer & its < edit").body
comment.upvote()
comment.save()
thread.downvote()
gone = thread.reply(body="gone in a moment")
gone.delete()
place.unsubscribe()
peer.message(subject="a subject by PRAW", message="a text by PRAW")
[message] = list(reddit.inbox.sent(limit=1))
output["message"] = [message.fullname, message.subject, message.dest.name]
output["reply"] = message.reply(body="one more thing").parent_id == message.fullname

output["locked"] = refusal(lambda: reddit.submission(facts["locked"]).reply(body="hello?"))
output["unknown_user"] = refusal(lambda: reddit.redditor("no_such_user").id)
output["unknown_subforum"] = refusal(lambda: list(reddit.subreddit("no_such_subforum").new(limit=1)))
output["private"] = refusal(lambda: list(reddit.subreddit("patronlounge").new(limit=1)))
output["mute"] = refusal(lambda: reddit.redditor(facts["peer"]).message(subject="", message="text"))

print(json.dumps(output))

// Made by `bun scripts/client.ts` from the OpenAPI document; do not edit.

export interface paths {
  '/health': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Liveness of the service
     * @description Answers as soon as the process accepts calls. Use it for a liveness probe, and to see which sources end soon. Needs no key. Always 200; cached for a few seconds. Counts towards the rate limit of `health` of the caller's address.
     */
    get: operations['health']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/health/ready': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Readiness of the service
     * @description Answers 200 while the service can do its work. Use it for a readiness probe or a load balancer. Needs no key. 503 while it does not. Counts towards the rate limit of `health` of the caller's address.
     */
    get: operations['ready']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/account/problems': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * What does not work, and what waits for you
     * @description Lists each fault with its cause and its fix. Use it to watch an installation from a program, or to show what needs a person. Failing and paused webhooks, sources that cannot be read, late feeds, stopped monitors, used-up credits and undecided drafts, each with the next step. Cheap enough to repeat every few seconds. Takes any key. Counts towards the rate limit of `account`.
     */
    get: operations['accountProblems']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/account/activity': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your last 24 hours: matches and deliveries by hour, and the newest matches
     * @description Counts matches and deliveries of each hour. Use it for charts and for a list of the newest matches. For an overview. To receive every match, use a webhook or the items of each monitor. Takes any key. Counts towards the rate limit of `dashboard`.
     */
    get: operations['accountActivity']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/account/me': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your account: plan, credits, calls
     * @description Returns the account of the key with its plan, balance and monitor slots. Use it to check a key, or the balance before a large job. Takes any key. Counts towards the rate limit of `account`.
     */
    get: operations['accountMe']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/account/payments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your payments, newest first
     * @description Lists every change of the balance that is not a call. Use it to reconcile credits with your own records. Takes any key. Counts towards the rate limit of `account`.
     */
    get: operations['accountPayments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/account/usage': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your calls and their cost, by hour or day
     * @description Counts calls, errors and cost in each hour or day. Use it for charts, or to find the calls that cost most. Takes any key. Counts towards the rate limit of `dashboard`.
     */
    get: operations['accountUsage']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/drafts': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your drafts, newest first
     * @description Lists drafts of every status. Use it to show a person what waits for a decision. Takes any key. Counts towards the rate limit of `management`.
     */
    get: operations['listDrafts']
    put?: never
    /**
     * Create a draft of a write for a person to approve; it holds no session
     * @description Stores a write without doing it. Use it when a program proposes a comment, vote or message and a person decides. Takes a key with the scope `write`. Counts towards the rate limit of `management`.
     */
    post: operations['makeDraft']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/drafts/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * One draft and its outcome
     * @description Returns one draft. Use it to follow a proposal until it is approved, declined or expired. Takes any key. Counts towards the rate limit of `management`.
     */
    get: operations['findDraft']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/drafts/{id}/approve': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Approve a draft: it is written once, as the account whose session you send
     * @description Does the write of a draft once. Use it for the decision of a person; a repeat does not write again. Takes a key with the scope `write`. Counts towards the rate limit of `management`.
     */
    post: operations['approveDraft']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/drafts/{id}/decline': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Decline a draft: it is not written
     * @description Closes a draft without writing. Use it for the decision of a person. Takes a key with the scope `write`. Counts towards the rate limit of `management`.
     */
    post: operations['declineDraft']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/login': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Sign in, for the cookies of an account's session
     * @description Signs in with a name and password and returns the cookies. Use it once per account, then send the cookies with each write. Nothing is stored. A login over HTTP with an unreadable answer is repeated in a browser. If the platform requires a human check, sign in with an ordinary browser of the account's owner and use its cookies as the session. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `login`.
     */
    post: operations['login']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/comment': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Comment, on the page in a browser
     * @description Writes a comment through the page in a browser. Use it when the call over plain HTTP is refused; it is slower. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `comment`.
     */
    post: operations['comment']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/v2/comment': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Comment, over plain HTTP
     * @description Writes a comment over plain HTTP. Use it first: it is the faster of the two ways to comment. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `comment`.
     */
    post: operations['commentV2']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/vote': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Vote on a post or a comment
     * @description Votes up or down, or takes a vote back. Use it for a decision of the account holder. That a vote was taken does not prove that it counts: the platform may leave it out without a word. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `vote`.
     */
    post: operations['vote']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/dm': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Send a message; by chat if the recipient takes no mail
     * @description Sends a message to a user. Use it for a first message or for a reply in a conversation. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
     */
    post: operations['dm']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/dm/threads': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Your conversations, most recently active first
     * @description Lists the conversations of the account. Use it to find unread messages and the id of a thread. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
     */
    post: operations['dmThreads']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/dm/messages': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * The messages of a conversation, newest first
     * @description Lists the messages of a conversation. Use it with a thread_id of the list of conversations. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
     */
    post: operations['dmMessages']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/profile/description': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Set the profile description
     * @description Replaces the text of the profile. Use it to keep a profile in line with your own records. Acts as the account of the session. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `profile`.
     */
    post: operations['profileDescription']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/profile/display-name': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Set the display name
     * @description Replaces the name shown on the profile; the user name stays. Use it to rename a profile. Acts as the account of the session. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `profile`.
     */
    post: operations['profileDisplayName']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/profile/avatar': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Change your picture
     * @description Replaces the picture of the profile. Use it with a picture of your own. Acts as the account of the session. A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. Counts towards the rate limit of `uploads`. The operator can disable it as `profile`.
     */
    post: operations['profileAvatar']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/profile/banner': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Change your banner
     * @description Replaces the banner of the profile. Use it with a picture of your own. Acts as the account of the session. A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. Counts towards the rate limit of `uploads`. The operator can disable it as `profile`.
     */
    post: operations['profileBanner']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/posts': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Posts of a subforum
     * @description Lists the posts of a subforum in a chosen order. Use it to read a place once; use a monitor to watch it. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['posts']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/top': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The best posts of a subforum
     * @description Lists the highest rated posts of a period. Use it for summaries and research. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subTop']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/post/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * One post
     * @description Returns one post without comments. Use it to refresh counts, or to look up an id that you stored. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['post']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/post/{id}/visibility': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Visibility of a post to others
     * @description Compares how others see a post. Use it to learn if your post was removed without a notice. confident is false if the platform gives no definite answer. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['postVisibility']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/by_id/{fullnames}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Posts by their ids
     * @description Returns several posts in one call. Use it to refresh many stored ids at the price of one read. In the order asked, each once; those the platform does not show are listed as missing. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['byId']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search posts
     * @description Finds posts by keyword. Use it to look back; use a monitor for posts still to come. The filters and sort_type work on the page that was read; with any of them the answer carries meta. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['search']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search/communities': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search communities
     * @description Finds each subforum that fits a keyword. Use it to choose the places of a monitor. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['searchCommunities']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search/comments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search posts by their comments
     * @description Finds posts whose comments contain the words. Use it to find discussions; use the deep search for the comments themselves. Posts with a comment in which the words of q occur. The platform has no search of comments: its search finds posts by their own text, and the comments of those are read, one tree each, of no more than limit posts and [limits] tree_fetches of the service (8) a call. A page may therefore be short or empty while after leads to the next posts. meta.searched counts the posts read, meta.comments_scanned their comments; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['searchComments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search/comments/deep': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search comments
     * @description Finds comments, or their authors, by reading the trees of found posts. Use it for research where each comment counts. Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: the platform searches posts by their own text only, so comments under other posts are not found, and deleted comments and those deep in a tree may be missed. meta.posts_expanded and meta.comments_scanned say what was read; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['searchCommentsDeep']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search/media': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search posts with pictures or video
     * @description Finds posts with images, galleries or video, with the addresses of the files. Use it to collect media. limit bounds the posts searched; scanned is their actual number. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['searchMedia']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/search/users': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search users by a part of their name
     * @description Finds users by name. Use it when you know only a part of a name. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['searchUsers']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/comments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The full comment tree of a post
     * @description Returns a post with its comments as a tree. Use it to read a discussion; use the search for single comments. Takes the address or the id of the post. Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['comments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/post/{id}/comments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * A post and its comments
     * @description Returns a post with its comments as a tree. Use it to read a discussion; use the search for single comments. Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['postComments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/comments/{postId}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * A post and its comments, by an alternative path
     * @description Returns a post with its comments as a tree. Use it to read a discussion; use the search for single comments. Equals the path below /post, for clients that expect this one. Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['commentsOfPost']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/comment/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * One comment, as sent by the platform
     * @description Returns one comment. Use it to look up a stored id, with its replies if needed. replies=true fills data.replies from the tree. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['commentById']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/comments/verify': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Check if comments still exist
     * @description Checks many comments in one call. Use it to learn which of your comments were deleted or removed. One entry per id, in the order of the request, including repeats. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    post: operations['verifyComments']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Public profile of a user
     * @description Returns the public profile of a user. Use it to judge an author before you answer. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['user']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/comments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Comments of a user
     * @description Lists the public comments of a user. Use it to read the history of an author. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userComments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/submitted': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Posts of a user
     * @description Lists the public posts of a user. Use it to read the history of an author. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userSubmitted']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/achievements': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Achievements of a user
     * @description Lists the badges of a profile. Use it where reputation matters. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userAchievements']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/about': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Description of a subforum
     * @description Returns the size, age and settings of a subforum. Use it before you post or monitor there. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subAbout']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/comments': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The newest comments of a subforum
     * @description Lists the newest comments of all discussions of a subforum. Use it to read a place once; use a monitor to watch it. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subComments']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/rules': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The rules of a subforum
     * @description Lists the rules of a subforum. Use it before you write there. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subRules']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/wiki/{page}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * A wiki page of a subforum
     * @description Returns a page of the wiki of a subforum. Use it for its guides and longer rules. The name of a subpage contains %2F. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subWiki']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/subforums/popular': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The platform's list of popular subforums
     * @description Lists each subforum that the platform calls popular. Use it to explore a platform. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['popularDirectory']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/subforums/new': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The platform's list of new subforums
     * @description Lists each subforum that was created lately. Use it to find new places early. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['newDirectory']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/subforums/default': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The platform's list of default subforums
     * @description Lists each subforum that new users are shown. Use it to explore a platform. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['defaultDirectory']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/feed': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Front page of your own account
     * @description Lists the posts of the front page as your account sees it. Use it to read your subscriptions in one call. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['feed']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sub/{name}/moderators': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Moderators of a subforum
     * @description Lists the moderators and their permissions. Use it to find a person to ask; it needs a session. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['subModerators']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/upvoted': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * What your own account has voted up
     * @description Lists your own votes. Use it for a backup, or to act on your own history. name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userUpvoted']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/saved': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * What your own account has saved
     * @description Lists your own bookmarks. Use it for a backup, or to act on your own history. name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userSaved']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/hidden': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * What your own account has hidden
     * @description Lists your hidden items. Use it for a backup, or to act on your own history. name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userHidden']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/user/{name}/gilded': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * What of your own account was gilded
     * @description Lists your items with awards. Use it for a backup, or to act on your own history. name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
     */
    get: operations['userGilded']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/api/forum/sources': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Sources and what each can do
     * @description Lists the sources of this installation with the calls that each supports. Use it before you name a source in another call. The first source answers calls without the parameter source. A call that a source has no means for is answered with 501 NOT_SUPPORTED_BY_SOURCE. Takes a key with the scope `read`. Counts towards the rate limit of `management`.
     */
    get: operations['sources']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/add': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Create a monitor
     * @description Starts to watch places for posts and comments that match a filter. Use it once per topic; preview the filter first. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorAdd']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/list': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your monitors, and your slots
     * @description Returns all monitors with their filters and targets. Use it to show them, or to find an id. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorList']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/update': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Update, pause or resume a monitor; past items are never replayed
     * @description Replaces the given fields of a monitor. Use it to change a filter or target, or to pause and resume. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorUpdate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/remove': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Remove a monitor; its deliveries stay readable
     * @description Ends a monitor and frees its slots. Use it when a topic is over; pause it if you may need it again. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorRemove']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/acknowledge': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Acknowledge the open alarms of a monitor
     * @description Marks alarms as seen. Use it when a person takes care of a silent or degraded monitor. Ends their repeats; an alarm stays open until its condition is over, which is then delivered too. acknowledged counts the alarms that were not acknowledged before. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorAcknowledge']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/health': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Health and coverage of a monitor
     * @description Reports coverage, freshness, gaps and suppressed matches of the last 24 hours. Use it to know if silence means that nothing was posted. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorHealth']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/certificate': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Signed certificate of what a monitor observed
     * @description Makes a signed statement of what a monitor observed in some days: verified times, gaps, polls, deliveries. Use it to prove to others what was watched and what was not. Days of UTC, from and to included, at most 400; without them the last 30. A creation time is complete if audits or ids have verified it and no gap or event lies over it; anything else says why. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorCertificate']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/update': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Update a target: address, name, active state, rate limit, ordering, credentials
     * @description Replaces the given fields of a target. Use it to rename, pace or disable a receiver, or to resume it. signatures adds a key for asymmetric signatures, or removes it. A new url has the same kind and is checked as at creation; id and secret stay, pending deliveries go to it, and its health begins again. Send a test afterwards. The address of kind email cannot change, because its owner has agreed. Pending deliveries of a disabled target fail as webhook_paused and can be redelivered. A paused target stays paused until a test succeeds. token replaces the stored credentials, for kind mqtt together with username; a new url does not keep them. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorWebhookUpdate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/rotate': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Rotate the secret of a target; it is shown only once
     * @description Creates a new signing secret. Use it at regular times, and at once if the secret may be known to others. For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorWebhookRotate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/create': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Register a target; its secret is shown only once
     * @description Adds a receiver of matches. Use it before a monitor names it, then send a test. Kind email takes mailto: and one address. It is active once its recipient has agreed on the page linked in the confirmation mail. The answer has confirmation: sent, or an error code; a test sends the mail again. An address gets at most three such mails a day. Kinds ntfy, telegram, gotify, matrix and mqtt take token, and mqtt username too; credentials within url are removed from it and stored encrypted. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorWebhookCreate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/list': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your targets and their health, without their secrets
     * @description Returns all targets with their state. Use it to show them, or to find one that was paused. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorWebhookList']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/test': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Send a test delivery, signed like a real one
     * @description Sends one example delivery at once and reports the answer. Use it after each change of a receiver; it resumes a paused one. Takes a key with the scope `monitor`. Counts towards the rate limit of `webhook_test`.
     */
    post: operations['postForumMonitorWebhookTest']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/webhook/delete': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Remove a target and drop its pending deliveries
     * @description Removes a receiver for good. Use it when a receiver is gone; disable it if it comes back. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorWebhookDelete']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/items': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Matches of a monitor, oldest first
     * @description Returns stored matches by cursor. Use it to pull matches without a webhook, or to catch up after a failure. Fresh matches are stored for 14 days, with or without a webhook. Repeat with the after of the last answer for newer matches. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorItems']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/stream': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Matches of a monitor as server-sent events
     * @description Sends matches as they are found. Use it in a program that stays connected and needs no public address. Each event is named match, and its data equals the body of a webhook. Starts with new matches, after Last-Event-ID, or after the after of items. A comment is sent every 15 seconds; the stream ends after an hour, and clients reconnect. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorStream']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/feed/{token}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * A monitor's matches as an Atom feed
     * @description Returns the newest matches for a feed reader. Use it where only an address can be configured. Needs no key: anyone with the address can read it. It is the feed_url of the monitor. Counts towards the rate limit of `feeds` of the caller's address.
     */
    get: operations['getForumMonitorFeedByToken']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/feed/rotate': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Replace the feed address of a monitor; the old one stops at once
     * @description Creates a new secret address of the feed. Use it if the address may be known to others. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorFeedRotate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/deliveries': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Deliveries and their outcomes, newest first
     * @description Lists deliveries with their status and last error. Use it to find failures and their causes. Filters combine. q finds an id by its beginning, such as dlv_8fK2, or text in the items; one call reads at most 1000 deliveries for it, so that a page may have fewer rows than limit. Pass next_before as before for the next page. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorDeliveries']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/deliveries/redeliver': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Redeliver ended deliveries
     * @description Sends deliveries again. Use it after a receiver was repaired; try dry_run first to count them. By delivery_id, or by time range; without status, those that failed or were dead-lettered. The delivery_id and body stay the same, and the retry schedule starts over. skipped counts deliveries that cannot be sent: already pending, target removed, paused or disabled, or content erased because of its age. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorDeliveriesRedeliver']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/feedback': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your feedback, newest first
     * @description Lists the feedback of your account. Use it to look for answers of the operator. Takes any key. Counts towards the rate limit of `feedback`.
     */
    get: operations['listFeedback']
    put?: never
    /**
     * Send feedback to the operator
     * @description Stores a report, idea or missing capability for the operator. Use it when something is wrong and support should see the evidence. Takes any key. Counts towards the rate limit of `feedback`.
     */
    post: operations['sendFeedback']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/feedback/{id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * One feedback and its answer
     * @description Returns one feedback with its answer. Use it to follow a report that you sent. Takes any key. Counts towards the rate limit of `feedback`.
     */
    get: operations['findFeedback']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/preview': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Preview the matches of a filter in its current feeds
     * @description Applies a filter to the items that its places show now. Use it while you write a filter, before you create the monitor. Matches with their enrichment, counts of items by keyword and by condition, and an estimate of matches a day. With item_id: why that item does or does not match. Free; nothing is delivered. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    post: operations['postForumMonitorPreview']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/monitor/why': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Explain why an item was delivered, withheld or not matched
     * @description Traces an item or a delivery from first sight to the receiver. Use it when a match is missing or was not expected. By delivery_id, or by id (of a monitor) and item_id. Where and when the item was first observed, the verdict of each condition of the filter, its enrichment, the delivery decision, and each attempt with the answer of the receiver. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorWhy']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
}
export type webhooks = Record<string, never>
export interface components {
  schemas: {
    Error: {
      /** @description A code, or a sentence that names the field. */
      error: string
      /**
       * @description Error code, for programs.
       * @enum {string}
       */
      code:
        | 'missing_token'
        | 'invalid_token'
        | 'insufficient_credits'
        | 'INVALID_REQUEST'
        | 'INVALID_FIELD'
        | 'INCOMPLETE_SESSION'
        | 'SESSION_REQUIRED'
        | 'PROXY_WITHOUT_SESSION'
        | 'INVALID_PROXY'
        | 'PROXY_AS_COOKIE'
        | 'BODY_TOO_LARGE'
        | 'NOT_SUPPORTED_BY_SOURCE'
        | 'METHOD_NOT_ALLOWED'
        | 'FEATURE_DISABLED'
        | 'MISDIRECTED'
        | 'rate_limited'
        | 'too_many_concurrent_reads'
        | 'DEEP_SEARCH_CONCURRENCY'
        | 'HTTP_429'
        | 'upstream_timeout'
        | 'upstream_unavailable'
        | 'storage_unavailable'
        | 'UPSTREAM_ERROR'
        | 'UPSTREAM_BLOCKED'
        | 'PROXY_ERROR'
        | 'REAUTH_REQUIRED'
        | 'PERMISSION_DENIED'
        | 'NOT_FOUND'
        | 'BANNED_FROM_SUBFORUM'
        | 'THREAD_LOCKED'
        | 'ARCHIVED'
        | 'FORUM_REJECTED'
        | 'FORUM_RATELIMIT'
        | 'OUTCOME_UNKNOWN'
        | 'IDEMPOTENCY_MISMATCH'
        | 'IN_PROGRESS'
        | 'AUTH_FAILED'
        | 'TWO_FACTOR_REQUIRED'
        | 'TWO_FACTOR_INVALID'
        | 'UNKNOWN'
        | 'browser_unavailable'
        | 'overloaded'
        | 'internal_error'
        | 'monitor_slots_exhausted'
        | 'sitewide_slots_exhausted'
        | 'webhook_not_found'
        | 'webhook_paused'
        | 'webhook_kind_mismatch'
        | 'webhook_url_rejected'
        | 'email_not_configured'
        | 'subforum_not_found'
        | 'subforum_reserved'
        | 'draft_not_waiting'
        | 'drafts_exhausted'
        | 'feedback_exhausted'
      /** @description Explanation for a person. */
      message?: string
      /** @description Name of the invalid field. */
      field?: string
      /** @description Every invalid field, if there are several. The first is the one in field. */
      errors?: {
        /** @description Name of the invalid field. */
        field: string
        /** @description Sentence that names what is allowed. */
        message: string
      }[]
      /**
       * Format: int64
       * @description Seconds.
       */
      retry_after?: number
      /** @description Reason, for codes with several reasons. */
      reason?: string | null
      /** @description With FEATURE_DISABLED: the disabled feature. */
      feature?: string
      /** @description The platform's own error code. */
      upstream_code?: string
      /** @description The platform's own message. */
      upstream_message?: string | null
      /** @description True if a repeat would be refused again. */
      terminal?: boolean
      /** @description Suggested fix. */
      hint?: string
      /**
       * Format: int64
       * @description With 402 of a plan: its limit.
       */
      limit?: number
      /** @description With 402 of a plan: its name. */
      tier?: string
      /** @description With 402 of the balance: the price of the call. */
      price_usd?: number
    }
  }
  responses: never
  parameters: never
  requestBodies: never
  headers: {
    /** @description Remaining balance in USD, on billed answers. */
    'X-Credits-Remaining': string
    /** @description Source of a read: the cache, the platform, or a running request of another caller. */
    'X-Cache': 'hit' | 'miss' | 'shared'
    /** @description true if this repeats the first answer of this Idempotency-Key; free. */
    'Idempotent-Replayed': string
    /** @description Seconds to wait before a retry. */
    'Retry-After': number
    /** @description Pages of every origin may read the answer. */
    'Access-Control-Allow-Origin': '*'
    /** @description Id of this call; a given id is used. */
    'X-Request-Id': string
  }
  pathItems: never
}
export type $defs = Record<string, never>
export interface operations {
  health: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "ok": true,
           *       "reads": "ok"
           *     }
           */
          'application/json': {
            /** @description True if the daemon serves. */
            ok: boolean
            /**
             * @description State of reads over the last 60 seconds.
             * @enum {string}
             */
            reads: 'ok' | 'degraded' | 'unknown'
            /** @description Description of a storage failure; absent if there is none. */
            storage?: string
            /** @description Sources whose access ends within 30 days, or has ended; absent if none does. */
            ends?: {
              /** @description Name of the source. */
              source: string
              /** @description Time at which the source ends; null: no end is planned. */
              ends_at: string
            }[]
          }
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  ready: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "ready": true
           *     }
           */
          'application/json': {
            /** @description True while the service can do its work. */
            ready: boolean
          }
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Not ready; see reason. With reason loop_failing, loops lists the loops that fail repeatedly. */
      503: {
        headers: {
          [name: string]: unknown
        }
        content?: never
      }
    }
  }
  accountProblems: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "status": "warning",
           *       "problems": [
           *         {
           *           "kind": "webhook_retrying",
           *           "severity": "warning",
           *           "subject": {
           *             "id": "wh_0199a000-0000-7000-8000-000000000002",
           *             "name": "crm"
           *           },
           *           "since": "2026-01-31T12:01:00.000Z",
           *           "message": "Webhook crm is failing: 3 deliveries are tried again (http_503)",
           *           "fix": "Repair the receiver and test the webhook"
           *         }
           *       ],
           *       "truncated": false
           *     }
           */
          'application/json': {
            /**
             * @description The worst severity; ok: no problem but of severity info.
             * @enum {string}
             */
            status: 'ok' | 'warning' | 'error'
            /** @description Worst first; at most 100. */
            problems: {
              /**
               * @description Kind of the problem, for programs.
               * @enum {string}
               */
              kind:
                | 'storage'
                | 'source_unreachable'
                | 'feed_behind'
                | 'webhook_failing'
                | 'webhook_retrying'
                | 'webhook_paused'
                | 'webhook_off'
                | 'webhook_unconfirmed'
                | 'monitor_stopped'
                | 'monitors_paused'
                | 'daily_ceiling'
                | 'credits_used_up'
                | 'drafts_waiting'
                | 'reads_degraded'
                | 'access_ends'
                | 'account_unusable'
                | 'proxy_failing'
                | 'invariant_violated'
                | 'loop_failing'
                | 'feedback_new'
                | 'checks_late'
              /**
               * @description error: it does not work. warning: it works in part, or is tried again. info: it waits for you.
               * @enum {string}
               */
              severity: 'error' | 'warning' | 'info'
              /** @description Id and name of the object; null: no single one. */
              subject: {
                /** @description Identifier, unique among objects of this kind. */
                id: string | null
                /** @description Name. */
                name: string
              } | null
              /** @description Start; null: not known. */
              since: string | null
              /** @description The problem, as a sentence. */
              message: string
              /** @description The next step, as a sentence. */
              fix: string
            }[]
            /** @description True if there are further problems. */
            truncated: boolean
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  accountActivity: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "hours": [
           *         {
           *           "start": "2026-01-31T09:00:00.000Z",
           *           "matches": 4,
           *           "delivered": 3,
           *           "failed": 0
           *         }
           *       ],
           *       "newest": [
           *         {
           *           "matched_at": "2026-01-31T09:12:00.000Z",
           *           "monitors": [
           *             {
           *               "id": "mon_0199a000-0000-7000-8000-000000000001",
           *               "name": "espresso"
           *             }
           *           ],
           *           "item": {
           *             "kind": "post",
           *             "id": "1abcde",
           *             "title": "Which grinder for espresso?"
           *           }
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description The last 24 hours, oldest first; the last one has not ended. */
            hours: {
              /**
               * Format: date-time
               * @description Start of the hour.
               */
              start: string
              /**
               * Format: int64
               * @description Items matched, each once per monitor.
               */
              matches: number
              /**
               * Format: int64
               * @description Deliveries that arrived in this hour.
               */
              delivered: number
              /**
               * Format: int64
               * @description Deliveries created in this hour that failed for good.
               */
              failed: number
            }[]
            /** @description The newest matched items, each once; at most 8. */
            newest: {
              /**
               * Format: date-time
               * @description When it was matched first.
               */
              matched_at: string
              /** @description The monitors that it matched. */
              monitors: {
                /** @description Identifier, unique among objects of this kind. */
                id: string
                /** @description Name. */
                name: string | null
              }[]
              /** @description The item as delivered to a webhook. */
              item: {
                [key: string]: unknown
              }
            }[]
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  accountMe: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "cus_0199a000-0000-7000-8000-000000000003",
           *       "name": "acme",
           *       "plan": "entry",
           *       "credits_remaining": 0.422,
           *       "credits_used": 0.078,
           *       "total_requests": 21,
           *       "created_at": "2026-01-31T11:55:00.000Z",
           *       "monitors": {
           *         "used": 1,
           *         "total": 10,
           *         "cadence_s": 60
           *       }
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name of the account. */
            name: string
            /** @description Name of the plan. */
            plan: string
            /** @description USD, with up to six decimals. */
            credits_remaining: number
            /** @description USD, with up to six decimals. */
            credits_used: number
            /**
             * Format: int64
             * @description Number of calls since the account was created.
             */
            total_requests: number
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /** @description The monitors, or their number. */
            monitors: {
              /**
               * Format: int64
               * @description Number in use.
               */
              used: number
              /**
               * Format: int64
               * @description Sum of the period, or the number that the plan allows.
               */
              total: number
              /**
               * Format: int64
               * @description Shortest poll interval of the plan, in seconds: the one of a monitor that names none.
               */
              cadence_s: number
            }
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  accountPayments: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "payments": [
           *         {
           *           "id": "pay_0199a000-0000-7000-8000-000000000004",
           *           "kind": "signup_credit",
           *           "amount_usd": 0.5,
           *           "note": null,
           *           "created_at": "2026-01-31T11:55:00.000Z"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description The changes of the balance. */
            payments: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description Cause of the change of the balance.
               * @enum {string}
               */
              kind: 'signup_credit' | 'top_up' | 'adjustment'
              /** @description USD, with up to six decimals. */
              amount_usd: number
              /** @description Note of the operator; null: none. */
              note: string | null
              /**
               * Format: date-time
               * @description Time of creation.
               */
              created_at: string
            }[]
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  accountUsage: {
    parameters: {
      query?: {
        /** @description Start of the period; absent: 30 days before its end. */
        from?: string
        /** @description End of the period; absent: now. */
        to?: string
        /** @description Sums of calls by hour or by day, in UTC. */
        bucket?: 'hour' | 'day'
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "usage": [
           *         {
           *           "start": "2026-01-31T00:00:00.000Z",
           *           "calls": 21,
           *           "billed_calls": 21,
           *           "cost_usd": 0.078,
           *           "errors": 0,
           *           "by_tier": {
           *             "deep_search": {
           *               "calls": 2,
           *               "billed_calls": 2,
           *               "cost_usd": 0.04,
           *               "errors": 0
           *             },
           *             "read": {
           *               "calls": 19,
           *               "billed_calls": 19,
           *               "cost_usd": 0.038,
           *               "errors": 0
           *             }
           *           }
           *         }
           *       ],
           *       "total": {
           *         "calls": 21,
           *         "billed_calls": 21,
           *         "cost_usd": 0.078,
           *         "errors": 0
           *       }
           *     }
           */
          'application/json': {
            /** @description Counts of each hour or day. */
            usage: {
              /**
               * Format: int64
               * @description Number of calls.
               */
              calls: number
              /**
               * Format: int64
               * @description Calls that were charged.
               */
              billed_calls: number
              /** @description USD, with up to six decimals. */
              cost_usd: number
              /**
               * Format: int64
               * @description Calls that ended in an error.
               */
              errors: number
              /**
               * Format: date-time
               * @description Start of the hour or day.
               */
              start: string
              /** @description The same counts for each price tier. */
              by_tier: {
                [key: string]: {
                  /**
                   * Format: int64
                   * @description Number of calls.
                   */
                  calls: number
                  /**
                   * Format: int64
                   * @description Calls that were charged.
                   */
                  billed_calls: number
                  /** @description USD, with up to six decimals. */
                  cost_usd: number
                  /**
                   * Format: int64
                   * @description Calls that ended in an error.
                   */
                  errors: number
                }
              }
            }[]
            /** @description Sum of the period, or the number that the plan allows. */
            total: {
              /**
               * Format: int64
               * @description Number of calls.
               */
              calls: number
              /**
               * Format: int64
               * @description Calls that were charged.
               */
              billed_calls: number
              /** @description USD, with up to six decimals. */
              cost_usd: number
              /**
               * Format: int64
               * @description Calls that ended in an error.
               */
              errors: number
            }
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  listDrafts: {
    parameters: {
      query?: {
        /** @description Only drafts that wait for a decision. */
        status?: 'waiting'
        /** @description The next_cursor of the last answer; absent: from the newest. */
        cursor?: string
        /** @description Maximum number of rows. */
        limit?: number
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "drafts": [
           *         {
           *           "id": "drf_0199a000-0000-7000-8000-000000000005",
           *           "action": "vote",
           *           "body": {
           *             "id": "t3_1abcde",
           *             "direction": "up"
           *           },
           *           "source": null,
           *           "status": "waiting",
           *           "created_at": "2026-01-31T12:01:00.000Z",
           *           "expires_at": "2026-02-01T12:01:00.000Z",
           *           "decided_at": null,
           *           "customer": {
           *             "id": "cus_0199a000-0000-7000-8000-000000000003",
           *             "name": "acme"
           *           },
           *           "answer": null
           *         }
           *       ],
           *       "count": 1,
           *       "limit": 25,
           *       "next_cursor": null
           *     }
           */
          'application/json': {
            /** @description The drafts. */
            drafts: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description The write that the draft proposes.
               * @enum {string}
               */
              action:
                | 'comment'
                | 'vote'
                | 'dm'
                | 'profile/description'
                | 'profile/display-name'
                | 'profile/avatar'
                | 'profile/banner'
              /** @description Fields of the proposed write, without a session. */
              body: {
                [key: string]: unknown
              }
              /** @description Source that it acts on; null: main. */
              source: string | null
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
              /**
               * Format: date-time
               * @description Time of creation.
               */
              created_at: string
              /**
               * Format: date-time
               * @description Time after which it is void.
               */
              expires_at: string
              /** @description Time of the decision; null: none so far. */
              decided_at: string | null
              /** @description Account that the draft belongs to. */
              customer: {
                /** @description Identifier, unique among objects of this kind. */
                id: string
                /** @description Name of the account. */
                name: string
              }
              /** @description Answer of the write; null before it was made. */
              answer: {
                [key: string]: unknown
              } | null
            }[]
            /**
             * Format: int64
             * @description Rows of this page.
             */
            count: number
            /**
             * Format: int64
             * @description Maximum number of rows.
             */
            limit: number
            /** @description Null at the end. */
            next_cursor: string | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  makeDraft: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "action": "vote",
         *       "body": {
         *         "id": "t3_1abcde",
         *         "direction": "up"
         *       }
         *     }
         */
        'application/json': {
          /**
           * @description The write that the draft proposes.
           * @enum {string}
           */
          action:
            | 'comment'
            | 'vote'
            | 'dm'
            | 'profile/description'
            | 'profile/display-name'
            | 'profile/avatar'
            | 'profile/banner'
          /** @description Fields of the proposed write, without a session. */
          body: {
            [key: string]: unknown
          }
          /** @description Name of the source to act on; absent or null: main. */
          source?: string | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "drf_0199a000-0000-7000-8000-000000000005",
           *       "action": "vote",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": null,
           *       "status": "waiting",
           *       "created_at": "2026-01-31T12:01:00.000Z",
           *       "expires_at": "2026-02-01T12:01:00.000Z",
           *       "decided_at": null,
           *       "customer": {
           *         "id": "cus_0199a000-0000-7000-8000-000000000003",
           *         "name": "acme"
           *       },
           *       "answer": null
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description The write that the draft proposes.
             * @enum {string}
             */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            /** @description Fields of the proposed write, without a session. */
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time after which it is void.
             */
            expires_at: string
            /** @description Time of the decision; null: none so far. */
            decided_at: string | null
            /** @description Account that the draft belongs to. */
            customer: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name of the account. */
              name: string
            }
            /** @description Answer of the write; null before it was made. */
            answer: {
              [key: string]: unknown
            } | null
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description drafts_exhausted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "drafts_exhausted",
           *       "code": "drafts_exhausted"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  findDraft: {
    parameters: {
      query?: never
      header?: never
      path: {
        /** @description The id of a draft. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "drf_0199a000-0000-7000-8000-000000000005",
           *       "action": "vote",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": null,
           *       "status": "waiting",
           *       "created_at": "2026-01-31T12:01:00.000Z",
           *       "expires_at": "2026-02-01T12:01:00.000Z",
           *       "decided_at": null,
           *       "customer": {
           *         "id": "cus_0199a000-0000-7000-8000-000000000003",
           *         "name": "acme"
           *       },
           *       "answer": null
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description The write that the draft proposes.
             * @enum {string}
             */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            /** @description Fields of the proposed write, without a session. */
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time after which it is void.
             */
            expires_at: string
            /** @description Time of the decision; null: none so far. */
            decided_at: string | null
            /** @description Account that the draft belongs to. */
            customer: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name of the account. */
              name: string
            }
            /** @description Answer of the write; null before it was made. */
            answer: {
              [key: string]: unknown
            } | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND, NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  approveDraft: {
    parameters: {
      query?: never
      header?: never
      path: {
        /** @description The id of a draft. */
        id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "forum_session": "eyJhbGciOi…",
         *       "loid": "0000000000000abc12.2.1600000000000"
         *     }
         */
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description The cookie loid of your own account. Required, except with a further source. */
          loid?: string
          /** @description The cookie token_v2 of your own account. */
          token_v2?: string
          /** @description The cookie csrf_token of your own account. */
          csrf_token?: string
          /** @description The cookie edgebucket of your own account. */
          edgebucket?: string
          /** @description The cookie csv of your own account. */
          csv?: string
          /** @description The cookie session_tracker of your own account. */
          session_tracker?: string
          /** @description The cookie pc of your own account. */
          pc?: string
          /** @description Cookies of the session that writes. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this write. */
          proxy?: unknown
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "drf_0199a000-0000-7000-8000-000000000005",
           *       "action": "vote",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": null,
           *       "status": "approved",
           *       "created_at": "2026-01-31T12:01:00.000Z",
           *       "expires_at": "2026-02-01T12:01:00.000Z",
           *       "decided_at": "2026-01-31T12:05:00.000Z",
           *       "customer": {
           *         "id": "cus_0199a000-0000-7000-8000-000000000003",
           *         "name": "acme"
           *       },
           *       "answer": {
           *         "success": true,
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       }
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description The write that the draft proposes.
             * @enum {string}
             */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            /** @description Fields of the proposed write, without a session. */
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time after which it is void.
             */
            expires_at: string
            /** @description Time of the decision; null: none so far. */
            decided_at: string | null
            /** @description Account that the draft belongs to. */
            customer: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name of the account. */
              name: string
            }
            /** @description Answer of the write; null before it was made. */
            answer: {
              [key: string]: unknown
            } | null
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_REQUEST, INVALID_FIELD, SESSION_REQUIRED, INCOMPLETE_SESSION, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED, BANNED_FROM_SUBFORUM, FEATURE_DISABLED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND, NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description THREAD_LOCKED, ARCHIVED, draft_not_waiting */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "THREAD_LOCKED",
           *       "code": "THREAD_LOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description FORUM_REJECTED, FORUM_RATELIMIT, UPSTREAM_BLOCKED, PROXY_ERROR, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "FORUM_REJECTED",
           *       "code": "FORUM_REJECTED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  declineDraft: {
    parameters: {
      query?: never
      header?: never
      path: {
        /** @description The id of a draft. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "drf_0199a000-0000-7000-8000-000000000005",
           *       "action": "vote",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": null,
           *       "status": "declined",
           *       "created_at": "2026-01-31T12:01:00.000Z",
           *       "expires_at": "2026-02-01T12:01:00.000Z",
           *       "decided_at": "2026-01-31T12:05:00.000Z",
           *       "customer": {
           *         "id": "cus_0199a000-0000-7000-8000-000000000003",
           *         "name": "acme"
           *       },
           *       "answer": null
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description The write that the draft proposes.
             * @enum {string}
             */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            /** @description Fields of the proposed write, without a session. */
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time after which it is void.
             */
            expires_at: string
            /** @description Time of the decision; null: none so far. */
            decided_at: string | null
            /** @description Account that the draft belongs to. */
            customer: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name of the account. */
              name: string
            }
            /** @description Answer of the write; null before it was made. */
            answer: {
              [key: string]: unknown
            } | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND, NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description draft_not_waiting */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "draft_not_waiting",
           *       "code": "draft_not_waiting"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  login: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description A name, or an e-mail. */
          username: string
          /** @description Password of the account. */
          password: string
          /** @description Base32; only where the account has a second factor. */
          totp_secret?: string | null
          /**
           * @description Way of signing in; absent: the configured one.
           * @default http
           * @enum {string}
           */
          method?: 'http' | 'browser'
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /**
           * @description Locale of the browser, such as en-US.
           * @default en-US
           */
          locale?: string | null
          /**
           * @description Time zone of the browser, such as Europe/Berlin.
           * @default America/New_York
           */
          timezone?: string | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "method": "http",
           *       "username": "example_user",
           *       "link_karma": 10,
           *       "comment_karma": 25,
           *       "cookies": {
           *         "forum_session": "eyJhbGciOi…",
           *         "loid": "000000000000abc12.2.1600000000000"
           *       },
           *       "expires": {
           *         "forum_session": "2027-05-20T07:30:00.000Z",
           *         "loid": null
           *       }
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /**
             * @description Method that succeeded.
             * @enum {string}
             */
            method: 'http' | 'browser'
            /** @description Name of the account. */
            username: string
            /** @description Points for posts; null: unknown. */
            link_karma: number | null
            /** @description Points for comments; null: unknown. */
            comment_karma: number | null
            /** @description The whole jar; forum_session and loid make a session. */
            cookies: {
              [key: string]: string
            }
            /** @description Expiry of each cookie; null: a session cookie. */
            expires: {
              [key: string]: string | null
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, AUTH_FAILED, TWO_FACTOR_REQUIRED, TWO_FACTOR_INVALID, UNKNOWN, UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description browser_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "browser_unavailable",
           *       "code": "browser_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  comment: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks5. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description A post's or a comment's link: a comment's is replied to. */
          post_url: string
          /** @description Text as Markdown; empty: none. */
          text: string
          /**
           * @description Locale of the browser, such as en-US.
           * @default en-US
           */
          locale?: string | null
          /**
           * @description Time zone of the browser, such as Europe/Berlin.
           * @default America/New_York
           */
          timezone?: string | null
        } & {
          [key: string]: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "comment_id": "t1_k2xyz",
           *       "permalink": "https://www.forum.example/r/coffee/comments/1abcde/a_post/k2xyz/",
           *       "comment": {
           *         "id": "k2xyz",
           *         "name": "t1_k2xyz",
           *         "author": "example_user",
           *         "body": "Thank you, that helped.",
           *         "subforum": "coffee",
           *         "upvotes": 1,
           *         "permalink": "/r/coffee/comments/1abcde/a_post/k2xyz/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/a_post/k2xyz/",
           *         "post_id": "1abcde",
           *         "link_title": "A post",
           *         "link_url": "https://www.forum.example/r/coffee/comments/1abcde/a_post/",
           *         "created": "2026-11-20T07:30:00.000Z",
           *         "created_utc": 1795159800,
           *         "parent_id": "t3_1abcde",
           *         "is_submitter": false,
           *         "depth": 0,
           *         "edited": false,
           *         "over_18": null,
           *         "author_info": {
           *           "fullname": "t2_x1y2z",
           *           "flair": null,
           *           "premium": null
           *         }
           *       },
           *       "transport": "browser"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description t1_ and the id; null while it waits. */
            comment_id: string | null
            /** @description Absolute. */
            permalink: string | null
            /** @description Read back; null where that failed. */
            comment:
              | ({
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | null
            /**
             * @description Way in which the comment was written.
             * @enum {string}
             */
            transport: 'http' | 'browser'
            /**
             * @description Present if a source has accepted this and shows it once a moderator has approved it. Do not send it again.
             * @constant
             */
            pending?: true
            /** @description Its number among those that wait; null if the source names none. */
            pending_id?: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED, BANNED_FROM_SUBFORUM */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS, THREAD_LOCKED, ARCHIVED */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, browser_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  commentV2: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description A post's or a comment's link: a comment's is replied to. */
          post_url: string
          /** @description Text as Markdown; empty: none. */
          text: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "comment_id": "t1_k2xyz",
           *       "permalink": "https://www.forum.example/r/coffee/comments/1abcde/a_post/k2xyz/",
           *       "comment": {
           *         "id": "k2xyz",
           *         "name": "t1_k2xyz",
           *         "author": "example_user",
           *         "body": "Thank you, that helped.",
           *         "subforum": "coffee",
           *         "upvotes": 1,
           *         "permalink": "/r/coffee/comments/1abcde/a_post/k2xyz/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/a_post/k2xyz/",
           *         "post_id": "1abcde",
           *         "link_title": "A post",
           *         "link_url": "https://www.forum.example/r/coffee/comments/1abcde/a_post/",
           *         "created": "2026-11-20T07:30:00.000Z",
           *         "created_utc": 1795159800,
           *         "parent_id": "t3_1abcde",
           *         "is_submitter": false,
           *         "depth": 0,
           *         "edited": false,
           *         "over_18": null,
           *         "author_info": {
           *           "fullname": "t2_x1y2z",
           *           "flair": null,
           *           "premium": null
           *         }
           *       },
           *       "transport": "http"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description t1_ and the id; null while it waits. */
            comment_id: string | null
            /** @description Absolute. */
            permalink: string | null
            /** @description Read back; null where that failed. */
            comment:
              | ({
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | null
            /**
             * @description Way in which the comment was written.
             * @enum {string}
             */
            transport: 'http' | 'browser'
            /**
             * @description Present if a source has accepted this and shows it once a moderator has approved it. Do not send it again.
             * @constant
             */
            pending?: true
            /** @description Its number among those that wait; null if the source names none. */
            pending_id?: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED, BANNED_FROM_SUBFORUM */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS, THREAD_LOCKED, ARCHIVED */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  vote: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description A post id, with or without t3_; instead of id. */
          post_id?: string
          /** @description Address. */
          url?: string
          /**
           * @description up, down, or none to take the vote back.
           * @enum {string|number}
           */
          direction: 'up' | 'down' | 'none' | 1 | -1 | 0
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "id": "t3_1abcde",
           *       "direction": "up"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description up, down, or none to take the vote back.
             * @enum {string}
             */
            direction: 'up' | 'down' | 'none'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS, ARCHIVED */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  dm: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description Recipient. */
          to: string
          /** @description In chat, which has no subject, it becomes the first line. */
          subject: string
          /** @description Text as Markdown; empty: none. */
          text: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "id": "t4_2abcde",
           *       "thread_id": "t4_2abcde",
           *       "channel": "mail"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Identifier, unique among objects of this kind. */
            id: string | null
            /** @description Id of the conversation; null: unknown. */
            thread_id: string | null
            /**
             * @description Way of the message: mail or chat.
             * @enum {string}
             */
            channel: 'mail' | 'chat'
            /**
             * @description Present if a source has accepted this and shows it once a moderator has approved it. Do not send it again.
             * @constant
             */
            pending?: true
            /** @description Its number among those that wait; null if the source names none. */
            pending_id?: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  dmThreads: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /**
           * @description Conversations to list.
           * @default all
           * @enum {string}
           */
          folder?: 'all' | 'inbox' | 'sent' | 'unread'
          /**
           * Format: int64
           * @description Maximum number of rows.
           * @default 25
           */
          limit?: number
          /** @description Cursor of the page, from the last answer. */
          after?: string | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "threads": [
           *         {
           *           "id": "t4_2abcde",
           *           "with": "example_user",
           *           "subject": "Beans",
           *           "unread": true,
           *           "message_count": 2,
           *           "last_message_at": "2026-11-20T07:30:00.000Z",
           *           "last_message": "They came today.",
           *           "channel": "mail"
           *         }
           *       ],
           *       "after": null,
           *       "missing": []
           *     }
           */
          'application/json': {
            /** @description The conversations. */
            threads: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description The other participant; null: unknown. */
              with: string | null
              /** @description Subject; null: none. */
              subject: string | null
              /** @description True if it was not read yet. */
              unread: boolean
              /**
               * Format: int64
               * @description Number of messages in the conversation.
               */
              message_count: number
              /** @description Time of the newest message; null: unknown. */
              last_message_at: string | null
              /** @description Start of the newest message. */
              last_message: string
              /**
               * @description Way of the message: mail or chat.
               * @enum {string}
               */
              channel: 'mail' | 'chat'
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: string | null
            /** @description Message types that could not be read. */
            missing: ('mail' | 'chat')[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  dmMessages: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description Id of the conversation; null: unknown. */
          thread_id: string
          /**
           * Format: int64
           * @description Maximum number of rows.
           * @default 25
           */
          limit?: number
          /** @description Cursor of the page, from the last answer. */
          after?: string | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "messages": [
           *         {
           *           "id": "t4_2abcdf",
           *           "thread_id": "t4_2abcde",
           *           "from": "example_user",
           *           "to": "you",
           *           "subject": "re: Beans",
           *           "body": "They came today.",
           *           "created": "2026-11-20T07:30:00.000Z",
           *           "unread": true
           *         }
           *       ],
           *       "after": null
           *     }
           */
          'application/json': {
            /** @description The messages. */
            messages: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Id of the conversation; null: unknown. */
              thread_id: string
              /** @description Sender of the message; null: unknown. */
              from: string | null
              /** @description Recipient. */
              to: string | null
              /** @description Subject; null: none. */
              subject: string | null
              /** @description Text of the comment or message. */
              body: string
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description True if it was not read yet. */
              unread: boolean
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  profileDescription: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description Description in its own words. */
          description: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "description": "Mostly beans."
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Description in its own words. */
            description: string
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  profileDisplayName: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description Name that the profile shows. */
          display_name: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "display_name": "Ann"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Name that the profile shows. */
            display_name: string
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  profileAvatar: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description https, on the public internet. */
          image_url?: string
          /** @description The picture in Base64. */
          image_base64?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "url": "https://styles.forum.example/avatar.png"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Address. */
            url: string
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  profileBanner: {
    parameters: {
      query?: never
      header?: {
        /** @description Identifies this call for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. With a further source, which takes no other field of a session: the credential of your account there. */
          forum_session: string
          /** @description Cookie loid of the session. */
          loid?: string | null
          /** @description Cookie token_v2 of the session. */
          token_v2?: string | null
          /** @description Cookie csrf_token of the session. */
          csrf_token?: string | null
          /** @description Cookie edgebucket of the session. */
          edgebucket?: string | null
          /** @description Cookie csv of the session. */
          csv?: string | null
          /** @description Cookie session_tracker of the session. */
          session_tracker?: string | null
          /** @description Cookie pc of the session. */
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                /** @description Address of the proxy, such as http://host:port. */
                server: string
                /** @description User name for the proxy; null: none. */
                username?: string | null
                /** @description Password for the proxy; null: none. */
                password?: string | null
              }
          /** @description https, on the public internet. */
          image_url?: string
          /** @description The picture in Base64. */
          image_base64?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          'Idempotent-Replayed': components['headers']['Idempotent-Replayed']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "success": true,
           *       "url": "https://styles.forum.example/banner.png"
           *     }
           */
          'application/json': {
            /**
             * @description True: the platform accepted the call.
             * @constant
             */
            success: true
            /** @description Address. */
            url: string
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "IDEMPOTENCY_MISMATCH",
           *       "code": "IDEMPOTENCY_MISMATCH"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_BLOCKED",
           *       "code": "UPSTREAM_BLOCKED"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  posts: {
    parameters: {
      query: {
        /** @description The name of a subforum, without prefix. */
        subforum: string
        /** @description The order of the rows. */
        sort?: 'new' | 'hot' | 'top' | 'rising' | 'controversial' | 'best'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde"
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subTop: {
    parameters: {
      query?: {
        /** @description Time range. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde"
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  post: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The id of a post, with or without t3_. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "1abcde",
           *       "name": "t3_1abcde",
           *       "title": "Which grinder would you buy?",
           *       "author": "example_user",
           *       "subforum": "coffee",
           *       "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "upvotes": 42,
           *       "comments": 1,
           *       "created": "2026-01-31T11:58:00.000Z",
           *       "created_utc": 1769860680,
           *       "text": "Mine broke after ten years. I am looking for one for espresso.",
           *       "link_url": null,
           *       "upvote_ratio": 0.97,
           *       "over_18": false,
           *       "spoiler": false,
           *       "contest_mode": false,
           *       "locked": false,
           *       "stickied": false,
           *       "is_self": true,
           *       "is_video": false,
           *       "is_crosspost": false,
           *       "crosspost_origin": null,
           *       "flair": "Gear",
           *       "domain": "self.coffee",
           *       "media_kind": null,
           *       "thumbnail_url": null,
           *       "edited": false,
           *       "author_info": {
           *         "fullname": "t2_1abcd",
           *         "flair": null,
           *         "premium": false
           *       }
           *     }
           */
          'application/json': {
            /** @description Without prefix. */
            id: string
            /** @description t3_ and the id. */
            name: string
            /** @description Title. */
            title: string
            /** @description Name of the author. */
            author: string
            /** @description Name of the subforum. */
            subforum: string
            /** @description Path on the platform. */
            permalink: string
            /** @description The address of the post on the platform. */
            url: string
            /**
             * Format: int64
             * @description Votes up minus votes down.
             */
            upvotes: number
            /**
             * Format: int64
             * @description Number of comments, or the comments themselves.
             */
            comments: number
            /**
             * Format: date-time
             * @description ISO 8601, UTC.
             */
            created: string
            /** @description Epoch seconds. */
            created_utc: number
            /** @description Text as Markdown; empty: none. */
            text: string
            /** @description What a link post points to. */
            link_url: string | null
            /** @description Share of votes that are up, 0 to 1; null: unknown. */
            upvote_ratio: number | null
            /** @description True for content for adults; null: unknown. */
            over_18: boolean
            /** @description True if the post is marked as a spoiler. */
            spoiler: boolean
            /** @description True if no new comments are accepted. */
            locked: boolean
            /** @description True if the post is pinned. */
            stickied: boolean
            /** @description True for a text post. */
            is_self: boolean
            /** @description True if the platform hosts a video of the post. */
            is_video: boolean
            /** @description True if the post repeats another one. */
            is_crosspost: boolean
            /** @description The post that this one repeats; null: not a crosspost. */
            crosspost_origin:
              | ({
                  /** @description Identifier, unique among objects of this kind. */
                  id: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                } & {
                  [key: string]: unknown
                })
              | null
            /** @description Label set by the community or the author; null: none. */
            flair: string | null
            /** @description Host that a link post points to; null: none. */
            domain: string | null
            /** @description Kind of the media; null: none. */
            media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
            /** @description Address of a preview image; null: none. */
            thumbnail_url: string | null
            /** @description Time of the last edit; false: never, true: the time is unknown. */
            edited: string | boolean
            /** @description Further data of the author, as far as the platform gives it. */
            author_info: {
              /** @description Id of the author with its prefix; null: unknown. */
              fullname: string | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description True for a paid account; null: unknown. */
              premium: boolean | null
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postVisibility: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The id of a post, with or without t3_. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "1abcde",
           *       "verdict": "live",
           *       "reason": null,
           *       "reason_code": null,
           *       "confident": true
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Result of the check.
             * @enum {string}
             */
            verdict: 'live' | 'not_visible' | 'undecidable'
            /** @description A sentence; null when it is live. */
            reason: string | null
            /** @description absent, deleted, removed or seen_by_moderator. */
            reason_code: string | null
            /** @description True if the verdict is certain. */
            confident: boolean
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  byId: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description Ids of 1 to 100 posts, such as t3_1abcde, separated by commas. */
        fullnames: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "meta": {
           *         "listing_status": "complete",
           *         "truncated": false,
           *         "missing_fullnames": [
           *           "t3_2abcde"
           *         ]
           *       }
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description How the answer was made. */
            meta: {
              /**
               * @description truncated: the platform left out rows. unknown: it may have.
               * @enum {string}
               */
              listing_status: 'complete' | 'truncated' | 'unknown'
              /** @description True if there was more than the answer holds. */
              truncated: boolean
              /** @description Requested ids that the platform does not show. */
              missing_fullnames: string[]
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  search: {
    parameters: {
      query: {
        /** @description Search terms. */
        q: string
        /** @description Searches only this subforum; the name has no prefix. */
        subforum?: string
        /** @description The order of the rows. */
        sort?: 'relevance' | 'new' | 'hot' | 'top' | 'comments'
        /** @description Time range. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Minimum score; filters the page that was read. */
        min_score?: number
        /** @description Maximum score; filters the page that was read. */
        max_score?: number
        /** @description Minimum number of comments; filters the page that was read. */
        min_comments?: number
        /** @description Maximum number of comments; filters the page that was read. */
        max_comments?: number
        /** @description true: only video posts; false: none of them. Filters the page that was read. */
        is_video?: boolean
        /** @description true: only text posts; false: none of them. Filters the page that was read. */
        is_self?: boolean
        /** @description true: only adult posts; false: none of them. Filters the page that was read. */
        over_18?: boolean
        /** @description true: only locked posts; false: none of them. Filters the page that was read. */
        locked?: boolean
        /** @description true: only pinned posts; false: none of them. Filters the page that was read. */
        stickied?: boolean
        /** @description true: only posts marked as spoilers; false: none of them. Filters the page that was read. */
        spoiler?: boolean
        /** @description true: only posts whose comments are in random order; false: none of them. Filters the page that was read. */
        contest_mode?: boolean
        /** @description Sorts the page that was read, highest first. */
        sort_type?: 'score' | 'num_comments' | 'created'
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "meta": {
           *         "scanned": 25,
           *         "kept": 1
           *       }
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
            /** @description How the answer was made. */
            meta?: {
              /**
               * Format: int64
               * @description Number of items that were read; null: the feed was not read.
               */
              scanned: number
              /**
               * Format: int64
               * @description Number of posts that passed the filters.
               */
              kept: number
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  searchCommunities: {
    parameters: {
      query: {
        /** @description Search terms. */
        q: string
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "communities": [
           *         {
           *           "id": "2xtnu",
           *           "name": "coffee",
           *           "display_name_prefixed": "r/coffee",
           *           "title": "Coffee: brew, talk, repeat",
           *           "description": "From bean to cup, with detours.",
           *           "subscribers": 1204551,
           *           "active_users": 6692,
           *           "created": "2020-02-06T11:55:00.000Z",
           *           "created_utc": 1580990100,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://styles.forum.example/coffee.png",
           *           "banner_url": null,
           *           "language": "en"
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The communities that were found. */
            communities: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Name with the prefix of the platform. */
              display_name_prefixed: string | null
              /** @description Title. */
              title: string | null
              /** @description Description in its own words. */
              description: string | null
              /** @description Number of members; null: unknown. */
              subscribers: number | null
              /** @description Users present at the time of the read; null: unknown. */
              active_users: number | null
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
              /** @description Time of creation in epoch seconds; null: unknown. */
              created_utc: number | null
              /** @description Type, such as public or private; null: unknown. */
              type: string | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description True if the platform warns before it is shown; null: unknown. */
              quarantined: boolean | null
              /** @description Address. */
              url: string | null
              /** @description Address of the icon; null: none. */
              icon_url: string | null
              /** @description Address of the banner; null: none. */
              banner_url: string | null
              /** @description Language code; null: unknown. */
              language: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  searchComments: {
    parameters: {
      query: {
        /** @description Search terms; matches posts whose comments contain the words. */
        q: string
        /** @description The order of the rows. */
        sort?: 'relevance' | 'new' | 'top' | 'comments'
        /** @description Time range. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Maximum number of posts to search. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "meta": {
           *         "searched": 8,
           *         "comments_scanned": 120,
           *         "truncated": true
           *       }
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
            /** @description How the answer was made. */
            meta: {
              /**
               * Format: int64
               * @description Number of posts whose comments were searched.
               */
              searched: number
              /**
               * Format: int64
               * @description Number of comments that were searched.
               */
              comments_scanned: number
              /** @description True if there was more than the answer holds. */
              truncated: boolean
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  searchCommentsDeep: {
    parameters: {
      query: {
        /** @description Search terms; matches comments that contain the words. */
        q: string
        /** @description The order of the rows. */
        sort?: 'relevance' | 'new' | 'top' | 'comments'
        /** @description Time range. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Number of posts whose comments are searched. */
        limit?: string
        /** @description Without group_by: maximum number of comments. */
        max_comments?: number
        /** @description author: the answer counts comments by author, and holds no comments. */
        group_by?: 'author'
        /** @description With group_by: maximum number of authors. */
        max_authors?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "comments": [
           *         {
           *           "id": "n3k01ab",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "score": 7,
           *           "author": "another_user",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "subforum": "coffee",
           *           "post": {
           *             "id": "1abcde",
           *             "name": "t3_1abcde",
           *             "title": "Which grinder would you buy?",
           *             "author": "example_user",
           *             "subforum": "coffee",
           *             "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *             "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *             "upvotes": 42,
           *             "comments": 1,
           *             "created": "2026-01-31T11:58:00.000Z",
           *             "created_utc": 1769860680,
           *             "text": "Mine broke after ten years. I am looking for one for espresso.",
           *             "link_url": null,
           *             "upvote_ratio": 0.97,
           *             "over_18": false,
           *             "spoiler": false,
           *             "contest_mode": false,
           *             "locked": false,
           *             "stickied": false,
           *             "is_self": true,
           *             "is_video": false,
           *             "is_crosspost": false,
           *             "crosspost_origin": null,
           *             "flair": "Gear",
           *             "domain": "self.coffee",
           *             "media_kind": null,
           *             "thumbnail_url": null,
           *             "edited": false,
           *             "author_info": {
           *               "fullname": "t2_1abcd",
           *               "flair": null,
           *               "premium": false
           *             }
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde~5",
           *       "meta": {
           *         "truncated": true,
           *         "capped": false,
           *         "posts_expanded": 5,
           *         "comments_scanned": 10
           *       }
           *     }
           */
          'application/json': {
            /** @description Without group_by. */
            comments?: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Text of the comment or message. */
              body: string
              /**
               * Format: int64
               * @description Points of the comment.
               */
              score: number
              /** @description Name of the author. */
              author: string
              /** @description Path on the platform. */
              permalink: string
              /** @description Address. */
              url: string
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description The post. */
              post: {
                /** @description Without prefix. */
                id: string
                /** @description t3_ and the id. */
                name: string
                /** @description Title. */
                title: string
                /** @description Name of the author. */
                author: string
                /** @description Name of the subforum. */
                subforum: string
                /** @description Path on the platform. */
                permalink: string
                /** @description The address of the post on the platform. */
                url: string
                /**
                 * Format: int64
                 * @description Votes up minus votes down.
                 */
                upvotes: number
                /**
                 * Format: int64
                 * @description Number of comments, or the comments themselves.
                 */
                comments: number
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC.
                 */
                created: string
                /** @description Epoch seconds. */
                created_utc: number
                /** @description Text as Markdown; empty: none. */
                text: string
                /** @description What a link post points to. */
                link_url: string | null
                /** @description Share of votes that are up, 0 to 1; null: unknown. */
                upvote_ratio: number | null
                /** @description True for content for adults; null: unknown. */
                over_18: boolean
                /** @description True if the post is marked as a spoiler. */
                spoiler: boolean
                /** @description True if no new comments are accepted. */
                locked: boolean
                /** @description True if the post is pinned. */
                stickied: boolean
                /** @description True for a text post. */
                is_self: boolean
                /** @description True if the platform hosts a video of the post. */
                is_video: boolean
                /** @description True if the post repeats another one. */
                is_crosspost: boolean
                /** @description The post that this one repeats; null: not a crosspost. */
                crosspost_origin:
                  | ({
                      /** @description Identifier, unique among objects of this kind. */
                      id: string
                      /** @description Name of the subforum. */
                      subforum: string
                      /** @description Path on the platform. */
                      permalink: string
                    } & {
                      [key: string]: unknown
                    })
                  | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description Host that a link post points to; null: none. */
                domain: string | null
                /** @description Kind of the media; null: none. */
                media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                /** @description Address of a preview image; null: none. */
                thumbnail_url: string | null
                /** @description Time of the last edit; false: never, true: the time is unknown. */
                edited: string | boolean
                /** @description Further data of the author, as far as the platform gives it. */
                author_info: {
                  /** @description Id of the author with its prefix; null: unknown. */
                  fullname: string | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description True for a paid account; null: unknown. */
                  premium: boolean | null
                } & {
                  [key: string]: unknown
                }
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description With group_by=author. */
            authors?: ({
              /** @description Name of the author. */
              author: string
              /**
               * Format: int64
               * @description Number of matching comments of the author.
               */
              comment_count: number
              /**
               * Format: int64
               * @description Sum of the points of the matching comments.
               */
              total_score: number
              /** @description Each subforum with a matching comment of the author. */
              subforums: string[]
              /** @description The matching comment of the author with the most points. */
              top_comment: {
                /** @description Identifier, unique among objects of this kind. */
                id: string
                /** @description Text of the comment or message. */
                body: string
                /**
                 * Format: int64
                 * @description Points of the comment.
                 */
                score: number
                /** @description Name of the author. */
                author: string
                /** @description Path on the platform. */
                permalink: string
                /** @description Address. */
                url: string
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC.
                 */
                created: string
                /** @description Name of the subforum. */
                subforum: string
                /** @description The post. */
                post: {
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  /** @description Title. */
                  title: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /**
                   * Format: int64
                   * @description Number of comments, or the comments themselves.
                   */
                  comments: number
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Text as Markdown; empty: none. */
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  /** @description Share of votes that are up, 0 to 1; null: unknown. */
                  upvote_ratio: number | null
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean
                  /** @description True if the post is marked as a spoiler. */
                  spoiler: boolean
                  /** @description True if no new comments are accepted. */
                  locked: boolean
                  /** @description True if the post is pinned. */
                  stickied: boolean
                  /** @description True for a text post. */
                  is_self: boolean
                  /** @description True if the platform hosts a video of the post. */
                  is_video: boolean
                  /** @description True if the post repeats another one. */
                  is_crosspost: boolean
                  /** @description The post that this one repeats; null: not a crosspost. */
                  crosspost_origin:
                    | ({
                        /** @description Identifier, unique among objects of this kind. */
                        id: string
                        /** @description Name of the subforum. */
                        subforum: string
                        /** @description Path on the platform. */
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description Host that a link post points to; null: none. */
                  domain: string | null
                  /** @description Kind of the media; null: none. */
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  /** @description Address of a preview image; null: none. */
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                }
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: string | null
            /** @description How the answer was made. */
            meta: {
              /** @description True if there was more than the answer holds. */
              truncated: boolean
              /** @description True if there were more comments than the answer can hold. */
              capped: boolean
              /**
               * Format: int64
               * @description Number of posts whose comments were read.
               */
              posts_expanded: number
              /**
               * Format: int64
               * @description Number of comments that were searched.
               */
              comments_scanned: number
              /** @description True if there were more authors than the answer can hold. */
              authors_capped?: boolean
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads, DEEP_SEARCH_CONCURRENCY */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  searchMedia: {
    parameters: {
      query: {
        /** @description Search terms. */
        q: string
        /** @description Kind of media. */
        kind?: 'all' | 'image' | 'video' | 'gallery' | 'gif'
        /** @description The order of the rows. */
        sort?: 'relevance' | 'new' | 'hot' | 'top' | 'comments'
        /** @description Time range. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Number of posts to search. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "",
           *           "link_url": "https://media.forum.example/grinder.jpg",
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": false,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "media.forum.example",
           *           "media_kind": "image",
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           },
           *           "media": {
           *             "kind": "image",
           *             "url": "https://media.forum.example/grinder.jpg",
           *             "width": 1200,
           *             "height": 800,
           *             "items": [],
           *             "duration_s": null,
           *             "thumbnail_url": null
           *           }
           *         }
           *       ],
           *       "scanned": 25,
           *       "after": "t3_1abcde~25"
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
              /** @description The files of the post. */
              media: {
                /**
                 * @description Kind of the object.
                 * @enum {string}
                 */
                kind: 'image' | 'video' | 'gallery' | 'gif'
                /** @description Address. */
                url: string | null
                /** @description Width in pixels; null: unknown. */
                width: number | null
                /** @description Height in pixels; null: unknown. */
                height: number | null
                /** @description The items. */
                items: ({
                  /** @description Address. */
                  url: string
                  /** @description Width in pixels; null: unknown. */
                  width: number | null
                  /** @description Height in pixels; null: unknown. */
                  height: number | null
                } & {
                  [key: string]: unknown
                })[]
                /** @description Length of the video in seconds; null: not a video. */
                duration_s: number | null
                /** @description Address of a preview image; null: none. */
                thumbnail_url: string | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /**
             * Format: int64
             * @description Number of items that were read; null: the feed was not read.
             */
            scanned: number
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  searchUsers: {
    parameters: {
      query: {
        /** @description A part of the name. */
        q: string
        /** @description Includes adult content. */
        nsfw?: boolean
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "users": [
           *         {
           *           "id": "1abcd",
           *           "name": "example_user",
           *           "url": "https://www.forum.example/user/example_user/",
           *           "created": "2019-02-26T11:55:00.000Z",
           *           "created_utc": 1551182100,
           *           "link_karma": 110,
           *           "comment_karma": 4747,
           *           "total_karma": 4857,
           *           "verified": true,
           *           "is_employee": false,
           *           "is_mod": false,
           *           "is_suspended": false,
           *           "over_18": false,
           *           "display_name": "Ada",
           *           "description": "Mostly beans.",
           *           "avatar_url": "https://styles.forum.example/avatar.png",
           *           "banner_url": null
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The users. */
            users: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Address. */
              url: string
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
              /** @description Time of creation in epoch seconds; null: unknown. */
              created_utc: number | null
              /** @description Points for posts; null: unknown. */
              link_karma: number | null
              /** @description Points for comments; null: unknown. */
              comment_karma: number | null
              /** @description Sum of all points; null: unknown. */
              total_karma: number | null
              /** @description True if the platform marks the user as verified; null: unknown. */
              verified: boolean | null
              /** @description True for staff of the platform; null: unknown. */
              is_employee: boolean | null
              /** @description True for moderators of any community; null: unknown. */
              is_mod: boolean | null
              /** @description True if the platform has suspended the user. */
              is_suspended: boolean
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description Name that the profile shows. */
              display_name: string | null
              /** @description Description in its own words. */
              description: string | null
              /** @description Address of the picture; null: none. */
              avatar_url: string | null
              /** @description Address of the banner; null: none. */
              banner_url: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  comments: {
    parameters: {
      query: {
        /** @description The path of a post or comment, such as /r/coffee/comments/1abcde/, or its address. */
        permalink: string
        /** @description The order of the comments. */
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        /** @description Maximum depth of replies; without depth and limit, the whole tree. */
        depth?: number
        /** @description Maximum number of comments; without limit and depth, the whole tree. */
        limit?: number
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "post": {
           *         "id": "1abcde",
           *         "name": "t3_1abcde",
           *         "title": "Which grinder would you buy?",
           *         "author": "example_user",
           *         "subforum": "coffee",
           *         "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "upvotes": 42,
           *         "comments": 1,
           *         "created": "2026-01-31T11:58:00.000Z",
           *         "created_utc": 1769860680,
           *         "text": "Mine broke after ten years. I am looking for one for espresso.",
           *         "link_url": null,
           *         "upvote_ratio": 0.97,
           *         "over_18": false,
           *         "spoiler": false,
           *         "contest_mode": false,
           *         "locked": false,
           *         "stickied": false,
           *         "is_self": true,
           *         "is_video": false,
           *         "is_crosspost": false,
           *         "crosspost_origin": null,
           *         "flair": "Gear",
           *         "domain": "self.coffee",
           *         "media_kind": null,
           *         "thumbnail_url": null,
           *         "edited": false,
           *         "author_info": {
           *           "fullname": "t2_1abcd",
           *           "flair": null,
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "name": "t1_n3k01ab",
           *             "author": "another_user",
           *             "body": "Get one with flat burrs, and a spare burr set.",
           *             "score": 7,
           *             "parent_id": "t3_1abcde",
           *             "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *             "created_utc": 1769860680,
           *             "replies": ""
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 0
           *       }
           *     }
           */
          'application/json': {
            /** @description The post. */
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind: 't1' | 'more'
              /** @description The node as the platform sent it. */
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: null
            /** @description How the answer was made. */
            meta: {
              /** @description True if there was more than the answer holds. */
              truncated: boolean
              /**
               * Format: int64
               * @description Number of comments left out of the tree, at least.
               */
              more_count: number
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postComments: {
    parameters: {
      query?: {
        /** @description The order of the comments. */
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        /** @description Maximum depth of replies; absent: the platform's default. */
        depth?: number
        /** @description Maximum number of comments; absent: the platform's default. */
        limit?: number
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path: {
        /** @description The id of a post, with or without t3_. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "post": {
           *         "id": "1abcde",
           *         "name": "t3_1abcde",
           *         "title": "Which grinder would you buy?",
           *         "author": "example_user",
           *         "subforum": "coffee",
           *         "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "upvotes": 42,
           *         "comments": 1,
           *         "created": "2026-01-31T11:58:00.000Z",
           *         "created_utc": 1769860680,
           *         "text": "Mine broke after ten years. I am looking for one for espresso.",
           *         "link_url": null,
           *         "upvote_ratio": 0.97,
           *         "over_18": false,
           *         "spoiler": false,
           *         "contest_mode": false,
           *         "locked": false,
           *         "stickied": false,
           *         "is_self": true,
           *         "is_video": false,
           *         "is_crosspost": false,
           *         "crosspost_origin": null,
           *         "flair": "Gear",
           *         "domain": "self.coffee",
           *         "media_kind": null,
           *         "thumbnail_url": null,
           *         "edited": false,
           *         "author_info": {
           *           "fullname": "t2_1abcd",
           *           "flair": null,
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "name": "t1_n3k01ab",
           *             "author": "another_user",
           *             "body": "Get one with flat burrs, and a spare burr set.",
           *             "score": 7,
           *             "parent_id": "t3_1abcde",
           *             "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *             "created_utc": 1769860680,
           *             "replies": ""
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 0
           *       }
           *     }
           */
          'application/json': {
            /** @description The post. */
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind: 't1' | 'more'
              /** @description The node as the platform sent it. */
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: null
            /** @description How the answer was made. */
            meta: {
              /** @description True if there was more than the answer holds. */
              truncated: boolean
              /**
               * Format: int64
               * @description Number of comments left out of the tree, at least.
               */
              more_count: number
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  commentsOfPost: {
    parameters: {
      query?: {
        /** @description The order of the comments. */
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        /** @description Maximum depth of replies; absent: the platform's default. */
        depth?: number
        /** @description Maximum number of comments; absent: the platform's default. */
        limit?: number
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path: {
        /** @description The id of a post, with or without t3_. */
        postId: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "post": {
           *         "id": "1abcde",
           *         "name": "t3_1abcde",
           *         "title": "Which grinder would you buy?",
           *         "author": "example_user",
           *         "subforum": "coffee",
           *         "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "upvotes": 42,
           *         "comments": 1,
           *         "created": "2026-01-31T11:58:00.000Z",
           *         "created_utc": 1769860680,
           *         "text": "Mine broke after ten years. I am looking for one for espresso.",
           *         "link_url": null,
           *         "upvote_ratio": 0.97,
           *         "over_18": false,
           *         "spoiler": false,
           *         "contest_mode": false,
           *         "locked": false,
           *         "stickied": false,
           *         "is_self": true,
           *         "is_video": false,
           *         "is_crosspost": false,
           *         "crosspost_origin": null,
           *         "flair": "Gear",
           *         "domain": "self.coffee",
           *         "media_kind": null,
           *         "thumbnail_url": null,
           *         "edited": false,
           *         "author_info": {
           *           "fullname": "t2_1abcd",
           *           "flair": null,
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "name": "t1_n3k01ab",
           *             "author": "another_user",
           *             "body": "Get one with flat burrs, and a spare burr set.",
           *             "score": 7,
           *             "parent_id": "t3_1abcde",
           *             "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *             "created_utc": 1769860680,
           *             "replies": ""
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 0
           *       }
           *     }
           */
          'application/json': {
            /** @description The post. */
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind: 't1' | 'more'
              /** @description The node as the platform sent it. */
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page; null: no further page. */
            after: null
            /** @description How the answer was made. */
            meta: {
              /** @description True if there was more than the answer holds. */
              truncated: boolean
              /**
               * Format: int64
               * @description Number of comments left out of the tree, at least.
               */
              more_count: number
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  commentById: {
    parameters: {
      query?: {
        /** @description Fills data.replies from the tree. */
        replies?: boolean
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The id of a comment, with or without t1_. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "comment": {
           *         "kind": "t1",
           *         "data": {
           *           "id": "n3k01ab",
           *           "name": "t1_n3k01ab",
           *           "author": "another_user",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "score": 7,
           *           "parent_id": "t3_1abcde",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "created_utc": 1769860680,
           *           "replies": ""
           *         }
           *       }
           *     }
           */
          'application/json': {
            /** @description As sent by the platform. */
            comment: {
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind: 't1' | 'more'
              /** @description The node as the platform sent it. */
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  verifyComments: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "ids": [
         *         "n3k01ab",
         *         "t1_n3k01ac"
         *       ]
         *     }
         */
        'application/json': {
          /** @description Ids to check, with or without prefix. */
          ids: string[]
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "comments": [
           *         {
           *           "id": "n3k01ab",
           *           "name": "t1_n3k01ab",
           *           "status": "live"
           *         },
           *         {
           *           "id": "t1_n3k01ac",
           *           "name": "t1_n3k01ac",
           *           "status": "not_found"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /** @description As given in the request. */
              id: string
              /** @description Name. */
              name: string | null
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'live' | 'deleted' | 'removed' | 'not_found'
            } & {
              [key: string]: unknown
            })[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "UPSTREAM_ERROR",
           *       "code": "UPSTREAM_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  user: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "1abcd",
           *       "name": "example_user",
           *       "url": "https://www.forum.example/user/example_user/",
           *       "created": "2019-02-26T11:55:00.000Z",
           *       "created_utc": 1551182100,
           *       "link_karma": 110,
           *       "comment_karma": 4747,
           *       "total_karma": 4857,
           *       "verified": true,
           *       "is_employee": false,
           *       "is_mod": false,
           *       "is_suspended": false,
           *       "over_18": false,
           *       "display_name": "Ada",
           *       "description": "Mostly beans.",
           *       "avatar_url": "https://styles.forum.example/avatar.png",
           *       "banner_url": null
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string | null
            /** @description Name. */
            name: string
            /** @description Address. */
            url: string
            /** @description Time of creation, ISO 8601, UTC; null: unknown. */
            created: string | null
            /** @description Time of creation in epoch seconds; null: unknown. */
            created_utc: number | null
            /** @description Points for posts; null: unknown. */
            link_karma: number | null
            /** @description Points for comments; null: unknown. */
            comment_karma: number | null
            /** @description Sum of all points; null: unknown. */
            total_karma: number | null
            /** @description True if the platform marks the user as verified; null: unknown. */
            verified: boolean | null
            /** @description True for staff of the platform; null: unknown. */
            is_employee: boolean | null
            /** @description True for moderators of any community; null: unknown. */
            is_mod: boolean | null
            /** @description True if the platform has suspended the user. */
            is_suspended: boolean
            /** @description True for content for adults; null: unknown. */
            over_18: boolean | null
            /** @description Name that the profile shows. */
            display_name: string | null
            /** @description Description in its own words. */
            description: string | null
            /** @description Address of the picture; null: none. */
            avatar_url: string | null
            /** @description Address of the banner; null: none. */
            banner_url: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userComments: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'top' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "comments": [
           *         {
           *           "id": "n3k01ab",
           *           "name": "t1_n3k01ab",
           *           "author": "another_user",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "subforum": "coffee",
           *           "upvotes": 7,
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "post_id": "1abcde",
           *           "link_title": "Which grinder would you buy?",
           *           "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "parent_id": "t3_1abcde",
           *           "is_submitter": false,
           *           "depth": 0,
           *           "edited": false,
           *           "over_18": false,
           *           "author_info": {
           *             "fullname": "t2_2abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /** @description Without prefix. */
              id: string
              /** @description t1_ and the id. */
              name: string
              /** @description Name of the author. */
              author: string
              /** @description Text of the comment or message. */
              body: string
              /** @description Name of the subforum. */
              subforum: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /** @description Path on the platform. */
              permalink: string
              /** @description Address. */
              url: string
              /** @description Id of the post. */
              post_id: string
              /** @description Title of the post; null: unknown. */
              link_title: string | null
              /** @description Address of the post, or of its link; null: unknown. */
              link_url: string | null
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Id of the post or comment that it answers; null: unknown. */
              parent_id: string | null
              /** @description True if the author also wrote the post. */
              is_submitter: boolean
              /** @description Depth in the tree, 0 at the top; null: unknown. */
              depth: number | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userSubmitted: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'hot' | 'top' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde"
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userAchievements: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "achievements": [
           *         {
           *           "id": null,
           *           "name": "7-Year Club",
           *           "description": null,
           *           "icon_url": "https://styles.forum.example/7_year_club.png",
           *           "url": null,
           *           "granted": "2026-02-26T11:55:00.000Z"
           *         }
           *       ],
           *       "count": 1
           *     }
           */
          'application/json': {
            /** @description Badges of the profile. */
            achievements: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Description in its own words. */
              description: string | null
              /** @description Address of the icon; null: none. */
              icon_url: string | null
              /** @description Address. */
              url: string | null
              /** @description Time at which it was earned; null: unknown. */
              granted: string | null
            } & {
              [key: string]: unknown
            })[]
            /**
             * Format: int64
             * @description Number of entries.
             */
            count: number
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subAbout: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "2xtnu",
           *       "name": "coffee",
           *       "display_name_prefixed": "r/coffee",
           *       "title": "Coffee: brew, talk, repeat",
           *       "description": "From bean to cup, with detours.",
           *       "subscribers": 1204551,
           *       "active_users": 6692,
           *       "created": "2020-02-06T11:55:00.000Z",
           *       "created_utc": 1580990100,
           *       "type": "public",
           *       "over_18": false,
           *       "quarantined": false,
           *       "url": "https://www.forum.example/r/coffee/",
           *       "icon_url": "https://styles.forum.example/coffee.png",
           *       "banner_url": null,
           *       "language": "en"
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string | null
            /** @description Name. */
            name: string
            /** @description Name with the prefix of the platform. */
            display_name_prefixed: string | null
            /** @description Title. */
            title: string | null
            /** @description Description in its own words. */
            description: string | null
            /** @description Number of members; null: unknown. */
            subscribers: number | null
            /** @description Users present at the time of the read; null: unknown. */
            active_users: number | null
            /** @description Time of creation, ISO 8601, UTC; null: unknown. */
            created: string | null
            /** @description Time of creation in epoch seconds; null: unknown. */
            created_utc: number | null
            /** @description Type, such as public or private; null: unknown. */
            type: string | null
            /** @description True for content for adults; null: unknown. */
            over_18: boolean | null
            /** @description True if the platform warns before it is shown; null: unknown. */
            quarantined: boolean | null
            /** @description Address. */
            url: string | null
            /** @description Address of the icon; null: none. */
            icon_url: string | null
            /** @description Address of the banner; null: none. */
            banner_url: string | null
            /** @description Language code; null: unknown. */
            language: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subComments: {
    parameters: {
      query?: {
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "comments": [
           *         {
           *           "id": "n3k01ab",
           *           "name": "t1_n3k01ab",
           *           "author": "another_user",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "subforum": "coffee",
           *           "upvotes": 7,
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/n3k01ab/",
           *           "post_id": "1abcde",
           *           "link_title": "Which grinder would you buy?",
           *           "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "parent_id": "t3_1abcde",
           *           "is_submitter": false,
           *           "depth": 0,
           *           "edited": false,
           *           "over_18": false,
           *           "author_info": {
           *             "fullname": "t2_2abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description Number of comments, or the comments themselves. */
            comments: ({
              /** @description Without prefix. */
              id: string
              /** @description t1_ and the id. */
              name: string
              /** @description Name of the author. */
              author: string
              /** @description Text of the comment or message. */
              body: string
              /** @description Name of the subforum. */
              subforum: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /** @description Path on the platform. */
              permalink: string
              /** @description Address. */
              url: string
              /** @description Id of the post. */
              post_id: string
              /** @description Title of the post; null: unknown. */
              link_title: string | null
              /** @description Address of the post, or of its link; null: unknown. */
              link_url: string | null
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Id of the post or comment that it answers; null: unknown. */
              parent_id: string | null
              /** @description True if the author also wrote the post. */
              is_submitter: boolean
              /** @description Depth in the tree, 0 at the top; null: unknown. */
              depth: number | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subRules: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "rules": [
           *         {
           *           "name": "Search before you ask",
           *           "description": "Most questions have an answer already.",
           *           "applies_to": "post",
           *           "violation_reason": "Asked before",
           *           "priority": 0,
           *           "created": "2020-02-06T11:55:00.000Z"
           *         }
           *       ],
           *       "site_rules": [
           *         "Spam"
           *       ]
           *     }
           */
          'application/json': {
            /** @description Rules of the community. */
            rules: ({
              /** @description Name. */
              name: string
              /** @description Description in its own words. */
              description: string
              /**
               * @description Content that the rule covers.
               * @enum {string}
               */
              applies_to: 'post' | 'comment' | 'all'
              /** @description Reason that a report of a violation gives; null: none. */
              violation_reason: string | null
              /**
               * Format: int64
               * @description Position of the rule; lower comes first.
               */
              priority: number
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Rules of the whole platform. */
            site_rules: string[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subWiki: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
        /** @description The name of a wiki page, such as index; a subpage is separated by /. */
        page: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "content_md": "# Coffee\n\nStart with the questions that everybody asks.",
           *       "content_html": "<h1>Coffee</h1>\n<p>Start with the questions that everybody asks.</p>",
           *       "revision_id": "16154095-18d5-11ee-9e1c-409518d5e7a3",
           *       "revision_date": "2020-03-07T11:55:00.000Z",
           *       "revised_by": "example_user",
           *       "reason": null
           *     }
           */
          'application/json': {
            /** @description Content as Markdown. */
            content_md: string
            /** @description Content as HTML; null: the platform gave none. */
            content_html: string | null
            /** @description Id of the revision; null: unknown. */
            revision_id: string | null
            /** @description Time of the revision; null: unknown. */
            revision_date: string | null
            /** @description Author of the revision; null: unknown. */
            revised_by: string | null
            /** @description Explanation; null: none. */
            reason: string | null
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  popularDirectory: {
    parameters: {
      query?: {
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "subforums": [
           *         {
           *           "id": "2xtnu",
           *           "name": "coffee",
           *           "display_name_prefixed": "r/coffee",
           *           "title": "Coffee: brew, talk, repeat",
           *           "description": "From bean to cup, with detours.",
           *           "subscribers": 1204551,
           *           "active_users": 6692,
           *           "created": "2020-02-06T11:55:00.000Z",
           *           "created_utc": 1580990100,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://styles.forum.example/coffee.png",
           *           "banner_url": null,
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t5_2xtnu"
           *     }
           */
          'application/json': {
            /** @description Each subforum that was found. */
            subforums: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Name with the prefix of the platform. */
              display_name_prefixed: string | null
              /** @description Title. */
              title: string | null
              /** @description Description in its own words. */
              description: string | null
              /** @description Number of members; null: unknown. */
              subscribers: number | null
              /** @description Users present at the time of the read; null: unknown. */
              active_users: number | null
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
              /** @description Time of creation in epoch seconds; null: unknown. */
              created_utc: number | null
              /** @description Type, such as public or private; null: unknown. */
              type: string | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description True if the platform warns before it is shown; null: unknown. */
              quarantined: boolean | null
              /** @description Address. */
              url: string | null
              /** @description Address of the icon; null: none. */
              icon_url: string | null
              /** @description Address of the banner; null: none. */
              banner_url: string | null
              /** @description Language code; null: unknown. */
              language: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  newDirectory: {
    parameters: {
      query?: {
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "subforums": [
           *         {
           *           "id": "2xtnu",
           *           "name": "coffee",
           *           "display_name_prefixed": "r/coffee",
           *           "title": "Coffee: brew, talk, repeat",
           *           "description": "From bean to cup, with detours.",
           *           "subscribers": 1204551,
           *           "active_users": 6692,
           *           "created": "2020-02-06T11:55:00.000Z",
           *           "created_utc": 1580990100,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://styles.forum.example/coffee.png",
           *           "banner_url": null,
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t5_2xtnu"
           *     }
           */
          'application/json': {
            /** @description Each subforum that was found. */
            subforums: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Name with the prefix of the platform. */
              display_name_prefixed: string | null
              /** @description Title. */
              title: string | null
              /** @description Description in its own words. */
              description: string | null
              /** @description Number of members; null: unknown. */
              subscribers: number | null
              /** @description Users present at the time of the read; null: unknown. */
              active_users: number | null
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
              /** @description Time of creation in epoch seconds; null: unknown. */
              created_utc: number | null
              /** @description Type, such as public or private; null: unknown. */
              type: string | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description True if the platform warns before it is shown; null: unknown. */
              quarantined: boolean | null
              /** @description Address. */
              url: string | null
              /** @description Address of the icon; null: none. */
              icon_url: string | null
              /** @description Address of the banner; null: none. */
              banner_url: string | null
              /** @description Language code; null: unknown. */
              language: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  defaultDirectory: {
    parameters: {
      query?: {
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "subforums": [
           *         {
           *           "id": "2xtnu",
           *           "name": "coffee",
           *           "display_name_prefixed": "r/coffee",
           *           "title": "Coffee: brew, talk, repeat",
           *           "description": "From bean to cup, with detours.",
           *           "subscribers": 1204551,
           *           "active_users": 6692,
           *           "created": "2020-02-06T11:55:00.000Z",
           *           "created_utc": 1580990100,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://styles.forum.example/coffee.png",
           *           "banner_url": null,
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t5_2xtnu"
           *     }
           */
          'application/json': {
            /** @description Each subforum that was found. */
            subforums: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string | null
              /** @description Name. */
              name: string
              /** @description Name with the prefix of the platform. */
              display_name_prefixed: string | null
              /** @description Title. */
              title: string | null
              /** @description Description in its own words. */
              description: string | null
              /** @description Number of members; null: unknown. */
              subscribers: number | null
              /** @description Users present at the time of the read; null: unknown. */
              active_users: number | null
              /** @description Time of creation, ISO 8601, UTC; null: unknown. */
              created: string | null
              /** @description Time of creation in epoch seconds; null: unknown. */
              created_utc: number | null
              /** @description Type, such as public or private; null: unknown. */
              type: string | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean | null
              /** @description True if the platform warns before it is shown; null: unknown. */
              quarantined: boolean | null
              /** @description Address. */
              url: string | null
              /** @description Address of the icon; null: none. */
              icon_url: string | null
              /** @description Address of the banner; null: none. */
              banner_url: string | null
              /** @description Language code; null: unknown. */
              language: string | null
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  feed: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'best' | 'hot' | 'new' | 'top' | 'rising' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "posts": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde"
           *     }
           */
          'application/json': {
            /** @description The posts. */
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              /** @description Title. */
              title: string
              /** @description Name of the author. */
              author: string
              /** @description Name of the subforum. */
              subforum: string
              /** @description Path on the platform. */
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /**
               * Format: int64
               * @description Votes up minus votes down.
               */
              upvotes: number
              /**
               * Format: int64
               * @description Number of comments, or the comments themselves.
               */
              comments: number
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              /** @description Text as Markdown; empty: none. */
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              /** @description Share of votes that are up, 0 to 1; null: unknown. */
              upvote_ratio: number | null
              /** @description True for content for adults; null: unknown. */
              over_18: boolean
              /** @description True if the post is marked as a spoiler. */
              spoiler: boolean
              /** @description True if no new comments are accepted. */
              locked: boolean
              /** @description True if the post is pinned. */
              stickied: boolean
              /** @description True for a text post. */
              is_self: boolean
              /** @description True if the platform hosts a video of the post. */
              is_video: boolean
              /** @description True if the post repeats another one. */
              is_crosspost: boolean
              /** @description The post that this one repeats; null: not a crosspost. */
              crosspost_origin:
                | ({
                    /** @description Identifier, unique among objects of this kind. */
                    id: string
                    /** @description Name of the subforum. */
                    subforum: string
                    /** @description Path on the platform. */
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              /** @description Host that a link post points to; null: none. */
              domain: string | null
              /** @description Kind of the media; null: none. */
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              /** @description Address of a preview image; null: none. */
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              /** @description Further data of the author, as far as the platform gives it. */
              author_info: {
                /** @description Id of the author with its prefix; null: unknown. */
                fullname: string | null
                /** @description Label set by the community or the author; null: none. */
                flair: string | null
                /** @description True for a paid account; null: unknown. */
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  subModerators: {
    parameters: {
      query?: {
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
        /** @description The proxy of this read, scheme://user:password@host:port. An error without a session, and when empty or malformed. */
        'x-forum-proxy'?: string
      }
      path: {
        /** @description The name of a subforum, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "moderators": [
           *         {
           *           "id": "t2_1abcd",
           *           "name": "example_user",
           *           "mod_permissions": [
           *             "all"
           *           ],
           *           "flair_text": null,
           *           "added": "2020-02-06T11:55:00.000Z"
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description The moderators. */
            moderators: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name. */
              name: string
              /** @description Permissions of the moderator. */
              mod_permissions: string[]
              /** @description Label of the moderator; null: none. */
              flair_text: string | null
              /** @description Time at which the moderator joined; null: unknown. */
              added: string | null
            } & {
              [key: string]: unknown
            })[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userUpvoted: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Instead of the header x-forum-session, which takes precedence. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which takes precedence. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which takes precedence. */
        csrf_token?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
      }
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "items": [
           *         {
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The items. */
            items: (
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  /** @description Title. */
                  title: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /**
                   * Format: int64
                   * @description Number of comments, or the comments themselves.
                   */
                  comments: number
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Text as Markdown; empty: none. */
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  /** @description Share of votes that are up, 0 to 1; null: unknown. */
                  upvote_ratio: number | null
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean
                  /** @description True if the post is marked as a spoiler. */
                  spoiler: boolean
                  /** @description True if no new comments are accepted. */
                  locked: boolean
                  /** @description True if the post is pinned. */
                  stickied: boolean
                  /** @description True for a text post. */
                  is_self: boolean
                  /** @description True if the platform hosts a video of the post. */
                  is_video: boolean
                  /** @description True if the post repeats another one. */
                  is_crosspost: boolean
                  /** @description The post that this one repeats; null: not a crosspost. */
                  crosspost_origin:
                    | ({
                        /** @description Identifier, unique among objects of this kind. */
                        id: string
                        /** @description Name of the subforum. */
                        subforum: string
                        /** @description Path on the platform. */
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description Host that a link post points to; null: none. */
                  domain: string | null
                  /** @description Kind of the media; null: none. */
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  /** @description Address of a preview image; null: none. */
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
            )[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, PROXY_AS_COOKIE */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR, UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userSaved: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Instead of the header x-forum-session, which takes precedence. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which takes precedence. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which takes precedence. */
        csrf_token?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
      }
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "items": [
           *         {
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The items. */
            items: (
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  /** @description Title. */
                  title: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /**
                   * Format: int64
                   * @description Number of comments, or the comments themselves.
                   */
                  comments: number
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Text as Markdown; empty: none. */
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  /** @description Share of votes that are up, 0 to 1; null: unknown. */
                  upvote_ratio: number | null
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean
                  /** @description True if the post is marked as a spoiler. */
                  spoiler: boolean
                  /** @description True if no new comments are accepted. */
                  locked: boolean
                  /** @description True if the post is pinned. */
                  stickied: boolean
                  /** @description True for a text post. */
                  is_self: boolean
                  /** @description True if the platform hosts a video of the post. */
                  is_video: boolean
                  /** @description True if the post repeats another one. */
                  is_crosspost: boolean
                  /** @description The post that this one repeats; null: not a crosspost. */
                  crosspost_origin:
                    | ({
                        /** @description Identifier, unique among objects of this kind. */
                        id: string
                        /** @description Name of the subforum. */
                        subforum: string
                        /** @description Path on the platform. */
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description Host that a link post points to; null: none. */
                  domain: string | null
                  /** @description Kind of the media; null: none. */
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  /** @description Address of a preview image; null: none. */
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
            )[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, PROXY_AS_COOKIE */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR, UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userHidden: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Instead of the header x-forum-session, which takes precedence. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which takes precedence. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which takes precedence. */
        csrf_token?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
      }
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "items": [
           *         {
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The items. */
            items: (
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  /** @description Title. */
                  title: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /**
                   * Format: int64
                   * @description Number of comments, or the comments themselves.
                   */
                  comments: number
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Text as Markdown; empty: none. */
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  /** @description Share of votes that are up, 0 to 1; null: unknown. */
                  upvote_ratio: number | null
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean
                  /** @description True if the post is marked as a spoiler. */
                  spoiler: boolean
                  /** @description True if no new comments are accepted. */
                  locked: boolean
                  /** @description True if the post is pinned. */
                  stickied: boolean
                  /** @description True for a text post. */
                  is_self: boolean
                  /** @description True if the platform hosts a video of the post. */
                  is_video: boolean
                  /** @description True if the post repeats another one. */
                  is_crosspost: boolean
                  /** @description The post that this one repeats; null: not a crosspost. */
                  crosspost_origin:
                    | ({
                        /** @description Identifier, unique among objects of this kind. */
                        id: string
                        /** @description Name of the subforum. */
                        subforum: string
                        /** @description Path on the platform. */
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description Host that a link post points to; null: none. */
                  domain: string | null
                  /** @description Kind of the media; null: none. */
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  /** @description Address of a preview image; null: none. */
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
            )[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, PROXY_AS_COOKIE */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR, UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  userGilded: {
    parameters: {
      query?: {
        /** @description The order of the rows. */
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        /** @description Time range; used by the sorts top and controversial only. */
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        /** @description Maximum number of rows. */
        limit?: number
        /** @description The after of the last answer, unchanged; absent: the first page. */
        after?: string
        /** @description Instead of the header x-forum-session, which takes precedence. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which takes precedence. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which takes precedence. */
        csrf_token?: string
        /** @description Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source. */
        source?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid must be sent together. */
        'x-forum-pc'?: string
      }
      path: {
        /** @description The name of a user, without prefix. */
        name: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'X-Cache': components['headers']['X-Cache']
          'X-Credits-Remaining': components['headers']['X-Credits-Remaining']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "items": [
           *         {
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "listing_status": "complete"
           *     }
           */
          'application/json': {
            /** @description The items. */
            items: (
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  /** @description Title. */
                  title: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /**
                   * Format: int64
                   * @description Number of comments, or the comments themselves.
                   */
                  comments: number
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Text as Markdown; empty: none. */
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  /** @description Share of votes that are up, 0 to 1; null: unknown. */
                  upvote_ratio: number | null
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean
                  /** @description True if the post is marked as a spoiler. */
                  spoiler: boolean
                  /** @description True if no new comments are accepted. */
                  locked: boolean
                  /** @description True if the post is pinned. */
                  stickied: boolean
                  /** @description True for a text post. */
                  is_self: boolean
                  /** @description True if the platform hosts a video of the post. */
                  is_video: boolean
                  /** @description True if the post repeats another one. */
                  is_crosspost: boolean
                  /** @description The post that this one repeats; null: not a crosspost. */
                  crosspost_origin:
                    | ({
                        /** @description Identifier, unique among objects of this kind. */
                        id: string
                        /** @description Name of the subforum. */
                        subforum: string
                        /** @description Path on the platform. */
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Label set by the community or the author; null: none. */
                  flair: string | null
                  /** @description Host that a link post points to; null: none. */
                  domain: string | null
                  /** @description Kind of the media; null: none. */
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  /** @description Address of a preview image; null: none. */
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /**
                   * @description Kind of the object.
                   * @constant
                   */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  /** @description Name of the author. */
                  author: string
                  /** @description Text of the comment or message. */
                  body: string
                  /** @description Name of the subforum. */
                  subforum: string
                  /**
                   * Format: int64
                   * @description Votes up minus votes down.
                   */
                  upvotes: number
                  /** @description Path on the platform. */
                  permalink: string
                  /** @description Address. */
                  url: string
                  /** @description Id of the post. */
                  post_id: string
                  /** @description Title of the post; null: unknown. */
                  link_title: string | null
                  /** @description Address of the post, or of its link; null: unknown. */
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  /** @description Id of the post or comment that it answers; null: unknown. */
                  parent_id: string | null
                  /** @description True if the author also wrote the post. */
                  is_submitter: boolean
                  /** @description Depth in the tree, 0 at the top; null: unknown. */
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  /** @description True for content for adults; null: unknown. */
                  over_18: boolean | null
                  /** @description Further data of the author, as far as the platform gives it. */
                  author_info: {
                    /** @description Id of the author with its prefix; null: unknown. */
                    fullname: string | null
                    /** @description Label set by the community or the author; null: none. */
                    flair: string | null
                    /** @description True for a paid account; null: unknown. */
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
            )[]
            /** @description Cursor of the next page, to be sent unchanged; null at the end. */
            after: string | null
            /**
             * @description Present if after is null. Only complete means that everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, PROXY_AS_COOKIE */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token, REAUTH_REQUIRED */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Insufficient credits */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Insufficient credits",
           *       "code": "insufficient_credits"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token, PERMISSION_DENIED */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_timeout */
      408: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_timeout",
           *       "code": "upstream_timeout"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_SUPPORTED_BY_SOURCE */
      501: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_SUPPORTED_BY_SOURCE",
           *       "code": "NOT_SUPPORTED_BY_SOURCE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description PROXY_ERROR, UPSTREAM_ERROR */
      502: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "PROXY_ERROR",
           *       "code": "PROXY_ERROR"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  sources: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "sources": [
           *         {
           *           "name": "hn",
           *           "kind": "hackernews",
           *           "url": "https://news.ycombinator.com",
           *           "capabilities": [
           *             "posts",
           *             "comments",
           *             "search",
           *             "tree",
           *             "user"
           *           ],
           *           "place_examples": [
           *             "story",
           *             "ask",
           *             "show",
           *             "job"
           *           ],
           *           "proof": "dense",
           *           "reachable": true,
           *           "ends_at": null
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description The sources. */
            sources: {
              /** @description Name of the source, for the parameter source. */
              name: string
              /** @description Kind of the source. */
              kind: string
              /** @description Address. */
              url: string
              /** @description Calls that the source supports. */
              capabilities: string[]
              /** @description Names of places as this source writes them. */
              place_examples: string[]
              /** @description How completeness is proven; null: unknown. */
              proof: string | null
              /** @description True if the last request to the source succeeded. */
              reachable: boolean
              /** @description Time at which the source ends; null: no end is planned. */
              ends_at: string | null
            }[]
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorAdd: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "filter_spec": {
         *         "subforum": "coffee",
         *         "include_any": [
         *           "grinder",
         *           "burr set"
         *         ]
         *       },
         *       "webhook_ids": [
         *         "wh_0199a000-0000-7000-8000-000000000002"
         *       ],
         *       "name": "grinders"
         *     }
         */
        'application/json': {
          /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
          filter_spec: {
            /** @description Names of sources, as /api/forum/sources lists them, or all. Default: main. */
            source?: string | string[]
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description Items to watch. Default: post; with thread: comment.
             * @default post
             * @enum {string}
             */
            kind?: 'post' | 'comment' | 'both'
            /** @description A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun */
            q?: string
            /** @description At least one of these occurs. */
            include_any?: string[]
            /** @description Every one of these occurs. */
            include_all?: string[]
            /** @description None of these occurs. Exclusions win. */
            exclude_terms?: string[]
            /**
             * @description Where terms and patterns are looked for; on a comment, title is its thread's title.
             * @default [
             *       "title",
             *       "body",
             *       "url"
             *     ]
             */
            search_in?:
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')[]
            /**
             * @description Whole words, or parts of them too.
             * @default word
             * @enum {string}
             */
            match?: 'word' | 'substring'
            /**
             * @description Ignores accents: cafe equals café.
             * @default false
             */
            fold_accents?: boolean
            /**
             * @description True: keywords match only in this case.
             * @default false
             */
            case_sensitive?: boolean
            /** @description Any of these patterns matches; RE2's syntax. */
            regex?: string[]
            /** @description By one of these. */
            author?: string | string[]
            /** @description By none of these. */
            exclude_authors?: string | string[]
            /** @description Comments under these posts, by id. */
            thread?: string | string[]
            /** @description Leads to one of these hosts, or to a host below it. */
            domain?: string | string[]
            /** @description Leads to none of these. */
            exclude_domains?: string | string[]
            /** @description One of these is the post's flair, whole; case ignored. */
            flair?: string | string[]
            /** @description None of these is the post's flair. */
            exclude_flair?: string | string[]
            /** @description True: only posts with a label; false: only those without. */
            has_flair?: boolean
            /** @description Types of post that match, one or several. */
            post_type?:
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')[]
            /** @description True: adult content only. False: none of it, as far as the feed tells. */
            nsfw?: boolean
            /**
             * Format: int64
             * @description Reached while the item is fresh.
             */
            min_score?: number
            /**
             * Format: int64
             * @description Reached while the post is fresh.
             */
            min_comments?: number
            /**
             * Format: int64
             * @description Minimum of relevance.score × 100. Matches below it are listed as suppressed.
             */
            min_relevance?: number
            /** @description Intents of the text that match, one or several. */
            intent?:
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )[]
            /** @description Sentiments of the text that match, one or several. */
            sentiment?:
              | ('positive' | 'negative' | 'mixed' | 'neutral')
              | ('positive' | 'negative' | 'mixed' | 'neutral')[]
            /** @description ISO 639-1. An item whose language is unknown does not match. */
            language?:
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )[]
            /** @description Matches of one check travel together; a label names the bundle. */
            group?: boolean | string
            /**
             * Format: int64
             * @description Collects for longer than one check.
             */
            group_window_s?: number
          }
          /** @description The webhooks to deliver to. Null or empty: every active one, unless targets is none. */
          webhook_ids?: string[] | null
          /**
           * @description none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.
           * @enum {string}
           */
          targets?: 'all' | 'listed' | 'none'
          /** @description Name. */
          name?: string | null
          /**
           * Format: int64
           * @description Requested interval of the checks, in seconds.
           */
          cadence_s?: number
          /** @description Quiet hours, digests and alarms. Replaces all rules at once; null removes them. */
          attention?: {
            /**
             * @description IANA time zone of all hours beside it.
             * @default UTC
             */
            time_zone?: string
            /**
             * @description Nothing is sent then; what is due waits for their end.
             * @default []
             */
            quiet_hours?: {
              /** @description Local time at which they start, HH:MM. */
              from: string
              /** @description Not later than from: on the next day. */
              to: string
              /**
               * @description Days on which it begins; default: every day.
               * @default [
               *       "mon",
               *       "tue",
               *       "wed",
               *       "thu",
               *       "fri",
               *       "sat",
               *       "sun"
               *     ]
               */
              days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
            }[]
            /**
             * @description Matches are collected and sent at this hour; null: each at once.
             * @default null
             */
            digest?: {
              /**
               * @description Period of the digest.
               * @enum {string}
               */
              every: 'day' | 'week'
              /** @description Local time of day at which the digest is sent, HH:MM. */
              at: string
              /**
               * @description Day of a weekly digest; null: every is day.
               * @default null
               */
              day?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
            } | null
            /**
             * @description Webhooks with a time zone, quiet hours and digest of their own instead of those above.
             * @default []
             */
            targets?: {
              /** @description Id of the target; null: none. */
              webhook_id: string
              /**
               * @description Null: that of the monitor.
               * @default null
               */
              time_zone?: string | null
              /**
               * @description Nothing is sent then; what is due waits for their end.
               * @default []
               */
              quiet_hours?: {
                /** @description Local time at which they start, HH:MM. */
                from: string
                /** @description Not later than from: on the next day. */
                to: string
                /**
                 * @description Days on which it begins; default: every day.
                 * @default [
                 *       "mon",
                 *       "tue",
                 *       "wed",
                 *       "thu",
                 *       "fri",
                 *       "sat",
                 *       "sun"
                 *     ]
                 */
                days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
              }[]
              /**
               * @description Matches are collected and sent at this hour; null: each at once.
               * @default null
               */
              digest?: {
                /**
                 * @description Period of the digest.
                 * @enum {string}
                 */
                every: 'day' | 'week'
                /** @description Local time of day at which the digest is sent, HH:MM. */
                at: string
                /**
                 * @description Day of a weekly digest; null: every is day.
                 * @default null
                 */
                day?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
              } | null
            }[]
            /**
             * @description Hours without a match after which an alarm is sent; null: never.
             * @default null
             */
            silent_after_h?: number | null
            /**
             * @description Send an alarm when coverage in health becomes degraded.
             * @default false
             */
            alarm_on_degraded?: boolean
            /**
             * @description Repeat an alarm at this interval until it is acknowledged or over; null: send it once.
             * @default null
             */
            escalate?: {
              /**
               * Format: int64
               * @description Minutes between two repeats of an alarm.
               */
              every_min: number
              /**
               * Format: int64
               * @description Repeats of one alarm at most.
               * @default 10
               */
              max?: number
            } | null
          } | null
          /** @description Id of the item after which matching starts; absent: now. */
          baseline_item_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "name": "grinders",
           *       "filter_spec": {
           *         "subforum": [
           *           "coffee"
           *         ],
           *         "kind": "post",
           *         "include_any": [
           *           "grinder",
           *           "burr set"
           *         ]
           *       },
           *       "cadence_s": 60,
           *       "requested_cadence_s": null,
           *       "raised": false,
           *       "webhook_ids": [
           *         "wh_0199a000-0000-7000-8000-000000000002"
           *       ],
           *       "targets": "listed",
           *       "active": true,
           *       "pause_reason": null,
           *       "created_at": "2026-01-31T11:56:00.000Z",
           *       "updated_at": "2026-01-31T11:56:00.000Z",
           *       "last_match_at": null,
           *       "attention": null,
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM",
           *       "streams": [
           *         {
           *           "id": "posts:coffee",
           *           "kind": "posts",
           *           "subforum": "coffee",
           *           "interval_s": 60
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name. */
            name: string | null
            /** @description Conditions that an item has to meet. */
            filter_spec: {
              [key: string]: unknown
            }
            /**
             * Format: int64
             * @description Promised interval, in seconds.
             */
            cadence_s: number
            /** @description Interval of the request; null: the default. */
            requested_cadence_s: number | null
            /** @description True if the plan does not allow the requested interval. */
            raised: boolean
            /** @description Null: every active webhook. Empty: none. */
            webhook_ids: string[] | null
            /**
             * @description all: webhook_ids is null. none: it is empty. listed: it names some.
             * @enum {string}
             */
            targets: 'all' | 'listed' | 'none'
            /** @description False while it is paused or disabled. */
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time of the last change.
             */
            updated_at: string
            /** @description Time of the newest match; null: none so far. */
            last_match_at: string | null
            /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
            attention: {
              /**
               * @description IANA time zone of all hours beside it.
               * @default UTC
               */
              time_zone: string
              /**
               * @description Nothing is sent then; what is due waits for their end.
               * @default []
               */
              quiet_hours: {
                /** @description Local time at which they start, HH:MM. */
                from: string
                /** @description Not later than from: on the next day. */
                to: string
                /**
                 * @description Days on which it begins; default: every day.
                 * @default [
                 *       "mon",
                 *       "tue",
                 *       "wed",
                 *       "thu",
                 *       "fri",
                 *       "sat",
                 *       "sun"
                 *     ]
                 */
                days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
              }[]
              /**
               * @description Matches are collected and sent at this hour; null: each at once.
               * @default null
               */
              digest: {
                /**
                 * @description Period of the digest.
                 * @enum {string}
                 */
                every: 'day' | 'week'
                /** @description Local time of day at which the digest is sent, HH:MM. */
                at: string
                /**
                 * @description Day of a weekly digest; null: every is day.
                 * @default null
                 */
                day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
              } | null
              /**
               * @description Webhooks with a time zone, quiet hours and digest of their own instead of those above.
               * @default []
               */
              targets: {
                /** @description Id of the target; null: none. */
                webhook_id: string
                /**
                 * @description Null: that of the monitor.
                 * @default null
                 */
                time_zone: string | null
                /**
                 * @description Nothing is sent then; what is due waits for their end.
                 * @default []
                 */
                quiet_hours: {
                  /** @description Local time at which they start, HH:MM. */
                  from: string
                  /** @description Not later than from: on the next day. */
                  to: string
                  /**
                   * @description Days on which it begins; default: every day.
                   * @default [
                   *       "mon",
                   *       "tue",
                   *       "wed",
                   *       "thu",
                   *       "fri",
                   *       "sat",
                   *       "sun"
                   *     ]
                   */
                  days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
                }[]
                /**
                 * @description Matches are collected and sent at this hour; null: each at once.
                 * @default null
                 */
                digest: {
                  /**
                   * @description Period of the digest.
                   * @enum {string}
                   */
                  every: 'day' | 'week'
                  /** @description Local time of day at which the digest is sent, HH:MM. */
                  at: string
                  /**
                   * @description Day of a weekly digest; null: every is day.
                   * @default null
                   */
                  day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
                } | null
              }[]
              /**
               * @description Hours without a match after which an alarm is sent; null: never.
               * @default null
               */
              silent_after_h: number | null
              /**
               * @description Send an alarm when coverage in health becomes degraded.
               * @default false
               */
              alarm_on_degraded: boolean
              /**
               * @description Repeat an alarm at this interval until it is acknowledged or over; null: send it once.
               * @default null
               */
              escalate: {
                /**
                 * Format: int64
                 * @description Minutes between two repeats of an alarm.
                 */
                every_min: number
                /**
                 * Format: int64
                 * @description Repeats of one alarm at most.
                 * @default 10
                 */
                max: number
              } | null
            } | null
            /** @description Matches as Atom; anyone with this address can read them. */
            feed_url: string
            /** @description Feeds that are read for the monitor. */
            streams: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
              /** @description Name of the subforum; null: the stream is not of one. */
              subforum: string | null
              /**
               * Format: int64
               * @description Actual poll interval, in seconds.
               */
              interval_s: number
            } & {
              [key: string]: unknown
            })[]
            /** @description subforum_unverified: the platform could not be reached. */
            warnings?: string[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, subforum_not_found, subforum_reserved, webhook_not_found, webhook_paused */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description sitewide_slots_exhausted, monitor_slots_exhausted */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "sitewide_slots_exhausted",
           *       "code": "sitewide_slots_exhausted"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorList: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "monitors": [
           *         {
           *           "id": "mon_0199a000-0000-7000-8000-000000000001",
           *           "name": "grinders",
           *           "filter_spec": {
           *             "subforum": [
           *               "coffee"
           *             ],
           *             "kind": "post",
           *             "include_any": [
           *               "grinder",
           *               "burr set"
           *             ]
           *           },
           *           "cadence_s": 60,
           *           "requested_cadence_s": null,
           *           "raised": false,
           *           "webhook_ids": [
           *             "wh_0199a000-0000-7000-8000-000000000002"
           *           ],
           *           "targets": "listed",
           *           "active": true,
           *           "pause_reason": null,
           *           "created_at": "2026-01-31T11:56:00.000Z",
           *           "updated_at": "2026-01-31T11:56:00.000Z",
           *           "last_match_at": "2026-01-31T11:58:38.000Z",
           *           "attention": null,
           *           "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM",
           *           "streams": [
           *             {
           *               "id": "posts:coffee",
           *               "kind": "posts",
           *               "subforum": "coffee",
           *               "interval_s": 60
           *             }
           *           ]
           *         }
           *       ],
           *       "slots": {
           *         "used": 1,
           *         "total": 10,
           *         "tier": "entry",
           *         "sitewide_used": 0,
           *         "sitewide_total": 2
           *       }
           *     }
           */
          'application/json': {
            /** @description The monitors, or their number. */
            monitors: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /** @description Name. */
              name: string | null
              /** @description Conditions that an item has to meet. */
              filter_spec: {
                [key: string]: unknown
              }
              /**
               * Format: int64
               * @description Promised interval, in seconds.
               */
              cadence_s: number
              /** @description Interval of the request; null: the default. */
              requested_cadence_s: number | null
              /** @description True if the plan does not allow the requested interval. */
              raised: boolean
              /** @description Null: every active webhook. Empty: none. */
              webhook_ids: string[] | null
              /**
               * @description all: webhook_ids is null. none: it is empty. listed: it names some.
               * @enum {string}
               */
              targets: 'all' | 'listed' | 'none'
              /** @description False while it is paused or disabled. */
              active: boolean
              /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
              pause_reason: 'filter_too_slow' | null
              /**
               * Format: date-time
               * @description Time of creation.
               */
              created_at: string
              /**
               * Format: date-time
               * @description Time of the last change.
               */
              updated_at: string
              /** @description Time of the newest match; null: none so far. */
              last_match_at: string | null
              /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
              attention: {
                /**
                 * @description IANA time zone of all hours beside it.
                 * @default UTC
                 */
                time_zone: string
                /**
                 * @description Nothing is sent then; what is due waits for their end.
                 * @default []
                 */
                quiet_hours: {
                  /** @description Local time at which they start, HH:MM. */
                  from: string
                  /** @description Not later than from: on the next day. */
                  to: string
                  /**
                   * @description Days on which it begins; default: every day.
                   * @default [
                   *       "mon",
                   *       "tue",
                   *       "wed",
                   *       "thu",
                   *       "fri",
                   *       "sat",
                   *       "sun"
                   *     ]
                   */
                  days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
                }[]
                /**
                 * @description Matches are collected and sent at this hour; null: each at once.
                 * @default null
                 */
                digest: {
                  /**
                   * @description Period of the digest.
                   * @enum {string}
                   */
                  every: 'day' | 'week'
                  /** @description Local time of day at which the digest is sent, HH:MM. */
                  at: string
                  /**
                   * @description Day of a weekly digest; null: every is day.
                   * @default null
                   */
                  day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
                } | null
                /**
                 * @description Webhooks with a time zone, quiet hours and digest of their own instead of those above.
                 * @default []
                 */
                targets: {
                  /** @description Id of the target; null: none. */
                  webhook_id: string
                  /**
                   * @description Null: that of the monitor.
                   * @default null
                   */
                  time_zone: string | null
                  /**
                   * @description Nothing is sent then; what is due waits for their end.
                   * @default []
                   */
                  quiet_hours: {
                    /** @description Local time at which they start, HH:MM. */
                    from: string
                    /** @description Not later than from: on the next day. */
                    to: string
                    /**
                     * @description Days on which it begins; default: every day.
                     * @default [
                     *       "mon",
                     *       "tue",
                     *       "wed",
                     *       "thu",
                     *       "fri",
                     *       "sat",
                     *       "sun"
                     *     ]
                     */
                    days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
                  }[]
                  /**
                   * @description Matches are collected and sent at this hour; null: each at once.
                   * @default null
                   */
                  digest: {
                    /**
                     * @description Period of the digest.
                     * @enum {string}
                     */
                    every: 'day' | 'week'
                    /** @description Local time of day at which the digest is sent, HH:MM. */
                    at: string
                    /**
                     * @description Day of a weekly digest; null: every is day.
                     * @default null
                     */
                    day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
                  } | null
                }[]
                /**
                 * @description Hours without a match after which an alarm is sent; null: never.
                 * @default null
                 */
                silent_after_h: number | null
                /**
                 * @description Send an alarm when coverage in health becomes degraded.
                 * @default false
                 */
                alarm_on_degraded: boolean
                /**
                 * @description Repeat an alarm at this interval until it is acknowledged or over; null: send it once.
                 * @default null
                 */
                escalate: {
                  /**
                   * Format: int64
                   * @description Minutes between two repeats of an alarm.
                   */
                  every_min: number
                  /**
                   * Format: int64
                   * @description Repeats of one alarm at most.
                   * @default 10
                   */
                  max: number
                } | null
              } | null
              /** @description Matches as Atom; anyone with this address can read them. */
              feed_url: string
              /** @description Feeds that are read for the monitor. */
              streams: ({
                /** @description Identifier, unique among objects of this kind. */
                id: string
                /**
                 * @description Kind of the object.
                 * @enum {string}
                 */
                kind:
                  | 'posts'
                  | 'comments'
                  | 'search'
                  | 'thread'
                  | 'user_posts'
                  | 'user_comments'
                  | 'stream'
                /** @description Name of the subforum; null: the stream is not of one. */
                subforum: string | null
                /**
                 * Format: int64
                 * @description Actual poll interval, in seconds.
                 */
                interval_s: number
              } & {
                [key: string]: unknown
              })[]
            } & {
              [key: string]: unknown
            })[]
            /** @description Monitors that the plan allows. */
            slots: {
              /**
               * Format: int64
               * @description Number in use.
               */
              used: number
              /**
               * Format: int64
               * @description Sum of the period, or the number that the plan allows.
               */
              total: number
              /** @description Name of the plan. */
              tier: string
              /**
               * Format: int64
               * @description Occupied slots for monitors of the whole platform.
               */
              sitewide_used: number
              /**
               * Format: int64
               * @description Slots for monitors of the whole platform.
               */
              sitewide_total: number
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorUpdate: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "mon_0199a000-0000-7000-8000-000000000001",
         *       "active": false
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the monitor. */
          monitor_id?: string
          /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
          filter_spec?: {
            /** @description Names of sources, as /api/forum/sources lists them, or all. Default: main. */
            source?: string | string[]
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description Items to watch. Default: post; with thread: comment.
             * @default post
             * @enum {string}
             */
            kind?: 'post' | 'comment' | 'both'
            /** @description A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun */
            q?: string
            /** @description At least one of these occurs. */
            include_any?: string[]
            /** @description Every one of these occurs. */
            include_all?: string[]
            /** @description None of these occurs. Exclusions win. */
            exclude_terms?: string[]
            /**
             * @description Where terms and patterns are looked for; on a comment, title is its thread's title.
             * @default [
             *       "title",
             *       "body",
             *       "url"
             *     ]
             */
            search_in?:
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')[]
            /**
             * @description Whole words, or parts of them too.
             * @default word
             * @enum {string}
             */
            match?: 'word' | 'substring'
            /**
             * @description Ignores accents: cafe equals café.
             * @default false
             */
            fold_accents?: boolean
            /**
             * @description True: keywords match only in this case.
             * @default false
             */
            case_sensitive?: boolean
            /** @description Any of these patterns matches; RE2's syntax. */
            regex?: string[]
            /** @description By one of these. */
            author?: string | string[]
            /** @description By none of these. */
            exclude_authors?: string | string[]
            /** @description Comments under these posts, by id. */
            thread?: string | string[]
            /** @description Leads to one of these hosts, or to a host below it. */
            domain?: string | string[]
            /** @description Leads to none of these. */
            exclude_domains?: string | string[]
            /** @description One of these is the post's flair, whole; case ignored. */
            flair?: string | string[]
            /** @description None of these is the post's flair. */
            exclude_flair?: string | string[]
            /** @description True: only posts with a label; false: only those without. */
            has_flair?: boolean
            /** @description Types of post that match, one or several. */
            post_type?:
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')[]
            /** @description True: adult content only. False: none of it, as far as the feed tells. */
            nsfw?: boolean
            /**
             * Format: int64
             * @description Reached while the item is fresh.
             */
            min_score?: number
            /**
             * Format: int64
             * @description Reached while the post is fresh.
             */
            min_comments?: number
            /**
             * Format: int64
             * @description Minimum of relevance.score × 100. Matches below it are listed as suppressed.
             */
            min_relevance?: number
            /** @description Intents of the text that match, one or several. */
            intent?:
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )[]
            /** @description Sentiments of the text that match, one or several. */
            sentiment?:
              | ('positive' | 'negative' | 'mixed' | 'neutral')
              | ('positive' | 'negative' | 'mixed' | 'neutral')[]
            /** @description ISO 639-1. An item whose language is unknown does not match. */
            language?:
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )[]
            /** @description Matches of one check travel together; a label names the bundle. */
            group?: boolean | string
            /**
             * Format: int64
             * @description Collects for longer than one check.
             */
            group_window_s?: number
          }
          /** @description False while it is paused or disabled. */
          active?: boolean
          /** @description The webhooks to deliver to. Null or empty: every active one, unless targets is none. */
          webhook_ids?: string[] | null
          /**
           * @description none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.
           * @enum {string}
           */
          targets?: 'all' | 'listed' | 'none'
          /** @description Name. */
          name?: string | null
          /**
           * Format: int64
           * @description Requested interval of the checks, in seconds.
           */
          cadence_s?: number
          /** @description Quiet hours, digests and alarms. Replaces all rules at once; null removes them. */
          attention?: {
            /**
             * @description IANA time zone of all hours beside it.
             * @default UTC
             */
            time_zone?: string
            /**
             * @description Nothing is sent then; what is due waits for their end.
             * @default []
             */
            quiet_hours?: {
              /** @description Local time at which they start, HH:MM. */
              from: string
              /** @description Not later than from: on the next day. */
              to: string
              /**
               * @description Days on which it begins; default: every day.
               * @default [
               *       "mon",
               *       "tue",
               *       "wed",
               *       "thu",
               *       "fri",
               *       "sat",
               *       "sun"
               *     ]
               */
              days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
            }[]
            /**
             * @description Matches are collected and sent at this hour; null: each at once.
             * @default null
             */
            digest?: {
              /**
               * @description Period of the digest.
               * @enum {string}
               */
              every: 'day' | 'week'
              /** @description Local time of day at which the digest is sent, HH:MM. */
              at: string
              /**
               * @description Day of a weekly digest; null: every is day.
               * @default null
               */
              day?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
            } | null
            /**
             * @description Webhooks with a time zone, quiet hours and digest of their own instead of those above.
             * @default []
             */
            targets?: {
              /** @description Id of the target; null: none. */
              webhook_id: string
              /**
               * @description Null: that of the monitor.
               * @default null
               */
              time_zone?: string | null
              /**
               * @description Nothing is sent then; what is due waits for their end.
               * @default []
               */
              quiet_hours?: {
                /** @description Local time at which they start, HH:MM. */
                from: string
                /** @description Not later than from: on the next day. */
                to: string
                /**
                 * @description Days on which it begins; default: every day.
                 * @default [
                 *       "mon",
                 *       "tue",
                 *       "wed",
                 *       "thu",
                 *       "fri",
                 *       "sat",
                 *       "sun"
                 *     ]
                 */
                days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
              }[]
              /**
               * @description Matches are collected and sent at this hour; null: each at once.
               * @default null
               */
              digest?: {
                /**
                 * @description Period of the digest.
                 * @enum {string}
                 */
                every: 'day' | 'week'
                /** @description Local time of day at which the digest is sent, HH:MM. */
                at: string
                /**
                 * @description Day of a weekly digest; null: every is day.
                 * @default null
                 */
                day?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
              } | null
            }[]
            /**
             * @description Hours without a match after which an alarm is sent; null: never.
             * @default null
             */
            silent_after_h?: number | null
            /**
             * @description Send an alarm when coverage in health becomes degraded.
             * @default false
             */
            alarm_on_degraded?: boolean
            /**
             * @description Repeat an alarm at this interval until it is acknowledged or over; null: send it once.
             * @default null
             */
            escalate?: {
              /**
               * Format: int64
               * @description Minutes between two repeats of an alarm.
               */
              every_min: number
              /**
               * Format: int64
               * @description Repeats of one alarm at most.
               * @default 10
               */
              max?: number
            } | null
          } | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "name": "grinders",
           *       "filter_spec": {
           *         "subforum": [
           *           "coffee"
           *         ],
           *         "kind": "post",
           *         "include_any": [
           *           "grinder",
           *           "burr set"
           *         ]
           *       },
           *       "cadence_s": 60,
           *       "requested_cadence_s": null,
           *       "raised": false,
           *       "webhook_ids": [
           *         "wh_0199a000-0000-7000-8000-000000000002"
           *       ],
           *       "targets": "listed",
           *       "active": false,
           *       "pause_reason": null,
           *       "created_at": "2026-01-31T11:56:00.000Z",
           *       "updated_at": "2026-01-31T11:58:43.000Z",
           *       "last_match_at": null,
           *       "attention": null,
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM",
           *       "streams": [
           *         {
           *           "id": "posts:coffee",
           *           "kind": "posts",
           *           "subforum": "coffee",
           *           "interval_s": 60
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name. */
            name: string | null
            /** @description Conditions that an item has to meet. */
            filter_spec: {
              [key: string]: unknown
            }
            /**
             * Format: int64
             * @description Promised interval, in seconds.
             */
            cadence_s: number
            /** @description Interval of the request; null: the default. */
            requested_cadence_s: number | null
            /** @description True if the plan does not allow the requested interval. */
            raised: boolean
            /** @description Null: every active webhook. Empty: none. */
            webhook_ids: string[] | null
            /**
             * @description all: webhook_ids is null. none: it is empty. listed: it names some.
             * @enum {string}
             */
            targets: 'all' | 'listed' | 'none'
            /** @description False while it is paused or disabled. */
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time of the last change.
             */
            updated_at: string
            /** @description Time of the newest match; null: none so far. */
            last_match_at: string | null
            /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
            attention: {
              /**
               * @description IANA time zone of all hours beside it.
               * @default UTC
               */
              time_zone: string
              /**
               * @description Nothing is sent then; what is due waits for their end.
               * @default []
               */
              quiet_hours: {
                /** @description Local time at which they start, HH:MM. */
                from: string
                /** @description Not later than from: on the next day. */
                to: string
                /**
                 * @description Days on which it begins; default: every day.
                 * @default [
                 *       "mon",
                 *       "tue",
                 *       "wed",
                 *       "thu",
                 *       "fri",
                 *       "sat",
                 *       "sun"
                 *     ]
                 */
                days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
              }[]
              /**
               * @description Matches are collected and sent at this hour; null: each at once.
               * @default null
               */
              digest: {
                /**
                 * @description Period of the digest.
                 * @enum {string}
                 */
                every: 'day' | 'week'
                /** @description Local time of day at which the digest is sent, HH:MM. */
                at: string
                /**
                 * @description Day of a weekly digest; null: every is day.
                 * @default null
                 */
                day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
              } | null
              /**
               * @description Webhooks with a time zone, quiet hours and digest of their own instead of those above.
               * @default []
               */
              targets: {
                /** @description Id of the target; null: none. */
                webhook_id: string
                /**
                 * @description Null: that of the monitor.
                 * @default null
                 */
                time_zone: string | null
                /**
                 * @description Nothing is sent then; what is due waits for their end.
                 * @default []
                 */
                quiet_hours: {
                  /** @description Local time at which they start, HH:MM. */
                  from: string
                  /** @description Not later than from: on the next day. */
                  to: string
                  /**
                   * @description Days on which it begins; default: every day.
                   * @default [
                   *       "mon",
                   *       "tue",
                   *       "wed",
                   *       "thu",
                   *       "fri",
                   *       "sat",
                   *       "sun"
                   *     ]
                   */
                  days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
                }[]
                /**
                 * @description Matches are collected and sent at this hour; null: each at once.
                 * @default null
                 */
                digest: {
                  /**
                   * @description Period of the digest.
                   * @enum {string}
                   */
                  every: 'day' | 'week'
                  /** @description Local time of day at which the digest is sent, HH:MM. */
                  at: string
                  /**
                   * @description Day of a weekly digest; null: every is day.
                   * @default null
                   */
                  day: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun') | null
                } | null
              }[]
              /**
               * @description Hours without a match after which an alarm is sent; null: never.
               * @default null
               */
              silent_after_h: number | null
              /**
               * @description Send an alarm when coverage in health becomes degraded.
               * @default false
               */
              alarm_on_degraded: boolean
              /**
               * @description Repeat an alarm at this interval until it is acknowledged or over; null: send it once.
               * @default null
               */
              escalate: {
                /**
                 * Format: int64
                 * @description Minutes between two repeats of an alarm.
                 */
                every_min: number
                /**
                 * Format: int64
                 * @description Repeats of one alarm at most.
                 * @default 10
                 */
                max: number
              } | null
            } | null
            /** @description Matches as Atom; anyone with this address can read them. */
            feed_url: string
            /** @description Feeds that are read for the monitor. */
            streams: ({
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
              /** @description Name of the subforum; null: the stream is not of one. */
              subforum: string | null
              /**
               * Format: int64
               * @description Actual poll interval, in seconds.
               */
              interval_s: number
            } & {
              [key: string]: unknown
            })[]
            /** @description subforum_unverified: the platform could not be reached. */
            warnings?: string[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, subforum_not_found, subforum_reserved, webhook_not_found, webhook_paused */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description sitewide_slots_exhausted */
      402: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "sitewide_slots_exhausted",
           *       "code": "sitewide_slots_exhausted"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorRemove: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "mon_0199a000-0000-7000-8000-000000000001"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the monitor. */
          monitor_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "removed": true,
           *       "id": "mon_0199a000-0000-7000-8000-000000000001"
           *     }
           */
          'application/json': {
            /**
             * @description True: the monitor is gone.
             * @constant
             */
            removed: true
            /** @description Identifier, unique among objects of this kind. */
            id: string
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorAcknowledge: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "mon_0199a000-0000-7000-8000-000000000001"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the monitor. */
          monitor_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "acknowledged": 1
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * Format: int64
             * @description Number of alarms that this call acknowledged.
             */
            acknowledged: number
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorHealth: {
    parameters: {
      query: {
        /** @description The id of a monitor. */
        id: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "active": true,
           *       "pause_reason": null,
           *       "alarms": [],
           *       "daily_delivery_ceiling": 10000,
           *       "delivered_24h": 1,
           *       "failed_24h": 0,
           *       "rejected_24h": 0,
           *       "suppressed_24h": 0,
           *       "suppressed_breakdown": {
           *         "ceiling": 0,
           *         "stale": 0,
           *         "low_relevance": 0,
           *         "unknown": 0,
           *         "sampled": 0,
           *         "sample_truncated": false,
           *         "resolved": true,
           *         "unresolved_reason": null
           *       },
           *       "ceiling_reached": false,
           *       "last_match_at": "2026-01-31T11:58:38.000Z",
           *       "coverage_24h": {
           *         "status": "complete",
           *         "reason": null,
           *         "proof": [
           *           "time_listing"
           *         ],
           *         "since": "2026-01-31T11:56:00.000Z",
           *         "audited_until": "2026-01-31T11:56:00.000Z",
           *         "audit_interval_s": 600,
           *         "gaps": [],
           *         "gaps_returned": 0,
           *         "gaps_truncated": false,
           *         "gap_events_24h": 0,
           *         "gaps_open": 0,
           *         "posts_in_window_at_least": 2,
           *         "posts_missed_estimate": 0,
           *         "observed_events": [],
           *         "unobserved_events": []
           *       },
           *       "stream_liveness": {
           *         "status": "live",
           *         "reason": null,
           *         "streams": []
           *       },
           *       "cadence": {
           *         "promised_cadence_s": 60,
           *         "requested_cadence_s": null,
           *         "meets_entitlement": true,
           *         "last_checked_s_ago": 22,
           *         "freshness_ratio": 0.37,
           *         "within_margin": true,
           *         "slowest_stream": "posts:coffee",
           *         "unknown_reason": null
           *       },
           *       "clock_skew_s": 0
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description False while it is paused or disabled. */
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /**
             * Format: int64
             * @description Maximum number of deliveries a day.
             */
            daily_delivery_ceiling: number
            /**
             * Format: int64
             * @description Deliveries that were accepted in the last 24 hours.
             */
            delivered_24h: number
            /**
             * Format: int64
             * @description Deliveries that exhausted the retry schedule.
             */
            failed_24h: number
            /**
             * Format: int64
             * @description Deliveries that their receiver refused permanently.
             */
            rejected_24h: number
            /**
             * Format: int64
             * @description A lower bound.
             */
            suppressed_24h: number
            /** @description Matches that were not delivered, by cause. */
            suppressed_breakdown: {
              /**
               * Format: int64
               * @description Matches beyond the daily ceiling of the plan.
               */
              ceiling: number
              /**
               * Format: int64
               * @description Matches that were too old when they were found.
               */
              stale: number
              /**
               * Format: int64
               * @description Matches below min_relevance.
               */
              low_relevance: number
              /**
               * Format: int64
               * @description Suppressed matches without a known cause.
               */
              unknown: number
              /**
               * Format: int64
               * @description Sum of the causes.
               */
              sampled: number
              /** @description True if not every match beyond the ceiling is counted. */
              sample_truncated: boolean
              /** @description True if every suppressed match has a known cause. */
              resolved: boolean
              /** @description Why causes are unknown; null: all are known. */
              unresolved_reason: string | null
            } & {
              [key: string]: unknown
            }
            /** @description True if the daily ceiling of deliveries is reached. */
            ceiling_reached: boolean
            /** @description Time of the newest match; null: none so far. */
            last_match_at: string | null
            /** @description Proof of what was read in the last 24 hours. */
            coverage_24h: {
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'complete' | 'degraded' | 'partial' | 'unknown'
              /** @description Explanation; null: none. */
              reason: string | null
              /** @description How its feeds prove that nothing was missed: time_listing (polls and audits of listings), keyset, dense or sparse_walk (by ids). */
              proof: string[]
              /**
               * Format: date-time
               * @description Start of the state or of the window.
               */
              since: string
              /** @description Time up to which an audit has compared the items; null: none so far. */
              audited_until: string | null
              /** @description Seconds between two audits; null: none is planned. */
              audit_interval_s: number | null
              /** @description Ranges that may be incomplete. */
              gaps: ({
                /** @description Name of the stream; null: all of them. */
                stream: string
                /** @description Explanation; null: none. */
                reason: string
                /**
                 * Format: date-time
                 * @description Time of the event.
                 */
                at: string
                /** @description Start of the gap; null: unknown. */
                from: string | null
                /** @description End of the range; null: still open. */
                until: string | null
                /** @description Estimated number of missed items; null: unknown. */
                missed_estimate: number | null
                /** @description First id of a further source that had no item (reason unanswered) or was not read (skipped). Null: a gap in time. */
                from_id: number | null
                /** @description Last id of the range; null: open. */
                to_id: number | null
                /** @description Time at which a later check completed it; null: open. */
                healed_at: string | null
              } & {
                [key: string]: unknown
              })[]
              /**
               * Format: int64
               * @description Number of gaps in this answer.
               */
              gaps_returned: number
              /** @description True if there are more gaps than the answer holds. */
              gaps_truncated: boolean
              /** @description Number of gaps in the last 24 hours; null: unknown. */
              gap_events_24h: number | null
              /** @description Number of the gap events that no later check has healed. */
              gaps_open: number | null
              /** @description Posts of the window that are known to exist; null: unknown. */
              posts_in_window_at_least: number | null
              /** @description Estimated number of missed posts; null: unknown. */
              posts_missed_estimate: number | null
              /** @description Gaps and downtimes of the window. */
              observed_events: ({
                /** @description Kind of the object. */
                kind: string
                /**
                 * Format: date-time
                 * @description Time of the event.
                 */
                at: string
                /** @description End of the range; null: still open. */
                until: string | null
                /** @description Name of the stream; null: all of them. */
                stream: string | null
              } & {
                [key: string]: unknown
              })[]
              /** @description Events during which items may have been missed. */
              unobserved_events: ({
                /** @description Kind of the object. */
                kind: string
                /**
                 * Format: date-time
                 * @description Time of the event.
                 */
                at: string
                /** @description End of the range; null: still open. */
                until: string | null
                /** @description Name of the stream; null: all of them. */
                stream: string | null
              } & {
                [key: string]: unknown
              })[]
            } & {
              [key: string]: unknown
            }
            /** @description Coverage of each further source; absent if the monitor has none. */
            sources?:
              | ({
                  /** @description Name of the source. */
                  source: string
                  /**
                   * @description Current state.
                   * @enum {string}
                   */
                  status: 'complete' | 'degraded' | 'partial' | 'unknown'
                  /** @description Explanation; null: none. */
                  reason: string | null
                  /** @description How completeness is proven; null: unknown. */
                  proof: string | null
                  /** @description Ids that are proven, both inclusive. */
                  proven:
                    | ({
                        /**
                         * Format: int64
                         * @description First id of the range.
                         */
                        from_id: number
                        /**
                         * Format: int64
                         * @description Last id of the range; null: open.
                         */
                        to_id: number
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Ids that the next checks will read. */
                  behind:
                    | ({
                        /**
                         * Format: int64
                         * @description First id of the range.
                         */
                        from_id: number
                        /**
                         * Format: int64
                         * @description Last id of the range; null: open.
                         */
                        to_id: number
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /**
                   * Format: int64
                   * @description Ids between the newest one and the last that was read.
                   */
                  lag_ids: number
                  /** @description Seconds since the instant up to which everything was read. */
                  lag_s: number | null
                  /** @description Items since `since` were read again up to `at`: what had come late under an old id, or had changed, was matched. Null: none were, or the source needs no such pass. */
                  reread:
                    | ({
                        /**
                         * Format: date-time
                         * @description Start of the state or of the window.
                         */
                        since: string
                        /**
                         * Format: date-time
                         * @description Time of the event.
                         */
                        at: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Numbers of ids that had no item, or were not read, when it was their turn. */
                  missing: {
                    /**
                     * Format: int64
                     * @description Ids that were found to be missing.
                     */
                    found: number
                    /**
                     * Format: int64
                     * @description Gaps, or ids, that a later check completed.
                     */
                    healed: number
                    /**
                     * Format: int64
                     * @description Ids that are still missing.
                     */
                    open: number
                  } & {
                    [key: string]: unknown
                  }
                  /** @description Ids that are still missing. retry_at null: they are not requested again. */
                  open: ({
                    /**
                     * Format: int64
                     * @description First id of the range.
                     */
                    from_id: number
                    /**
                     * Format: int64
                     * @description Last id of the range; null: open.
                     */
                    to_id: number
                    /** @description Explanation; null: none. */
                    reason: string
                    /**
                     * Format: date-time
                     * @description Time of the event.
                     */
                    at: string
                    /** @description Time of the next request; null: no further one. */
                    retry_at: string | null
                  } & {
                    [key: string]: unknown
                  })[]
                  /** @description True if there are more missing ids than the answer holds. */
                  open_truncated: boolean
                  /** @description Items that the source has named as changed and that were not read since; oldest_at: when the first of them was named. dropped_24h: not to be read any more. Null: the source names no changes. */
                  changes:
                    | ({
                        /**
                         * Format: int64
                         * @description Number of items that were not read since.
                         */
                        waiting: number
                        /** @description Time of the oldest one; null: there is none. */
                        oldest_at: string | null
                        /**
                         * Format: int64
                         * @description Number dropped in the last 24 hours.
                         */
                        dropped_24h: number
                      } & {
                        [key: string]: unknown
                      })
                    | null
                } & {
                  [key: string]: unknown
                })[]
              | null
            /** @description State of each stream of the monitor. */
            stream_liveness: {
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'live' | 'degraded' | 'unknown'
              /** @description Explanation; null: none. */
              reason: string | null
              /** @description Feeds that are read for the monitor. */
              streams: ({
                /** @description Identifier, unique among objects of this kind. */
                id: string
                /** @description Explanation; null: none. */
                reason: string
              } & {
                [key: string]: unknown
              })[]
            } & {
              [key: string]: unknown
            }
            /** @description Promised and actual interval of the checks. */
            cadence: {
              /**
               * Format: int64
               * @description Promised interval of the checks, in seconds.
               */
              promised_cadence_s: number
              /** @description Requested interval of the checks, in seconds; null: the default. */
              requested_cadence_s: number | null
              /** @description True while every feed is polled as often as promised, by its interval and by its last check; null while unknown. */
              meets_entitlement: boolean | null
              /** @description Seconds since the last check of the slowest stream; null: unknown. */
              last_checked_s_ago: number | null
              /** @description Age of the oldest check divided by the promised interval; null: unknown. */
              freshness_ratio: number | null
              /** @description True if that age is near enough to the promised interval; null: unknown. */
              within_margin: boolean | null
              /** @description Stream with the oldest check; null: unknown. */
              slowest_stream: string | null
              /** @description Why the actual interval is unknown; null: it is known. */
              unknown_reason: string | null
            } & {
              [key: string]: unknown
            }
            /** @description Alarms that are not over. */
            alarms: {
              /**
               * @description silent: no match for silent_after_h. degraded: coverage_24h is degraded.
               * @enum {string}
               */
              kind: 'silent' | 'degraded'
              /**
               * Format: date-time
               * @description Start of the state or of the window.
               */
              since: string
              /**
               * Format: int64
               * @description Number of repeats so far.
               */
              repeats: number
              /**
               * Format: date-time
               * @description Null: it is not repeated any more.
               */
              next_repeat_at: string | null
              /**
               * Format: date-time
               * @description Time of the acknowledgement; null: not yet.
               */
              acknowledged_at: string | null
            }[]
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorCertificate: {
    parameters: {
      query: {
        /** @description The id of a monitor. */
        id: string
        /** @description Start of the period; absent: 30 days before its end. */
        from?: string
        /** @description End of the period; absent: now. */
        to?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "statement": {
           *         "type": "coverage",
           *         "version": 1,
           *         "issued_at": "2026-01-31T11:58:43.000Z",
           *         "instance_id": "01912d68-783e-7a03-8467-5661c1243ad4",
           *         "coverage": {
           *           "status": "complete",
           *           "verified_until": "2026-01-31T11:56:00.000Z"
           *         },
           *         "key_id": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
           *       },
           *       "signature": "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
           *       "key_id": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
           *       "public_key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
           *     }
           */
          'application/json': {
            /** @description What the monitor was set to, what was verified, gaps, polls, deliveries, and each day with its intervals. */
            statement: {
              /**
               * @description Type, such as public or private; null: unknown.
               * @constant
               */
              type: 'coverage'
              /**
               * @description Version of the form of the statement.
               * @constant
               */
              version: 1
              /** @description Thumbprint of the public key (RFC 7638). */
              key_id: string
            } & {
              [key: string]: unknown
            }
            /** @description Ed25519 signature of the statement in its canonical form (RFC 8785), in base64url. */
            signature: string
            /** @description Thumbprint of the public key (RFC 7638). */
            key_id: string
            /** @description Public key, 32 bytes in base64url. Compare it with the published one. */
            public_key: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorWebhookUpdate: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "wh_0199a000-0000-7000-8000-000000000002",
         *       "max_per_second": 5
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the target; null: none. */
          webhook_id?: string
          /** @description Address. */
          url?: string
          /** @description Access token of kinds ntfy, telegram, gotify, matrix, mqtt; password of kind mqtt. Never shown again. */
          token?: string | null
          /** @description User of kind mqtt. */
          username?: string | null
          /** @description Name. */
          name?: string | null
          /** @description False while it is paused or disabled. */
          active?: boolean
          /** @description Maximum number of deliveries a second; null: the default. */
          max_per_second?: number | null
          /** @description True: a delivery waits until the one before it has ended. */
          ordered?: boolean
          /** @description Signatures of kind webhook: v1, HMAC; v1a, Ed25519 beside it, which a receiver verifies with a public key alone. */
          signatures?: ('v1' | 'v1a')[]
          /** @description What it receives: match always; item.deleted and item.edited about items that it had received. */
          events?: ('match' | 'item.deleted' | 'item.edited')[]
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "wh_0199a000-0000-7000-8000-000000000002",
           *       "kind": "webhook",
           *       "url": "https://receiver.example.com/hook",
           *       "created_at": "2026-01-31T11:56:00.000Z",
           *       "active": true,
           *       "paused_at": null,
           *       "pause_reason": null,
           *       "name": null,
           *       "max_per_second": 5,
           *       "ordered": false,
           *       "events": [
           *         "match",
           *         "item.deleted"
           *       ]
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Kind of the object.
             * @enum {string}
             */
            kind:
              | 'webhook'
              | 'slack'
              | 'discord'
              | 'email'
              | 'ntfy'
              | 'telegram'
              | 'gotify'
              | 'matrix'
              | 'mqtt'
            /** @description Address. */
            url: string
            /** @description Time of creation. */
            created_at: string
            /** @description True if it takes deliveries: enabled, confirmed and not paused. */
            active: boolean
            /** @description Time at which it was paused; null: it is not. */
            paused_at: string | null
            /** @description Why it was paused; null: it is not. */
            pause_reason: ('failing' | 'gone') | null
            /** @description Name. */
            name: string | null
            /** @description Maximum number of deliveries a second; null: the default. */
            max_per_second: number | null
            /** @description True: a delivery waits until the one before it has ended. */
            ordered: boolean
            /** @description What it receives: match always; item.deleted and item.edited about items that it had received. */
            events: ('match' | 'item.deleted' | 'item.edited')[]
            /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
            has_credentials?: boolean
            /** @description Absent: v1 alone. */
            signatures?: ('v1' | 'v1a')[]
            /** @description Key that v1a is verified with: whpk_ and base64. Absent without v1a. */
            public_key?: string
          }
        }
      }
      /** @description INVALID_REQUEST, webhook_url_rejected, webhook_kind_mismatch */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorWebhookRotate: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "wh_0199a000-0000-7000-8000-000000000002"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the target; null: none. */
          webhook_id?: string
          /**
           * Format: int64
           * @description Seconds during which the old secret also signs.
           * @default 0
           */
          overlap_s?: number
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "wh_0199a000-0000-7000-8000-000000000002",
           *       "secret": "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=",
           *       "old_secret_until": "2026-01-31T13:01:00.000Z"
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Signing secret; it is not shown again. */
            secret: string
            /** @description Time until which the old secret also signs; null: it ended. */
            old_secret_until: string | null
            /** @description Key that v1a is verified with: whpk_ and base64. Absent without v1a. */
            public_key?: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorWebhookCreate: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "url": "https://receiver.example.com/hook"
         *     }
         */
        'application/json': {
          /**
           * @description Kind of the object.
           * @enum {string}
           */
          kind?:
            | 'webhook'
            | 'slack'
            | 'discord'
            | 'email'
            | 'ntfy'
            | 'telegram'
            | 'gotify'
            | 'matrix'
            | 'mqtt'
          /** @description Address. */
          url: string
          /** @description Name. */
          name?: string | null
          /** @description What it receives: match always; item.deleted and item.edited about items that it had received. */
          events?: ('match' | 'item.deleted' | 'item.edited')[]
          /** @description Access token of kinds ntfy, telegram, gotify, matrix, mqtt; password of kind mqtt. Never shown again. */
          token?: string | null
          /** @description User of kind mqtt. */
          username?: string | null
          /** @description Signatures of kind webhook: v1, HMAC; v1a, Ed25519 beside it, which a receiver verifies with a public key alone. */
          signatures?: ('v1' | 'v1a')[]
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "wh_0199a000-0000-7000-8000-000000000002",
           *       "kind": "webhook",
           *       "url": "https://receiver.example.com/hook",
           *       "created_at": "2026-01-31T11:56:00.000Z",
           *       "active": true,
           *       "paused_at": null,
           *       "pause_reason": null,
           *       "name": null,
           *       "max_per_second": null,
           *       "ordered": false,
           *       "events": [
           *         "match",
           *         "item.deleted"
           *       ],
           *       "secret": "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=",
           *       "kind_inferred_from": null
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Kind of the object.
             * @enum {string}
             */
            kind:
              | 'webhook'
              | 'slack'
              | 'discord'
              | 'email'
              | 'ntfy'
              | 'telegram'
              | 'gotify'
              | 'matrix'
              | 'mqtt'
            /** @description Address. */
            url: string
            /** @description Time of creation. */
            created_at: string
            /** @description True if it takes deliveries: enabled, confirmed and not paused. */
            active: boolean
            /** @description Time at which it was paused; null: it is not. */
            paused_at: string | null
            /** @description Why it was paused; null: it is not. */
            pause_reason: ('failing' | 'gone') | null
            /** @description Name. */
            name: string | null
            /** @description Maximum number of deliveries a second; null: the default. */
            max_per_second: number | null
            /** @description True: a delivery waits until the one before it has ended. */
            ordered: boolean
            /** @description What it receives: match always; item.deleted and item.edited about items that it had received. */
            events: ('match' | 'item.deleted' | 'item.edited')[]
            /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
            has_credentials?: boolean
            /** @description Absent: v1 alone. */
            signatures?: ('v1' | 'v1a')[]
            /** @description Key that v1a is verified with: whpk_ and base64. Absent without v1a. */
            public_key?: string
            /** @description Signing secret; it is not shown again. */
            secret: string
            /** @description Host of the address that decided the kind; null: the kind was given, or is the default. */
            kind_inferred_from: string | null
            /** @description Kind email only: sent, or an error code. */
            confirmation?: string
          }
        }
      }
      /** @description INVALID_REQUEST, webhook_url_rejected, webhook_kind_mismatch, email_not_configured */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorWebhookList: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "webhooks": [
           *         {
           *           "id": "wh_0199a000-0000-7000-8000-000000000002",
           *           "kind": "webhook",
           *           "url": "https://receiver.example.com/hook",
           *           "created_at": "2026-01-31T11:56:00.000Z",
           *           "active": true,
           *           "paused_at": null,
           *           "pause_reason": null,
           *           "name": null,
           *           "max_per_second": null,
           *           "ordered": false,
           *           "events": [
           *             "match",
           *             "item.deleted"
           *           ],
           *           "health": {
           *             "state": "good",
           *             "failing_since": null,
           *             "success_rate_24h": 0.5,
           *             "succeeded_24h": 1,
           *             "failed_24h": 1,
           *             "last_success_at": "2026-01-31T11:58:43.000Z",
           *             "last_failure": {
           *               "at": "2026-01-31T11:58:38.000Z",
           *               "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *               "reason": "http_503",
           *               "status_code": 503,
           *               "body_start": "out of workers"
           *             },
           *             "waiting": 0,
           *             "retrying": 0,
           *             "next_attempt_at": null,
           *             "hours": {
           *               "succeeded": [
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 1
           *               ],
           *               "failed": [
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 0,
           *                 1
           *               ]
           *             }
           *           }
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description The targets. */
            webhooks: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind:
                | 'webhook'
                | 'slack'
                | 'discord'
                | 'email'
                | 'ntfy'
                | 'telegram'
                | 'gotify'
                | 'matrix'
                | 'mqtt'
              /** @description Address of the receiver. */
              url: string
              /** @description Time of creation. */
              created_at: string
              /** @description True if it takes deliveries: enabled, confirmed and not paused. */
              active: boolean
              /** @description Time at which it was paused; null: it is not. */
              paused_at: string | null
              /** @description Why it was paused; null: it is not. */
              pause_reason: ('failing' | 'gone') | null
              /** @description Name. */
              name: string | null
              /** @description Maximum number of deliveries a second; null: the default. */
              max_per_second: number | null
              /** @description True: a delivery waits until the one before it has ended. */
              ordered: boolean
              /** @description What it receives: match always; item.deleted and item.edited about items that it had received. */
              events: ('match' | 'item.deleted' | 'item.edited')[]
              /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
              has_credentials?: boolean
              /** @description Absent: v1 alone. */
              signatures?: ('v1' | 'v1a')[]
              /** @description Key that v1a is verified with: whpk_ and base64. Absent without v1a. */
              public_key?: string
              /** @description Health of the target, from its last attempts. */
              health: {
                /**
                 * @description unused: no attempt yet. good: the last attempt succeeded. retrying: attempts fail and are repeated. failing: a delivery failed or was dead-lettered since the last success. paused: see pause_reason. off: disabled, or not confirmed.
                 * @enum {string}
                 */
                state: 'unused' | 'good' | 'retrying' | 'failing' | 'paused' | 'off'
                /** @description The first failed attempt since the last success or successful test. */
                failing_since: string | null
                /** @description Share of attempts that succeeded, 0 to 1; null without attempts. */
                success_rate_24h: number | null
                /**
                 * Format: int64
                 * @description Attempts; tests are not counted.
                 */
                succeeded_24h: number
                /**
                 * Format: int64
                 * @description Attempts, including those that are repeated.
                 */
                failed_24h: number
                /** @description Time of the newest accepted attempt; null: none. */
                last_success_at: string | null
                /** @description The newest failed attempt with the answer of the receiver; null: none. */
                last_failure: {
                  /** @description Time of the event. */
                  at: string
                  /** @description Id of the delivery; it stays the same in every attempt. */
                  delivery_id: string | null
                  /** @description A last_error code. */
                  reason: string | null
                  /** @description HTTP status of the receiver; null: it did not answer. */
                  status_code: number | null
                  /** @description The beginning of the receiver's response, redacted. */
                  body_start: string | null
                } | null
                /**
                 * Format: int64
                 * @description Pending deliveries without a failed attempt; counted up to 1000 with retrying.
                 */
                waiting: number
                /**
                 * Format: int64
                 * @description Pending deliveries with a failed attempt.
                 */
                retrying: number
                /** @description Time of the next attempt; null: none is planned. */
                next_attempt_at: string | null
                /** @description Attempts by hour, oldest first; the last is the present hour. */
                hours: {
                  /** @description Accepted attempts of each hour. */
                  succeeded: number[]
                  /** @description Failed attempts of each hour. */
                  failed: number[]
                }
              }
            }[]
          }
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorWebhookTest: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "wh_0199a000-0000-7000-8000-000000000002"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the target; null: none. */
          webhook_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "ok": true,
           *       "status_code": 200,
           *       "status": 200,
           *       "delivery_id": "dlv_FhYWFhYWFhYWFhYWFhYWFg",
           *       "duration_ms": 87,
           *       "reason": null,
           *       "hint": null,
           *       "detail": "the receiver answered 200",
           *       "body_start": "ok"
           *     }
           */
          'application/json': {
            /** @description True if the receiver accepted the test. */
            ok: boolean
            /** @description HTTP status of the receiver; null: it did not answer. */
            status_code: number | null
            /** @description The same as status_code. */
            status: number | null
            /** @description Id of the delivery; it stays the same in every attempt. */
            delivery_id: string
            /**
             * Format: int64
             * @description Time from the request to the answer, in milliseconds.
             */
            duration_ms: number
            /** @description Explanation; null: none. */
            reason: string | null
            /** @description Suggested fix; null: none. */
            hint: string | null
            /** @description Explanation for a person. */
            detail: string
            /** @description The beginning of the receiver's response, redacted; null without one. */
            body_start: string | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorWebhookDelete: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "wh_0199a000-0000-7000-8000-000000000002"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the target; null: none. */
          webhook_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "deleted": true,
           *       "id": "wh_0199a000-0000-7000-8000-000000000002"
           *     }
           */
          'application/json': {
            /** @description True: the target is gone. */
            deleted: boolean
            /** @description Identifier, unique among objects of this kind. */
            id: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorItems: {
    parameters: {
      query: {
        /** @description The id of a monitor. */
        id: string
        /** @description The after of the last answer; absent: from the oldest stored match. */
        after?: string
        /** @description Maximum number of rows. */
        limit?: number
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "items": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           },
           *           "kind": "post",
           *           "enrichment": {
           *             "relevance": {
           *               "score": 0.5,
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "considered_terms": 2,
           *               "method": "keyword_match_heuristic"
           *             },
           *             "sentiment": {
           *               "polarity": -0.47,
           *               "label": "negative",
           *               "positive_terms": [],
           *               "negative_terms": [
           *                 "broke after"
           *               ],
           *               "method": "lexicon_heuristic"
           *             },
           *             "intent": {
           *               "tag": "recommendation_request",
           *               "method": "rule_based_heuristic"
           *             }
           *           }
           *         }
           *       ],
           *       "after": "1",
           *       "has_more": false
           *     }
           */
          'application/json': {
            /** @description Oldest first, each as delivered to a webhook. */
            items: {
              [key: string]: unknown
            }[]
            /** @description Cursor of the next page; null: no matches yet. */
            after: string | null
            /** @description True if further matches are stored after this page. */
            has_more: boolean
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorStream: {
    parameters: {
      query: {
        /** @description The id of a monitor. */
        id: string
        /** @description The after of items, to start after it; the header Last-Event-ID takes precedence. */
        after?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Events until either side ends it. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          'text/event-stream': string
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorFeedByToken: {
    parameters: {
      query?: never
      header?: never
      path: {
        /** @description Last part of the feed_url of a monitor. */
        token: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description The newest matches. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          'application/atom+xml': string
        }
      }
      /** @description Nothing has changed since. */
      304: {
        headers: {
          [name: string]: unknown
        }
        content?: never
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorFeedRotate: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "mon_0199a000-0000-7000-8000-000000000001"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id?: string
          /** @description Id of the monitor. */
          monitor_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0mSnNhaROSN4gIICXvtvsCIX4OVga5ABPFuHM"
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Secret address of the feed. */
            feed_url: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorDeliveries: {
    parameters: {
      query?: {
        /** @description The id of a monitor, including a removed one; absent: the deliveries of all. */
        id?: string
        /** @description The id of a webhook, including a deleted one; absent: the deliveries to all. */
        webhook_id?: string
        /** @description Only deliveries of this status. */
        status?: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
        /** @description true: only pending deliveries with a failed attempt; false: only those without. */
        retrying?: boolean
        /** @description The first 8 or more characters of a delivery id, or text in the items, in upper or lower case. */
        q?: string
        /** @description Only deliveries created at this time or later. */
        since?: string
        /** @description Maximum number of rows. */
        limit?: number
        /** @description Only deliveries created before this; next_before of the last answer leads to the next page. */
        before?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "deliveries": [
           *         {
           *           "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *           "webhook_id": "wh_0199a000-0000-7000-8000-000000000002",
           *           "status": "delivered",
           *           "last_error": "http_503",
           *           "created_at": "2026-01-31T11:58:38.000Z",
           *           "delivered_at": "2026-01-31T11:58:43.000Z",
           *           "held_until": null,
           *           "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *           "attempts": 2,
           *           "retrying": false,
           *           "next_attempt_at": null,
           *           "redeliver_refusal": null,
           *           "payload": {
           *             "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *             "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *             "count": 1,
           *             "grouped": false,
           *             "items": [
           *               {
           *                 "id": "1abcde",
           *                 "name": "t3_1abcde",
           *                 "title": "Which grinder would you buy?",
           *                 "author": "example_user",
           *                 "subforum": "coffee",
           *                 "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *                 "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *                 "upvotes": 42,
           *                 "comments": 1,
           *                 "created": "2026-01-31T11:58:00.000Z",
           *                 "created_utc": 1769860680,
           *                 "text": "Mine broke after ten years. I am looking for one for espresso.",
           *                 "link_url": null,
           *                 "upvote_ratio": 0.97,
           *                 "over_18": false,
           *                 "spoiler": false,
           *                 "contest_mode": false,
           *                 "locked": false,
           *                 "stickied": false,
           *                 "is_self": true,
           *                 "is_video": false,
           *                 "is_crosspost": false,
           *                 "crosspost_origin": null,
           *                 "flair": "Gear",
           *                 "domain": "self.coffee",
           *                 "media_kind": null,
           *                 "thumbnail_url": null,
           *                 "edited": false,
           *                 "author_info": {
           *                   "fullname": "t2_1abcd",
           *                   "flair": null,
           *                   "premium": false
           *                 },
           *                 "kind": "post",
           *                 "enrichment": {
           *                   "relevance": {
           *                     "score": 0.5,
           *                     "matched_terms": [
           *                       "grinder"
           *                     ],
           *                     "considered_terms": 2,
           *                     "method": "keyword_match_heuristic"
           *                   },
           *                   "sentiment": {
           *                     "polarity": -0.47,
           *                     "label": "negative",
           *                     "positive_terms": [],
           *                     "negative_terms": [
           *                       "broke after"
           *                     ],
           *                     "method": "lexicon_heuristic"
           *                   },
           *                   "intent": {
           *                     "tag": "recommendation_request",
           *                     "method": "rule_based_heuristic"
           *                   }
           *                 }
           *               }
           *             ]
           *           }
           *         }
           *       ],
           *       "next_before": null
           *     }
           */
          'application/json': {
            /** @description The deliveries. */
            deliveries: {
              /** @description Id of the delivery; it stays the same in every attempt. */
              delivery_id: string
              /** @description Id of the monitor. */
              monitor_id: string
              /** @description Id of the target; null: none. */
              webhook_id: string | null
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
              /**
               * Format: int64
               * @description Attempts so far: their number, or each with its outcome.
               */
              attempts: number
              /** @description Error of the last attempt; null: none. */
              last_error: string | null
              /** @description Time of creation. */
              created_at: string
              /** @description Time at which the receiver accepted it; null: not yet. */
              delivered_at: string | null
              /** @description True if it waits after a failed attempt. */
              retrying: boolean
              /** @description Due time of the next attempt; null unless pending. */
              next_attempt_at: string | null
              /** @description End of the quiet hours for which it waits; null: it does not. */
              held_until: string | null
              /** @description Reason why it cannot be sent again now; null if it can. */
              redeliver_refusal:
                | (
                    | 'pending'
                    | 'no_webhook'
                    | 'webhook_deleted'
                    | 'webhook_disabled'
                    | 'webhook_paused'
                    | 'unconfirmed'
                    | 'unsubscribed'
                    | 'content_erased'
                  )
                | null
              /** @description Summary of what is delivered. */
              payload: {
                /**
                 * Format: int64
                 * @description Number of entries.
                 */
                count: number
                /** @description True if it contains several matches. */
                grouped: boolean
                /** @description The items. */
                items: {
                  [key: string]: unknown
                }[]
                /** @description Period of a digest; absent for other deliveries. */
                digest?: {
                  /** @description Name of the monitor; null: it has none. */
                  monitor_name: string | null
                  /**
                   * Format: date-time
                   * @description Begin of its period.
                   */
                  from: string
                  /**
                   * Format: date-time
                   * @description End of its period.
                   */
                  to: string
                  /** @description IANA time zone of its hour. */
                  time_zone: string
                } & {
                  [key: string]: unknown
                }
                /**
                 * @description Event of an alarm, or of an item; absent for matches.
                 * @enum {string}
                 */
                type?: 'monitor.alarm' | 'monitor.alarm_ended' | 'item.deleted' | 'item.edited'
                /** @description Of item.deleted: fullname and source of the item. */
                item?: {
                  /** @description Identifier, unique among objects of this kind. */
                  id: string
                  /** @description Name of the source. */
                  source: string
                }
                /** @description Of item.deleted: monitors of which the target had received it. */
                monitor_ids?: string[]
                /**
                 * @description Of item.deleted. author: its author deleted it; platform: it was removed; request: the operator erased it.
                 * @enum {string}
                 */
                reason?: 'author' | 'platform' | 'author_gone' | 'request'
                /**
                 * Format: date-time
                 * @description Of events of an item.
                 */
                detected_at?: string
                /** @description The alarm that this delivery reports. */
                alarm?: {
                  /**
                   * @description Kind of the object.
                   * @enum {string}
                   */
                  kind: 'silent' | 'degraded'
                  /**
                   * Format: date-time
                   * @description Start of the state or of the window.
                   */
                  since: string
                  /**
                   * Format: int64
                   * @description 0: not a repeat.
                   */
                  repeat: number
                  /** @description Name of the monitor; null: it has none. */
                  monitor_name: string | null
                  /** @description Title. */
                  title: string
                  /** @description Explanation for a person. */
                  message: string
                } & {
                  [key: string]: unknown
                }
              } & {
                [key: string]: unknown
              }
            }[]
            /** @description The before of the next page; null at the end. */
            next_before: string | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorDeliveriesRedeliver: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "webhook_id": "wh_0199a000-0000-7000-8000-000000000002",
         *       "since": "2026-01-31T12:00:00Z"
         *     }
         */
        'application/json': {
          /** @description Id of the delivery; it stays the same in every attempt. */
          delivery_id?: string
          /**
           * Format: date-time
           * @description Start of the state or of the window.
           */
          since?: string
          /**
           * Format: date-time
           * @description End of the time range, exclusive.
           */
          until?: string
          /**
           * @description Current state.
           * @enum {string}
           */
          status?: 'delivered' | 'failed' | 'dead'
          /** @description Id of the target; null: none. */
          webhook_id?: string
          /**
           * @description True: counts only, nothing is sent.
           * @default false
           */
          dry_run?: boolean
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "queued": 3,
           *       "skipped": 0,
           *       "dry_run": false
           *     }
           */
          'application/json': {
            /**
             * Format: int64
             * @description Number of deliveries that will be sent again.
             */
            queued: number
            /**
             * Format: int64
             * @description Number of deliveries that cannot be sent again.
             */
            skipped: number
            /** @description True: counts only, nothing is sent. */
            dry_run: boolean
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  listFeedback: {
    parameters: {
      query?: {
        /** @description Only feedback of this status. */
        status?: 'new' | 'triaged' | 'shipped' | 'declined'
        /** @description Only feedback of this type. */
        type?: 'bug' | 'idea' | 'missing_capability'
        /** @description The next_cursor of the last answer; absent: from the newest. */
        cursor?: string
        /** @description Maximum number of rows. */
        limit?: number
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "feedback": [
           *         {
           *           "id": "fb_0199a000-0000-7000-8000-000000000006",
           *           "type": "idea",
           *           "title": "Weekly summaries",
           *           "details": "One mail a week with what a monitor matched.",
           *           "area": null,
           *           "evidence": null,
           *           "status": "triaged",
           *           "response": "On our list.",
           *           "created_at": "2026-01-31T12:01:00.000Z",
           *           "updated_at": "2026-02-01T09:30:00.000Z"
           *         }
           *       ],
           *       "count": 1,
           *       "limit": 25,
           *       "next_cursor": null
           *     }
           */
          'application/json': {
            /** @description The feedback. */
            feedback: {
              /** @description Identifier, unique among objects of this kind. */
              id: string
              /**
               * @description Type of the feedback.
               * @enum {string}
               */
              type: 'bug' | 'idea' | 'missing_capability'
              /** @description Title. */
              title: string
              /** @description Text of the feedback. */
              details: string
              /** @description Part of the service that the feedback is about. */
              area: string | null
              /** @description Data that support the feedback; null: none. */
              evidence: string | null
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'new' | 'triaged' | 'shipped' | 'declined'
              /** @description The operator's answer; null: none yet. */
              response: string | null
              /**
               * Format: date-time
               * @description Time of creation.
               */
              created_at: string
              /**
               * Format: date-time
               * @description Time of the last change.
               */
              updated_at: string
            }[]
            /**
             * Format: int64
             * @description Rows of this page.
             */
            count: number
            /**
             * Format: int64
             * @description Maximum number of rows.
             */
            limit: number
            /** @description Null at the end. */
            next_cursor: string | null
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  sendFeedback: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "idea",
         *       "title": "Weekly summaries",
         *       "details": "One mail a week with what a monitor matched."
         *     }
         */
        'application/json': {
          /**
           * @description Type of the feedback.
           * @enum {string}
           */
          type: 'bug' | 'idea' | 'missing_capability'
          /** @description Title. */
          title: string
          /** @description Text of the feedback. */
          details: string
          /** @description Part of the service that the feedback is about. */
          area?: string | null
          /** @description Text, or an object, which is stored and shown as its JSON text. */
          evidence?:
            | (
                | string
                | {
                    [key: string]: unknown
                  }
              )
            | null
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "fb_0199a000-0000-7000-8000-000000000006",
           *       "status": "new",
           *       "created_at": "2026-01-31T12:01:00.000Z"
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'new' | 'triaged' | 'shipped' | 'declined'
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description feedback_exhausted */
      409: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "feedback_exhausted",
           *       "code": "feedback_exhausted"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "storage_unavailable",
           *       "code": "storage_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  findFeedback: {
    parameters: {
      query?: never
      header?: never
      path: {
        /** @description The id of a piece of feedback. */
        id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "id": "fb_0199a000-0000-7000-8000-000000000006",
           *       "type": "idea",
           *       "title": "Weekly summaries",
           *       "details": "One mail a week with what a monitor matched.",
           *       "area": null,
           *       "evidence": null,
           *       "status": "triaged",
           *       "response": "On our list.",
           *       "created_at": "2026-01-31T12:01:00.000Z",
           *       "updated_at": "2026-02-01T09:30:00.000Z"
           *     }
           */
          'application/json': {
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Type of the feedback.
             * @enum {string}
             */
            type: 'bug' | 'idea' | 'missing_capability'
            /** @description Title. */
            title: string
            /** @description Text of the feedback. */
            details: string
            /** @description Part of the service that the feedback is about. */
            area: string | null
            /** @description Data that support the feedback; null: none. */
            evidence: string | null
            /**
             * @description Current state.
             * @enum {string}
             */
            status: 'new' | 'triaged' | 'shipped' | 'declined'
            /** @description The operator's answer; null: none yet. */
            response: string | null
            /**
             * Format: date-time
             * @description Time of creation.
             */
            created_at: string
            /**
             * Format: date-time
             * @description Time of the last change.
             */
            updated_at: string
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  postForumMonitorPreview: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "filter_spec": {
         *         "subforum": "coffee",
         *         "include_any": [
         *           "grinder",
         *           "burr set"
         *         ]
         *       }
         *     }
         */
        'application/json': {
          /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
          filter_spec: {
            /** @description Names of sources, as /api/forum/sources lists them, or all. Default: main. */
            source?: string | string[]
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description Items to watch. Default: post; with thread: comment.
             * @default post
             * @enum {string}
             */
            kind?: 'post' | 'comment' | 'both'
            /** @description A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun */
            q?: string
            /** @description At least one of these occurs. */
            include_any?: string[]
            /** @description Every one of these occurs. */
            include_all?: string[]
            /** @description None of these occurs. Exclusions win. */
            exclude_terms?: string[]
            /**
             * @description Where terms and patterns are looked for; on a comment, title is its thread's title.
             * @default [
             *       "title",
             *       "body",
             *       "url"
             *     ]
             */
            search_in?:
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')
              | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author')[]
            /**
             * @description Whole words, or parts of them too.
             * @default word
             * @enum {string}
             */
            match?: 'word' | 'substring'
            /**
             * @description Ignores accents: cafe equals café.
             * @default false
             */
            fold_accents?: boolean
            /**
             * @description True: keywords match only in this case.
             * @default false
             */
            case_sensitive?: boolean
            /** @description Any of these patterns matches; RE2's syntax. */
            regex?: string[]
            /** @description By one of these. */
            author?: string | string[]
            /** @description By none of these. */
            exclude_authors?: string | string[]
            /** @description Comments under these posts, by id. */
            thread?: string | string[]
            /** @description Leads to one of these hosts, or to a host below it. */
            domain?: string | string[]
            /** @description Leads to none of these. */
            exclude_domains?: string | string[]
            /** @description One of these is the post's flair, whole; case ignored. */
            flair?: string | string[]
            /** @description None of these is the post's flair. */
            exclude_flair?: string | string[]
            /** @description True: only posts with a label; false: only those without. */
            has_flair?: boolean
            /** @description Types of post that match, one or several. */
            post_type?:
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')
              | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')[]
            /** @description True: adult content only. False: none of it, as far as the feed tells. */
            nsfw?: boolean
            /**
             * Format: int64
             * @description Reached while the item is fresh.
             */
            min_score?: number
            /**
             * Format: int64
             * @description Reached while the post is fresh.
             */
            min_comments?: number
            /**
             * Format: int64
             * @description Minimum of relevance.score × 100. Matches below it are listed as suppressed.
             */
            min_relevance?: number
            /** @description Intents of the text that match, one or several. */
            intent?:
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )
              | (
                  | 'question'
                  | 'recommendation_request'
                  | 'complaint'
                  | 'promotion'
                  | 'praise'
                  | 'discussion'
                )[]
            /** @description Sentiments of the text that match, one or several. */
            sentiment?:
              | ('positive' | 'negative' | 'mixed' | 'neutral')
              | ('positive' | 'negative' | 'mixed' | 'neutral')[]
            /** @description ISO 639-1. An item whose language is unknown does not match. */
            language?:
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )
              | (
                  | 'af'
                  | 'ar'
                  | 'az'
                  | 'be'
                  | 'bg'
                  | 'bn'
                  | 'ca'
                  | 'cs'
                  | 'da'
                  | 'de'
                  | 'el'
                  | 'en'
                  | 'es'
                  | 'et'
                  | 'eu'
                  | 'fa'
                  | 'fi'
                  | 'fr'
                  | 'ha'
                  | 'he'
                  | 'hi'
                  | 'hr'
                  | 'hu'
                  | 'hy'
                  | 'id'
                  | 'is'
                  | 'it'
                  | 'ja'
                  | 'ka'
                  | 'kk'
                  | 'ko'
                  | 'ku'
                  | 'lt'
                  | 'mk'
                  | 'mr'
                  | 'nl'
                  | 'no'
                  | 'pl'
                  | 'pt'
                  | 'rn'
                  | 'ro'
                  | 'ru'
                  | 'sk'
                  | 'sr'
                  | 'sv'
                  | 'tl'
                  | 'tr'
                  | 'uk'
                  | 'vi'
                  | 'zh'
                )[]
            /** @description Matches of one check travel together; a label names the bundle. */
            group?: boolean | string
            /**
             * Format: int64
             * @description Collects for longer than one check.
             */
            group_window_s?: number
          }
          /**
           * Format: int64
           * @description Maximum number of rows.
           * @default 25
           */
          limit?: number
          /** @description Id of the item. */
          item_id?: string
        }
      }
    }
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "filter_spec": {
           *         "subforum": [
           *           "coffee"
           *         ],
           *         "kind": "post",
           *         "include_any": [
           *           "grinder",
           *           "burr set"
           *         ]
           *       },
           *       "matches": [
           *         {
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "subforum": "coffee",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "upvotes": 42,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
           *           "contest_mode": false,
           *           "locked": false,
           *           "stickied": false,
           *           "is_self": true,
           *           "is_video": false,
           *           "is_crosspost": false,
           *           "crosspost_origin": null,
           *           "flair": "Gear",
           *           "domain": "self.coffee",
           *           "media_kind": null,
           *           "thumbnail_url": null,
           *           "edited": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": null,
           *             "premium": false
           *           },
           *           "kind": "post",
           *           "enrichment": {
           *             "relevance": {
           *               "score": 0.5,
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "considered_terms": 2,
           *               "method": "keyword_match_heuristic"
           *             },
           *             "sentiment": {
           *               "polarity": -0.47,
           *               "label": "negative",
           *               "positive_terms": [],
           *               "negative_terms": [
           *                 "broke after"
           *               ],
           *               "method": "lexicon_heuristic"
           *             },
           *             "intent": {
           *               "tag": "recommendation_request",
           *               "method": "rule_based_heuristic"
           *             }
           *           }
           *         }
           *       ],
           *       "matched": 1,
           *       "low_relevance": 0,
           *       "not_yet": 0,
           *       "scanned": 95,
           *       "truncated": false,
           *       "terms": [
           *         {
           *           "term": "grinder",
           *           "role": "wanted",
           *           "items": 1
           *         },
           *         {
           *           "term": "burr set",
           *           "role": "wanted",
           *           "items": 0
           *         }
           *       ],
           *       "criteria": [
           *         {
           *           "criterion": "kind",
           *           "left": 95
           *         },
           *         {
           *           "criterion": "subforum",
           *           "left": 95
           *         },
           *         {
           *           "criterion": "include_any",
           *           "left": 1
           *         }
           *       ],
           *       "estimate_per_day": 0.6,
           *       "feeds": [
           *         {
           *           "kind": "posts",
           *           "subforums": [
           *             "coffee"
           *           ],
           *           "query": null,
           *           "place": null,
           *           "scanned": 95,
           *           "matched": 1,
           *           "oldest": "2026-01-29T18:56:40.000Z",
           *           "error": null
           *         }
           *       ],
           *       "feeds_left_out": 0,
           *       "item": null
           *     }
           */
          'application/json': {
            /** @description Conditions that an item has to meet. */
            filter_spec: {
              [key: string]: unknown
            }
            /** @description As delivered to a webhook. */
            matches: {
              [key: string]: unknown
            }[]
            /**
             * Format: int64
             * @description Number of items that match; null: the feed was not read.
             */
            matched: number
            /**
             * Format: int64
             * @description Matches below min_relevance.
             */
            low_relevance: number
            /**
             * Format: int64
             * @description Below min_score or min_comments so far.
             */
            not_yet: number
            /**
             * Format: int64
             * @description Number of items that were read; null: the feed was not read.
             */
            scanned: number
            /** @description True if there were more items than could be checked. */
            truncated: boolean
            /** @description Counts by keyword. */
            terms: {
              /** @description The keyword. */
              term: string
              /**
               * @description wanted: the term is searched. excluded: it must not occur.
               * @enum {string}
               */
              role: 'wanted' | 'excluded'
              /**
               * Format: int64
               * @description Number of items with the term.
               */
              items: number
            }[]
            /** @description Items that pass each condition and all before it. */
            criteria: {
              /** @description Name of the condition. */
              criterion: string
              /**
               * Format: int64
               * @description Number of items that pass this condition and all before it.
               */
              left: number
            }[]
            /** @description Null: not enough data. */
            estimate_per_day: number | null
            /** @description The feeds that were read, with their counts. */
            feeds: ({
              /**
               * @description Kind of the object.
               * @enum {string}
               */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
              /** @description Each subforum of the feed; null: it is not of one. */
              subforums: string[] | null
              /** @description Query of the feed; null: it is not a search. */
              query: string | null
              /** @description A thread, an author, or a source. */
              place: string | null
              /**
               * @description The items that were listed of a further source.
               * @enum {string}
               */
              items?: 'posts' | 'comments'
              /** @description Number of items that were read; null: the feed was not read. */
              scanned: number | null
              /** @description Number of items that match; null: the feed was not read. */
              matched: number | null
              /**
               * Format: date-time
               * @description Time of the oldest item of the feed; null: unknown.
               */
              oldest: string | null
              /** @description Why this feed could not be read. */
              error: string | null
            } & {
              [key: string]: unknown
            })[]
            /**
             * Format: int64
             * @description Searches, threads and authors that were not read.
             */
            feeds_left_out: number
            /** @description Verdict on the item of item_id; null: the call named none. */
            item: {
              /** @description Id of the item. */
              item_id: string
              /** @description True if a feed of the monitor shows the item now. */
              in_feeds: boolean
              /**
               * @description Result of the check.
               * @enum {string}
               */
              verdict: 'matches' | 'does_not_match' | 'not_yet' | 'withheld'
              /** @description Every condition of the filter, in order of evaluation. */
              criteria: {
                /** @description Name of the condition. */
                criterion: string
                /**
                 * @description Result of the check.
                 * @enum {string}
                 */
                verdict: 'met' | 'not_met' | 'later' | 'withheld'
                /** @description Part of the item that was checked. */
                detail: string
              }[]
              /** @description The item as it would be delivered. */
              row: {
                [key: string]: unknown
              }
            } | null
          }
        }
      }
      /** @description INVALID_REQUEST, subforum_not_found, subforum_reserved */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description BODY_TOO_LARGE */
      413: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "BODY_TOO_LARGE",
           *       "code": "BODY_TOO_LARGE"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description upstream_unavailable, storage_unavailable, overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "upstream_unavailable",
           *       "code": "upstream_unavailable"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
  getForumMonitorWhy: {
    parameters: {
      query?: {
        /** @description A delivery to explain; excludes id and item_id. */
        delivery_id?: string
        /** @description The id of a monitor, together with item_id. */
        id?: string
        /** @description A post or a comment, such as t3_1abcde, to explain for the monitor that id names. */
        item_id?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Done. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "items": [
           *         {
           *           "item_id": "t3_1abcde",
           *           "outcome": "matched",
           *           "means": "it matched; see its deliveries",
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "matched_at": "2026-01-31T11:58:38.000Z",
           *           "collected_until": null,
           *           "waiting_until": null,
           *           "first_seen": {
           *             "at": "2026-01-31T11:58:38.000Z",
           *             "age_s": 38,
           *             "fresh": true,
           *             "freshness_s": 900,
           *             "streams": [
           *               {
           *                 "id": "posts:coffee",
           *                 "kind": "posts",
           *                 "subforum": "coffee",
           *                 "first_seen_at": "2026-01-31T11:58:38.000Z"
           *               }
           *             ]
           *           },
           *           "filter_edited_since": false,
           *           "as_of": "match",
           *           "criteria": [
           *             {
           *               "criterion": "kind",
           *               "verdict": "met",
           *               "detail": "post"
           *             },
           *             {
           *               "criterion": "subforum",
           *               "verdict": "met",
           *               "detail": "coffee"
           *             },
           *             {
           *               "criterion": "include_any",
           *               "verdict": "met",
           *               "detail": "grinder"
           *             }
           *           ],
           *           "enrichment": {
           *             "relevance": {
           *               "score": 0.5,
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "considered_terms": 2,
           *               "method": "keyword_match_heuristic"
           *             },
           *             "sentiment": {
           *               "polarity": -0.47,
           *               "label": "negative",
           *               "positive_terms": [],
           *               "negative_terms": [
           *                 "broke after"
           *               ],
           *               "method": "lexicon_heuristic"
           *             },
           *             "intent": {
           *               "tag": "recommendation_request",
           *               "method": "rule_based_heuristic"
           *             }
           *           }
           *         }
           *       ],
           *       "deliveries": [
           *         {
           *           "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *           "webhook_id": "wh_0199a000-0000-7000-8000-000000000002",
           *           "status": "delivered",
           *           "last_error": "http_503",
           *           "created_at": "2026-01-31T11:58:38.000Z",
           *           "delivered_at": "2026-01-31T11:58:43.000Z",
           *           "gate": {
           *             "verdict": "let_through",
           *             "reason": null,
           *             "figures": null
           *           },
           *           "attempts": [
           *             {
           *               "round": 1,
           *               "duration_ms": 42,
           *               "headers": {
           *                 "content-length": "0"
           *               },
           *               "body_start": "",
           *               "n": 1,
           *               "started_at": "2026-01-31T11:58:38.000Z",
           *               "error": "http_503",
           *               "status_code": 503
           *             },
           *             {
           *               "round": 1,
           *               "duration_ms": 42,
           *               "headers": {
           *                 "content-length": "0"
           *               },
           *               "body_start": "",
           *               "n": 2,
           *               "started_at": "2026-01-31T11:58:43.000Z",
           *               "error": null,
           *               "status_code": 200
           *             }
           *           ]
           *         }
           *       ]
           *     }
           */
          'application/json': {
            /** @description Id of the monitor. */
            monitor_id: string
            /** @description The items. */
            items: {
              /** @description Id of the item. */
              item_id: string
              /**
               * @description Result for this item.
               * @enum {string}
               */
              outcome:
                | 'matched'
                | 'collecting'
                | 'waiting'
                | 'does_not_match'
                | 'matches_now'
                | 'before_start'
                | 'not_seen'
                | 'gone'
              /** @description The outcome as a sentence. */
              means: string
              /** @description Time at which the item was written; null: unknown. */
              created_at: string | null
              /** @description Time of the match; null: none. */
              matched_at: string | null
              /** @description Time up to which items were collected for this monitor; null: not yet. */
              collected_until: string | null
              /** @description Time until which the match waits; null: it does not. */
              waiting_until: string | null
              /** @description Where and when the item was first observed; null: never. */
              first_seen: {
                /**
                 * Format: date-time
                 * @description Time of the event.
                 */
                at: string
                /** @description Age of the item at that time, in seconds. */
                age_s: number | null
                /** @description True if the item was new enough to be delivered; null: unknown. */
                fresh: boolean | null
                /**
                 * Format: int64
                 * @description Maximum age of a fresh item, in seconds.
                 */
                freshness_s: number
                /** @description Feeds that are read for the monitor. */
                streams: ({
                  /** @description Identifier, unique among objects of this kind. */
                  id: string
                  /**
                   * @description Kind of the object.
                   * @enum {string}
                   */
                  kind:
                    | 'posts'
                    | 'comments'
                    | 'search'
                    | 'thread'
                    | 'user_posts'
                    | 'user_comments'
                    | 'stream'
                  /** @description Name of the subforum; null: the stream is not of one. */
                  subforum: string | null
                  /**
                   * Format: date-time
                   * @description Time at which this stream first showed the item.
                   */
                  first_seen_at: string
                } & {
                  [key: string]: unknown
                })[]
              } | null
              /** @description True if the conditions are those of the current filter. */
              filter_edited_since: boolean
              /** @description Version of the item that is judged: as delivered, or as it is now. */
              as_of: ('match' | 'now') | null
              /** @description The verdict of each condition of the filter. */
              criteria:
                | {
                    /** @description Name of the condition. */
                    criterion: string
                    /**
                     * @description Result of the check.
                     * @enum {string}
                     */
                    verdict: 'met' | 'not_met' | 'later' | 'withheld'
                    /** @description Part of the item that was checked. */
                    detail: string
                  }[]
                | null
              /** @description Language, intent, sentiment and relevance of the item; null: not computed. */
              enrichment: {
                [key: string]: unknown
              } | null
            }[]
            /** @description The deliveries. */
            deliveries: {
              /** @description Id of the delivery; it stays the same in every attempt. */
              delivery_id: string
              /** @description Id of the target; null: none. */
              webhook_id: string | null
              /**
               * @description Current state.
               * @enum {string}
               */
              status: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
              /** @description The decision to deliver or suppress. */
              gate: {
                /**
                 * @description Result of the check.
                 * @enum {string}
                 */
                verdict: 'let_through' | 'suppressed'
                /** @description Explanation; null: none. */
                reason: string | null
                /** @description Numbers behind the decision; null: none. */
                figures: {
                  [key: string]: unknown
                } | null
              }
              /** @description Error of the last attempt; null: none. */
              last_error: string | null
              /**
               * Format: date-time
               * @description Time of creation.
               */
              created_at: string
              /** @description Time at which the receiver accepted it; null: not yet. */
              delivered_at: string | null
              /** @description Attempts so far: their number, or each with its outcome. */
              attempts: {
                /**
                 * Format: int64
                 * @description Number of the attempt, from 1.
                 */
                n: number
                /**
                 * Format: int64
                 * @description Number of the schedule, which starts over when it is redelivered.
                 */
                round: number
                /**
                 * Format: date-time
                 * @description Time at which the attempt started.
                 */
                started_at: string
                /**
                 * Format: int64
                 * @description Time from the request to the answer, in milliseconds.
                 */
                duration_ms: number
                /** @description HTTP status of the receiver; null: it did not answer. */
                status_code: number | null
                /** @description Error of the attempt; null: none. */
                error: string | null
                /** @description Relevant headers of the answer. */
                headers: {
                  [key: string]: string
                }
                /** @description Start of the answer, redacted. */
                body_start: string | null
              }[]
            }[]
          }
        }
      }
      /** @description INVALID_REQUEST */
      400: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "q is required",
           *       "code": "INVALID_REQUEST"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Missing Bearer token */
      401: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Missing Bearer token",
           *       "code": "missing_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description Invalid token */
      403: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "Invalid token",
           *       "code": "invalid_token"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description NOT_FOUND */
      404: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "NOT_FOUND",
           *       "code": "NOT_FOUND"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description rate_limited */
      429: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "rate_limited",
           *       "code": "rate_limited"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description internal_error */
      500: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "internal_error",
           *       "code": "internal_error"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
      /** @description overloaded */
      503: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          'Retry-After': components['headers']['Retry-After']
          [name: string]: unknown
        }
        content: {
          /**
           * @example {
           *       "error": "overloaded",
           *       "code": "overloaded"
           *     }
           */
          'application/json': components['schemas']['Error']
        }
      }
    }
  }
}

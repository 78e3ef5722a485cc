// Made by `bun scripts/docs/client.ts` from the OpenAPI document; do not edit.

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
     * @description Lists each fault with its cause and its fix. Use it first when matches are missing, to watch an installation from a program, or to show what needs a person. Failing and paused webhooks, sources that cannot be read, late feeds, stopped monitors and those whose coverage is not complete, used-up credits and undecided drafts, each with the next step. Cheap enough to repeat every few seconds. Takes any key. Counts towards the rate limit of `account`.
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
     * Your matches and deliveries by hour or day, and the newest matches
     * @description Counts matches and deliveries of each hour of 24 hours or 7 days, or of each day of 30 days. Use it for charts and for a list of the newest matches. For an overview. To receive every match, use a webhook or the items of each monitor. Takes any key. Counts towards the rate limit of `dashboard`.
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
     * @description Finds comments, or their authors, by reading the trees of found posts. Use it for research where each comment counts; it takes longer and costs ten times a read. Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: the platform searches posts by their own text only, so comments under other posts are not found, and deleted comments and those deep in a tree may be missed. meta.posts_expanded and meta.comments_scanned say what was read; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
  '/forum/monitor/coverage': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Coverage of a monitor by day
     * @description Reports by day what a monitor has observed, and the gaps with their reasons. Use it to look back further than a day. Days of UTC, from and to included, at most 100; without them the last 30. By creation times: a second is complete if every feed was verified for it and no gap or event lies over it. The newest minutes are not verified before the next audit. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorCoverage']
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
     * @description Replaces the given fields of a target. Use it to rename, pace or disable a receiver, or to resume it. signatures adds a key for asymmetric signatures, or removes it. A new url has the same kind and is checked as at creation; id and secret stay, pending deliveries go to it, and its health begins again. Send a test afterwards. The address of kind email cannot change, because its owner has agreed. Pending deliveries of a disabled target fail as webhook_paused and can be redelivered. A paused target stays paused until a test succeeds. token replaces the stored credentials, for kind mqtt together with username; a new url does not keep them. Takes a key with the scope `webhook`. Counts towards the rate limit of `management`.
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
     * @description Creates a new signing secret. Use it at regular times, and at once if the secret may be known to others. Only this answer has the new one. For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values. Takes a key with the scope `webhook`. Counts towards the rate limit of `management`.
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
     * @description Adds a receiver of matches. Use it before a monitor names it, then send a test. Only this answer has the secret: show it to the person. Kind email takes mailto: and one address. It is active once its recipient has agreed on the page linked in the confirmation mail. The answer has confirmation: sent, or an error code; a test sends the mail again. An address gets at most three such mails a day. Some kinds take token, and mqtt username too; credentials within url are removed from it and stored encrypted. Kinds slack, discord and mattermost take services at other hosts that use their format. Takes a key with the scope `webhook`. Counts towards the rate limit of `management`.
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
     * @description Removes a receiver for good. Use it when a receiver is gone; disable it if it comes back. Takes a key with the scope `webhook`. Counts towards the rate limit of `management`.
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
     * @description Returns stored matches by cursor. Use it to pull matches without a webhook, or to catch up after a failure. Fresh matches are stored for the days of [retention] (default: 30), with or without a webhook. Repeat with the after of the last answer for newer matches. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
  '/forum/inbox': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Matches of all monitors as an inbox, newest first
     * @description Returns matches with excerpt, terms and state. Use it to read, search and triage what the monitors found. Each item once, with the monitors that matched it. Grouped matches appear when their bundle is sent; withheld ones do not. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxList']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/ids': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Ids of the matches of a filter, newest first, for a list that shows a part of them
     * @description Returns the ids of matches alone, thousands a call. Use it to show any part of a long list without reading all of it. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxIds']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/item': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * An item of the inbox with its whole text, as it was delivered
     * @description Returns one match with its whole text. Use it to read what the excerpt of the list cuts off. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxItem']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/counts': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Numbers of items in the inbox by state
     * @description Counts the matches of each state. Use it for a badge, or to see if something is left. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxCounts']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/update': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Change state, star or label of items, all or none
     * @description Marks matches as read, answered or dismissed, stars or labels them. Use it for one match or many at once. The action_id of the answer undoes it. Up to 500 items by ids, or those of a filter. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    post: operations['inboxUpdate']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/undo': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Undo a change of the inbox, within a day
     * @description Restores the states before a change, or the filter before a mute. Use it after a mistake; what was changed since stays. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    post: operations['inboxUndo']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/history': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Changes of the inbox with the key of each, newest first
     * @description Lists the changes with the key that made each. Use it to see who did what in a team. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxHistory']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/mute': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    get?: never
    put?: never
    /**
     * Mute an author, a place or a phrase by an edit of a monitor
     * @description Shows how a monitor would be edited and which past matches it would lose, and makes the edit with apply. Use it for an author, a place or a phrase that is not wanted. Without apply nothing changes: the answer shows the edit and its effect. effect counts the matches of the last 30 days that the edited filter would not have matched, among the newest 5000. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    post: operations['inboxMute']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/inbox/context': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The thread around an item: post, comments above it, and replies
     * @description Reads the post and the comments around a match. Use it before you answer one whose excerpt is not enough. Reads the platform, and is billed as one read; the key needs the scope read too. A comment beyond the first 500 of its thread is not found. Takes a key with the scope `monitor`. Counts towards the rate limit of `inbox`.
     */
    get: operations['inboxContext']
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
     * @description Creates a new secret address of the feed. Use it if the address may be known to others. Takes a key with the scope `webhook`. Counts towards the rate limit of `management`.
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
  '/forum/monitor/deliveries/request': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The signed request of a delivery: its headers and body
     * @description Returns what was sent, with its signed headers. Use it when your receiver refuses a signature. For a receiver that does not accept a signature: headers of each attempt, and a request with a new timestamp to send by hand. Only for kind webhook, while the content is kept. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['getForumMonitorDeliveriesRequest']
    put?: never
    post?: never
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
    get?: never
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
  '/forum/archive/search': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Search past items, newest first
     * @description Finds past items by the grammar of monitors. Use it to look back, and to try words before you watch them. The grammar of monitors, and the same matches: those of your monitors, or with [archive] keep = "feeds" all items of their feeds. Deleted items are not found. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['searchArchive']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/archive/export': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Export past items as NDJSON or CSV
     * @description Sends all past items that match as a file. Use it for analyses elsewhere, and before items expire. All items that the search would find, newest first, as fast as the client reads. One export of a customer at a time. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['exportArchive']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/forum/archive': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * State of the archive
     * @description Reports the age and the size of the archive. Use it to know how far back a search can reach. Settings, size, and the age of its oldest and newest items, of all customers. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
     */
    get: operations['archiveState']
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
     * Preview the matches of a filter in its current feeds, or in past days
     * @description Applies a filter to the items that its places show now. Use it while you write a filter, before you create the monitor. Matches with their enrichment, counts of items by keyword and by condition, and an estimate of matches a day. With item_id: why that item does or does not match. With window: matches by day in the archive, expected deliveries, and the difference to a second filter; criteria and feeds are empty then. Free; nothing is delivered. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
        | 'not_primary'
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
    HealthAnswer: {
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
      /**
       * @description Role of this node; absent without a standby.
       * @enum {string}
       */
      role?: 'primary' | 'standby'
    }
    ReadyAnswer: {
      ready: boolean
    }
    AccountProblemsAnswer: {
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
          | 'source_untried'
          | 'source_incomplete'
          | 'feed_behind'
          | 'monitor_incomplete'
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
          | 'model_unavailable'
          | 'model_limit'
          | 'reads_degraded'
          | 'access_ends'
          | 'account_unusable'
          | 'proxy_failing'
          | 'loop_failing'
          | 'feedback_new'
          | 'checks_late'
          | 'erasure_late'
          | 'verdicts_late'
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
    AccountActivityAnswer: {
      /**
       * @description Length of a bucket; days are of UTC.
       * @enum {string}
       */
      bucket: 'hour' | 'day'
      /** @description Every hour or day of the period, oldest first; the last one has not ended. 24 for 24h, 168 for 7d, 30 for 30d. */
      buckets: {
        /**
         * Format: date-time
         * @description Start of the hour or day.
         */
        start: string
        /** @description Items matched, each once per monitor; null where `[retention] days` has removed them. */
        matches: number | null
        /**
         * Format: int64
         * @description Deliveries that arrived in it.
         */
        delivered: number
        /**
         * Format: int64
         * @description Deliveries created in it that failed for good.
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
    AccountMeAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Name. */
      name: string
      plan: string
      /** @description USD, with up to six decimals. */
      credits_remaining: number
      /** @description USD, with up to six decimals. */
      credits_used: number
      /** Format: int64 */
      total_requests: number
      /** Format: date-time */
      created_at: string
      monitors: {
        /** Format: int64 */
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
    AccountPaymentsAnswer: {
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
        note: string | null
        /** Format: date-time */
        created_at: string
      }[]
    }
    AccountUsageAnswer: {
      usage: {
        /** Format: int64 */
        calls: number
        /** Format: int64 */
        billed_calls: number
        /** @description USD, with up to six decimals. */
        cost_usd: number
        /** Format: int64 */
        errors: number
        /** Format: date-time */
        start: string
        by_tier: {
          [key: string]: {
            /** Format: int64 */
            calls: number
            /** Format: int64 */
            billed_calls: number
            /** @description USD, with up to six decimals. */
            cost_usd: number
            /** Format: int64 */
            errors: number
          }
        }
      }[]
      /** @description Sum of the period, or the number that the plan allows. */
      total: {
        /** Format: int64 */
        calls: number
        /** Format: int64 */
        billed_calls: number
        /** @description USD, with up to six decimals. */
        cost_usd: number
        /** Format: int64 */
        errors: number
      }
    }
    LoginAnswer: {
      /** @constant */
      success: true
      /**
       * @description Method that succeeded.
       * @enum {string}
       */
      method: 'http' | 'browser'
      /** @description Name of the account. */
      username: string
      link_karma: number | null
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
    CommentAnswer: {
      /** @constant */
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
            permalink: string
            /** @description Address. */
            url: string
            /** @description Id of the post. */
            post_id: string
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
            is_submitter: boolean
            /** @description Depth in the tree, 0 at the top; null: unknown. */
            depth: number | null
            /** @description Time of the last edit; false: never, true: the time is unknown. */
            edited: string | boolean
            over_18: boolean | null
            author_info: {
              fullname: string | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              premium: boolean | null
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          })
        | null
      /** @enum {string} */
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
    CommentV2Answer: {
      /** @constant */
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
            permalink: string
            /** @description Address. */
            url: string
            /** @description Id of the post. */
            post_id: string
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
            is_submitter: boolean
            /** @description Depth in the tree, 0 at the top; null: unknown. */
            depth: number | null
            /** @description Time of the last edit; false: never, true: the time is unknown. */
            edited: string | boolean
            over_18: boolean | null
            author_info: {
              fullname: string | null
              /** @description Label set by the community or the author; null: none. */
              flair: string | null
              premium: boolean | null
            } & {
              [key: string]: unknown
            }
          } & {
            [key: string]: unknown
          })
        | null
      /** @enum {string} */
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
    VoteAnswer: {
      /** @constant */
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
    DmAnswer: {
      /** @constant */
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
    DmThreadsAnswer: {
      threads: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        with: string | null
        /** @description Subject; null: none. */
        subject: string | null
        /** @description True if it was not read yet. */
        unread: boolean
        /** Format: int64 */
        message_count: number
        last_message_at: string | null
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
    DmMessagesAnswer: {
      messages: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /** @description Id of the conversation; null: unknown. */
        thread_id: string
        /** @description Sender of the message; null: unknown. */
        from: string | null
        /** @description Name of the recipient, without prefix. */
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
    ProfileDescriptionAnswer: {
      /** @constant */
      success: true
      /** @description Description in its own words. */
      description: string
    } & {
      [key: string]: unknown
    }
    ProfileDisplayNameAnswer: {
      /** @constant */
      success: true
      /** @description Name that the profile shows. */
      display_name: string
    } & {
      [key: string]: unknown
    }
    ProfileAvatarAnswer: {
      /** @constant */
      success: true
      /** @description Address. */
      url: string
    } & {
      [key: string]: unknown
    }
    ProfileBannerAnswer: {
      /** @constant */
      success: true
      /** @description Address. */
      url: string
    } & {
      [key: string]: unknown
    }
    Post: {
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
      permalink: string
      /** @description The address of the post on the platform. */
      url: string
      /**
       * Format: int64
       * @description Votes up minus votes down.
       */
      upvotes: number
      /** Format: int64 */
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
      over_18: boolean
      spoiler: boolean
      locked: boolean
      stickied: boolean
      is_self: boolean
      is_video: boolean
      is_crosspost: boolean
      /** @description The post that this one repeats; null: not a crosspost. */
      crosspost_origin:
        | ({
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name of the subforum. */
            subforum: string
            permalink: string
          } & {
            [key: string]: unknown
          })
        | null
      /** @description Label set by the community or the author; null: none. */
      flair: string | null
      /** @description Host that a link post points to; null: none. */
      domain: string | null
      media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
      thumbnail_url: string | null
      /** @description Time of the last edit; false: never, true: the time is unknown. */
      edited: string | boolean
      author_info: {
        fullname: string | null
        /** @description Label set by the community or the author; null: none. */
        flair: string | null
        premium: boolean | null
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    PostsAnswer: {
      posts: components['schemas']['Post'][]
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
    SubTopAnswer: {
      posts: components['schemas']['Post'][]
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
    PostVisibilityAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @enum {string} */
      verdict: 'live' | 'not_visible' | 'undecidable'
      /** @description A sentence; null when it is live. */
      reason: string | null
      /** @description absent, deleted, removed or seen_by_moderator. */
      reason_code: string | null
      confident: boolean
    } & {
      [key: string]: unknown
    }
    ByIdAnswer: {
      posts: components['schemas']['Post'][]
      /** @description How the answer was made. */
      meta: {
        /**
         * @description truncated: the platform left out rows. unknown: it may have.
         * @enum {string}
         */
        listing_status: 'complete' | 'truncated' | 'unknown'
        truncated: boolean
        missing_fullnames: string[]
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    SearchAnswer: {
      posts: components['schemas']['Post'][]
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
    Community: {
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
      subscribers: number | null
      /** @description Users present at the time of the read; null: unknown. */
      active_users: number | null
      created: string | null
      /** @description Time of creation in epoch seconds; null: unknown. */
      created_utc: number | null
      /** @description Type, such as public or private; null: unknown. */
      type: string | null
      over_18: boolean | null
      quarantined: boolean | null
      /** @description Address. */
      url: string | null
      icon_url: string | null
      banner_url: string | null
      /** @description Language code; null: unknown. */
      language: string | null
    } & {
      [key: string]: unknown
    }
    SearchCommunitiesAnswer: {
      communities: components['schemas']['Community'][]
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
    SearchCommentsAnswer: {
      posts: components['schemas']['Post'][]
      /** @description Cursor of the next page, to be sent unchanged; null at the end. */
      after: string | null
      /**
       * @description Present if after is null. Only complete means that everything was returned.
       * @enum {string}
       */
      listing_status?: 'complete' | 'truncated' | 'unknown'
      /** @description How the answer was made. */
      meta: {
        /** Format: int64 */
        searched: number
        /** Format: int64 */
        comments_scanned: number
        truncated: boolean
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    FoundComment: {
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
      post: components['schemas']['Post']
    } & {
      [key: string]: unknown
    }
    SearchCommentsDeepAnswer: {
      /** @description Without group_by. */
      comments?: components['schemas']['FoundComment'][]
      /** @description With group_by=author. */
      authors?: ({
        /** @description Name of the author. */
        author: string
        /** Format: int64 */
        comment_count: number
        /** Format: int64 */
        total_score: number
        /** @description Each subforum with a matching comment of the author. */
        subforums: string[]
        /** @description The matching comment of the author with the most points. */
        top_comment: components['schemas']['FoundComment']
      } & {
        [key: string]: unknown
      })[]
      /** @description Cursor of the next page; null: no further page. */
      after: string | null
      /** @description How the answer was made. */
      meta: {
        truncated: boolean
        /** @description True if there were more comments than the answer can hold. */
        capped: boolean
        /** Format: int64 */
        posts_expanded: number
        /** Format: int64 */
        comments_scanned: number
        authors_capped?: boolean
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    PostWithMedia: {
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
      permalink: string
      /** @description The address of the post on the platform. */
      url: string
      /**
       * Format: int64
       * @description Votes up minus votes down.
       */
      upvotes: number
      /** Format: int64 */
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
      over_18: boolean
      spoiler: boolean
      locked: boolean
      stickied: boolean
      is_self: boolean
      is_video: boolean
      is_crosspost: boolean
      /** @description The post that this one repeats; null: not a crosspost. */
      crosspost_origin:
        | ({
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name of the subforum. */
            subforum: string
            permalink: string
          } & {
            [key: string]: unknown
          })
        | null
      /** @description Label set by the community or the author; null: none. */
      flair: string | null
      /** @description Host that a link post points to; null: none. */
      domain: string | null
      media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
      thumbnail_url: string | null
      /** @description Time of the last edit; false: never, true: the time is unknown. */
      edited: string | boolean
      author_info: {
        fullname: string | null
        /** @description Label set by the community or the author; null: none. */
        flair: string | null
        premium: boolean | null
      } & {
        [key: string]: unknown
      }
      media: {
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'image' | 'video' | 'gallery' | 'gif'
        /** @description Address. */
        url: string | null
        width: number | null
        height: number | null
        items: ({
          /** @description Address. */
          url: string
          width: number | null
          height: number | null
        } & {
          [key: string]: unknown
        })[]
        duration_s: number | null
        thumbnail_url: string | null
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    SearchMediaAnswer: {
      posts: components['schemas']['PostWithMedia'][]
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
    User: {
      /** @description Identifier, unique among objects of this kind. */
      id: string | null
      /** @description Name. */
      name: string
      /** @description Address. */
      url: string
      created: string | null
      /** @description Time of creation in epoch seconds; null: unknown. */
      created_utc: number | null
      link_karma: number | null
      comment_karma: number | null
      total_karma: number | null
      verified: boolean | null
      is_employee: boolean | null
      is_mod: boolean | null
      is_suspended: boolean
      over_18: boolean | null
      /** @description Name that the profile shows. */
      display_name: string | null
      /** @description Description in its own words. */
      description: string | null
      avatar_url: string | null
      banner_url: string | null
    } & {
      [key: string]: unknown
    }
    SearchUsersAnswer: {
      users: components['schemas']['User'][]
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
    CommentsAnswer: {
      post: components['schemas']['Post']
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
    PostCommentsAnswer: {
      post: components['schemas']['Post']
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
    CommentsOfPostAnswer: {
      post: components['schemas']['Post']
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
    CommentByIdAnswer: {
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
    VerifyCommentsAnswer: {
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
    Comment: {
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
      permalink: string
      /** @description Address. */
      url: string
      /** @description Id of the post. */
      post_id: string
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
      is_submitter: boolean
      /** @description Depth in the tree, 0 at the top; null: unknown. */
      depth: number | null
      /** @description Time of the last edit; false: never, true: the time is unknown. */
      edited: string | boolean
      over_18: boolean | null
      author_info: {
        fullname: string | null
        /** @description Label set by the community or the author; null: none. */
        flair: string | null
        premium: boolean | null
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    UserCommentsAnswer: {
      comments: components['schemas']['Comment'][]
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
    UserSubmittedAnswer: {
      posts: components['schemas']['Post'][]
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
    UserAchievementsAnswer: {
      achievements: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string | null
        /** @description Name. */
        name: string
        /** @description Description in its own words. */
        description: string | null
        icon_url: string | null
        /** @description Address. */
        url: string | null
        granted: string | null
      } & {
        [key: string]: unknown
      })[]
      /** Format: int64 */
      count: number
    } & {
      [key: string]: unknown
    }
    SubCommentsAnswer: {
      comments: components['schemas']['Comment'][]
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
    SubRulesAnswer: {
      rules: ({
        /** @description Name. */
        name: string
        /** @description Description in its own words. */
        description: string
        /** @enum {string} */
        applies_to: 'post' | 'comment' | 'all'
        violation_reason: string | null
        /**
         * Format: int64
         * @description Position of the rule; lower comes first.
         */
        priority: number
        created: string | null
      } & {
        [key: string]: unknown
      })[]
      site_rules: string[]
    } & {
      [key: string]: unknown
    }
    SubWikiAnswer: {
      content_md: string
      content_html: string | null
      revision_id: string | null
      revision_date: string | null
      revised_by: string | null
      /** @description Explanation; null: none. */
      reason: string | null
    } & {
      [key: string]: unknown
    }
    PopularDirectoryAnswer: {
      subforums: components['schemas']['Community'][]
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
    NewDirectoryAnswer: {
      subforums: components['schemas']['Community'][]
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
    DefaultDirectoryAnswer: {
      subforums: components['schemas']['Community'][]
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
    FeedAnswer: {
      posts: components['schemas']['Post'][]
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
    SubModeratorsAnswer: {
      moderators: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /** @description Name. */
        name: string
        mod_permissions: string[]
        flair_text: string | null
        /** @description Time at which the moderator joined; null: unknown. */
        added: string | null
      } & {
        [key: string]: unknown
      })[]
    } & {
      [key: string]: unknown
    }
    ListedPost: {
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
      permalink: string
      /** @description The address of the post on the platform. */
      url: string
      /**
       * Format: int64
       * @description Votes up minus votes down.
       */
      upvotes: number
      /** Format: int64 */
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
      over_18: boolean
      spoiler: boolean
      locked: boolean
      stickied: boolean
      is_self: boolean
      is_video: boolean
      is_crosspost: boolean
      /** @description The post that this one repeats; null: not a crosspost. */
      crosspost_origin:
        | ({
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /** @description Name of the subforum. */
            subforum: string
            permalink: string
          } & {
            [key: string]: unknown
          })
        | null
      /** @description Label set by the community or the author; null: none. */
      flair: string | null
      /** @description Host that a link post points to; null: none. */
      domain: string | null
      media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
      thumbnail_url: string | null
      /** @description Time of the last edit; false: never, true: the time is unknown. */
      edited: string | boolean
      author_info: {
        fullname: string | null
        /** @description Label set by the community or the author; null: none. */
        flair: string | null
        premium: boolean | null
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    ListedComment: {
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
      permalink: string
      /** @description Address. */
      url: string
      /** @description Id of the post. */
      post_id: string
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
      is_submitter: boolean
      /** @description Depth in the tree, 0 at the top; null: unknown. */
      depth: number | null
      /** @description Time of the last edit; false: never, true: the time is unknown. */
      edited: string | boolean
      over_18: boolean | null
      author_info: {
        fullname: string | null
        /** @description Label set by the community or the author; null: none. */
        flair: string | null
        premium: boolean | null
      } & {
        [key: string]: unknown
      }
    } & {
      [key: string]: unknown
    }
    UserUpvotedAnswer: {
      items: (components['schemas']['ListedPost'] | components['schemas']['ListedComment'])[]
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
    UserSavedAnswer: {
      items: (components['schemas']['ListedPost'] | components['schemas']['ListedComment'])[]
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
    UserHiddenAnswer: {
      items: (components['schemas']['ListedPost'] | components['schemas']['ListedComment'])[]
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
    UserGildedAnswer: {
      items: (components['schemas']['ListedPost'] | components['schemas']['ListedComment'])[]
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
    Draft: {
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
      /** @description Source that it acts on; null: the source of the accounts. */
      source: string | null
      /**
       * @description State of the draft; only waiting ones can be decided.
       * @enum {string}
       */
      status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
      /** Format: date-time */
      created_at: string
      /**
       * Format: date-time
       * @description Time after which it is void.
       */
      expires_at: string
      /** @description Time of the decision; null: none so far. */
      decided_at: string | null
      customer: {
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /** @description Name. */
        name: string
      }
      /** @description Answer of the write; null before it was made. */
      answer: {
        [key: string]: unknown
      } | null
    }
    ListDraftsAnswer: {
      drafts: components['schemas']['Draft'][]
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
    Source: {
      /** @description Name of the source, for the parameter source. */
      name: string
      /** @description Kind of the object. */
      kind: string
      /** @description Address of its pages. */
      url: string
      /** @description Names of what it can do, such as `posts` or `monitor`. */
      readonly capabilities: string[]
      /** @description Names of places as this source writes them. */
      readonly place_examples: string[]
      /** @description How completeness is proven; null: unknown. */
      proof: string | null
      /** @description State of the source, by its own answers since the start. */
      state: {
        /**
         * @description `never_tried`: nothing was requested since the start.
         * @enum {string}
         */
        status: 'never_tried' | 'works' | 'fails'
        /** @description Why it fails, such as `unavailable:503`. */
        fault: string | null
        /** @description Start of the present status. */
        since: string | null
        last_request_at: string | null
        requests_last_minute: number
        /** @description Limit of requests a minute; null: no answer has named one yet. */
        requests_per_minute: number | null
      }
      /** @description Time at which the source ends; null: no end is planned. */
      ends_at: string | null
    }
    SourcesAnswer: {
      sources: components['schemas']['Source'][]
    }
    Filter: {
      /** @description Sources, by name, as /api/forum/sources lists them, or all. Default: forum. */
      source?: string | string[]
      /** @description In one of these, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
      subforum?: string | string[]
      /**
       * @description Items to watch. Default: post; with thread: comment.
       * @default post
       * @enum {string}
       */
      kind?: 'post' | 'comment' | 'both'
      /** @description At least one of these occurs. */
      include_any?: string[]
      /** @description Every one of these occurs. */
      include_all?: string[]
      /** @description None of these occurs. Exclusions win. */
      exclude_terms?: string[]
      /** @description A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun */
      q?: string
      /**
       * @description Where terms and patterns are looked for. A comment has no title; thread_title is that of its thread. Default: title, body, url.
       * @default [
       *       "title",
       *       "body",
       *       "url"
       *     ]
       */
      search_in?:
        | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author' | 'thread_title')
        | ('title' | 'body' | 'url' | 'permalink' | 'flair' | 'author' | 'thread_title')[]
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
       * @description Distinguishes IT from it.
       * @default false
       */
      case_sensitive?: boolean
      /** @description Any of these patterns matches; RE2's syntax. */
      regex?: string[]
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
      /** @description By one of these. */
      author?: string | string[]
      /** @description By none of these. */
      exclude_authors?: string | string[]
      /** @description Not in these; the whole platform only. */
      exclude_subforums?: string | string[]
      /** @description Comments under these posts, by id. */
      thread?: string | string[]
      /** @description Leads to one of these hosts, or to a host below it. */
      domain?: string | string[]
      /** @description Leads to none of these. */
      exclude_domains?: string | string[]
      /** @description Posts of one of these types. */
      post_type?:
        | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')
        | ('self' | 'link' | 'image' | 'video' | 'gallery' | 'crosspost')[]
      /** @description The intent of the text, by rules, is one of these. */
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
      /** @description The tone of the text, by rules, is one of these. */
      sentiment?:
        | ('positive' | 'negative' | 'mixed' | 'neutral')
        | ('positive' | 'negative' | 'mixed' | 'neutral')[]
      /** @description One of these is the post's flair, whole; case ignored. */
      flair?: string | string[]
      /** @description None of these is the post's flair. */
      exclude_flair?: string | string[]
      /** @description True: only posts with a flair. False: only items without. */
      has_flair?: boolean
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
      /** @description No condition: the matches of one poll travel together; a label names the bundle. */
      group?: boolean | string
      /**
       * Format: int64
       * @description No condition: seconds for which group collects. Default: one poll.
       */
      group_window_s?: number
    }
    Attention: {
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
    }
    Relevance: {
      /** @description Describes to the model which items are relevant. */
      prompt: string
      /**
       * @description Matches with a lower score are suppressed as irrelevant.
       * @default 0.5
       */
      min_score: number
      /**
       * @description While the model cannot judge, or a limit of the day is reached: deliver without a verdict, or hold until there is one.
       * @default deliver
       * @enum {string}
       */
      when_down: 'deliver' | 'hold'
    }
    MonitorAddAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Name. */
      name: string | null
      /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
      filter_spec: components['schemas']['Filter']
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
      /** Format: date-time */
      created_at: string
      /** Format: date-time */
      updated_at: string
      last_match_at: string | null
      /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
      attention: components['schemas']['Attention'] | null
      /** @description Rules by which the operator's model judges matches; null: it does not. */
      relevance: components['schemas']['Relevance'] | null
      /** @description Matches as Atom; anyone with this address can read them. */
      feed_url: string
      streams: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments' | 'all'
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
      /** @description subforum_unverified: the platform could not be reached. places_unverified: a source could not. */
      warnings?: string[]
    } & {
      [key: string]: unknown
    }
    Monitor: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Label of the monitor; null: none. */
      name: string | null
      /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
      filter_spec: components['schemas']['Filter']
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
      /** Format: date-time */
      created_at: string
      /** Format: date-time */
      updated_at: string
      last_match_at: string | null
      /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
      attention: components['schemas']['Attention'] | null
      /** @description Rules by which the operator's model judges matches; null: it does not. */
      relevance: components['schemas']['Relevance'] | null
      /** @description Matches as Atom; anyone with this address can read them. */
      feed_url: string
      streams: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments' | 'all'
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
    }
    MonitorListAnswer: {
      monitors: components['schemas']['Monitor'][]
      /** @description Monitors that the plan allows. */
      slots: {
        /** Format: int64 */
        used: number
        /**
         * Format: int64
         * @description Sum of the period, or the number that the plan allows.
         */
        total: number
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
    MonitorUpdateAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Name. */
      name: string | null
      /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
      filter_spec: components['schemas']['Filter']
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
      /** Format: date-time */
      created_at: string
      /** Format: date-time */
      updated_at: string
      last_match_at: string | null
      /** @description Quiet hours, digests and alarms, with all defaults; null: none. */
      attention: components['schemas']['Attention'] | null
      /** @description Rules by which the operator's model judges matches; null: it does not. */
      relevance: components['schemas']['Relevance'] | null
      /** @description Matches as Atom; anyone with this address can read them. */
      feed_url: string
      streams: ({
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments' | 'all'
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
      /** @description subforum_unverified: the platform could not be reached. places_unverified: a source could not. */
      warnings?: string[]
    } & {
      [key: string]: unknown
    }
    MonitorRemoveAnswer: {
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
    MonitorAcknowledgeAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** Format: int64 */
      acknowledged: number
    }
    Alarm: {
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
      /** Format: int64 */
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
    }
    MonitorHealthAnswer: {
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
       * @description Withheld by the daily ceiling, as stale, or for an unknown reason. A lower bound.
       */
      suppressed_24h: number
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
         * @description Matches below the min_score of the relevance rules.
         */
        irrelevant: number
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
        sample_truncated: boolean
        /** @description True if every suppressed match has a known cause. */
        resolved: boolean
        /** @description Why causes are unknown; null: all are known. */
        unresolved_reason: string | null
      } & {
        [key: string]: unknown
      }
      ceiling_reached: boolean
      last_match_at: string | null
      /** @description Proof of what was read in the last 24 hours. */
      coverage_24h: {
        /**
         * @description Coverage of the 24 hours: complete, degraded by gaps, partial or unknown; reasons say why.
         * @enum {string}
         */
        status: 'complete' | 'degraded' | 'partial' | 'unknown'
        /** @description Explanation; null: none. */
        reason: string | null
        /** @description How its feeds prove that nothing was missed: time_listing (polls and audits of listings), keyset, dense or sparse_walk (by ids), overlap (of polls of a feed). */
        proof: string[]
        /**
         * Format: date-time
         * @description Start of the state or of the window.
         */
        since: string
        /** @description Everything that was created before and has been visible since was read, as an audit or ids prove; null: no proof so far. It does not cover later edits and restorations. */
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
          healed_at: string | null
        } & {
          [key: string]: unknown
        })[]
        /** Format: int64 */
        gaps_returned: number
        gaps_truncated: boolean
        /** @description Number of gaps in the last 24 hours; null: unknown. */
        gap_events_24h: number | null
        /** @description Number of the gap events that no later check has healed. */
        gaps_open: number | null
        /** @description Posts of the window that are known to exist; null: unknown. */
        posts_in_window_at_least: number | null
        /** @description Estimated number of missed posts; null: unknown. */
        posts_missed_estimate: number | null
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
                  /** Format: int64 */
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
                  /** Format: int64 */
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
              /** Format: int64 */
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
            /** @description Rows of the source that were left out since the start of the daemon, because a value of theirs cannot be; field: the last such value. Null: none. */
            left_out:
              | ({
                  /**
                   * Format: int64
                   * @description Number of rows.
                   */
                  rows: number
                  /** @description Name of a field. */
                  field: string
                  /**
                   * Format: date-time
                   * @description Time of the event.
                   */
                  at: string
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
         * @description Polling now: live, degraded by late feeds, or unknown.
         * @enum {string}
         */
        status: 'live' | 'degraded' | 'unknown'
        /** @description Explanation; null: none. */
        reason: string | null
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
      cadence: {
        /** Format: int64 */
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
      alarms: components['schemas']['Alarm'][]
      /** @description Absent if the monitor has no relevance rules and nothing waits. */
      relevance?: {
        /**
         * Format: int64
         * @description Matches that wait for a verdict.
         */
        waiting: number
        /** @description Seconds for which the oldest of them has waited; null: none does. */
        oldest_waiting_s: number | null
        /** @description True if one has waited for a day or longer. */
        overdue: boolean
        /**
         * Format: int64
         * @description Of those that wait: held, because the calls of the day are used.
         */
        held_by_limit: number
        /**
         * Format: date-time
         * @description When they are judged; null: none is held.
         */
        held_until: string | null
        /**
         * Format: int64
         * @description Delivered with a verdict.
         */
        relevant_24h: number
        /**
         * Format: int64
         * @description Suppressed as irrelevant.
         */
        irrelevant_24h: number
        /**
         * Format: int64
         * @description Delivered without a verdict.
         */
        unjudged_24h: number
        /** @description Null: the operator has configured none. */
        model: {
          /** @description Name of the model. */
          name: string
          /**
           * @description down: it cannot be used now.
           * @enum {string}
           */
          status: 'up' | 'down'
          /** @description Why there is no verdict. */
          fault:
            | (
                | 'not_configured'
                | 'unreachable'
                | 'timeout'
                | 'refused'
                | 'too_large'
                | 'invalid_answer'
                | 'too_slow'
                | 'limit_calls'
              )
            | null
          /**
           * Format: date-time
           * @description First fault of the outage; null: it is up.
           */
          down_since: string | null
          /** @description Calls in this UTC day. */
          calls_today: {
            /**
             * Format: int64
             * @description Calls of all customers.
             */
            used: number
            /** @description Null: no limit. */
            limit: number | null
          }
          /** @description Your calls in this UTC day. */
          your_calls_today: {
            /**
             * Format: int64
             * @description Calls for your monitors.
             */
            used: number
            /**
             * Format: int64
             * @description Calls that others leave to you.
             */
            reserved: number
            /** @description Null: no limit. */
            limit: number | null
          }
        } | null
      }
    } & {
      [key: string]: unknown
    }
    MonitorCoverageAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /**
       * Format: date
       * @description Day of UTC.
       */
      from: string
      /**
       * Format: date
       * @description Day of UTC.
       */
      to: string
      /** @description Days that were looked back. */
      days: {
        /**
         * Format: date
         * @description Day of UTC.
         */
        day: string
        /**
         * Format: int64
         * @description Seconds whose creation times are verified and have no gap.
         */
        complete_s: number
        /**
         * Format: int64
         * @description Seconds that were watched and are not complete: see gaps.
         */
        not_verified_s: number
        /**
         * Format: int64
         * @description Seconds before the start of the monitor, paused or not recorded.
         */
        unwatched_s: number
        /** @description All that is not complete, oldest first. */
        gaps: {
          /**
           * Format: date-time
           * @description ISO 8601, UTC.
           */
          from: string
          /**
           * Format: date-time
           * @description ISO 8601, UTC.
           */
          until: string
          /**
           * @description degraded: a poll was cut; partial: read but not verified; unknown: not watched.
           * @enum {string}
           */
          status: 'degraded' | 'partial' | 'unknown'
          /** @description Explanation; null: none. */
          reason: string
        }[]
      }[]
    }
    Webhook: {
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
        | 'mattermost'
      /** @description Address. */
      url: string
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
    MonitorWebhookRotateAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Signing secret; it is not shown again. */
      secret: string
      /** @description Time until which the old secret also signs; null: it ended. */
      old_secret_until: string | null
      /** @description Key that v1a is verified with: whpk_ and base64. Absent without v1a. */
      public_key?: string
    }
    MonitorWebhookCreateAnswer: {
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
        | 'mattermost'
      /** @description Address. */
      url: string
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
    WebhookWithHealth: {
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
        | 'mattermost'
      /** @description Address. */
      url: string
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
        next_attempt_at: string | null
        /** @description Attempts by hour, oldest first; the last is the present hour. */
        hours: {
          succeeded: number[]
          failed: number[]
        }
      }
    }
    MonitorWebhookListAnswer: {
      webhooks: components['schemas']['WebhookWithHealth'][]
    }
    MonitorWebhookTestAnswer: {
      /** @description True if the receiver accepted the test. */
      ok: boolean
      status_code: number | null
      /** @description The same as status_code. */
      status: number | null
      /** @description Id of the delivery; it stays the same in every attempt. */
      delivery_id: string
      /** Format: int64 */
      duration_ms: number
      /** @description Explanation; null: none. */
      reason: string | null
      hint: string | null
      detail: string
      /** @description The beginning of the receiver's response, redacted; null without one. */
      body_start: string | null
    }
    MonitorWebhookDeleteAnswer: {
      deleted: boolean
      /** @description Identifier, unique among objects of this kind. */
      id: string
    }
    MonitorItemsAnswer: {
      /** @description Oldest first, each as delivered to a webhook. */
      items: {
        [key: string]: unknown
      }[]
      /** @description Cursor of the next page; null: no matches yet. */
      after: string | null
      has_more: boolean
    }
    InboxItem: {
      /**
       * @description Fullname of the item, after the name of its source and a slash unless that is the first one of a Reddit-style platform.
       * @example t3_1abcde
       */
      id: string
      /** @description Name of the source. */
      source: string
      /**
       * @description Kind of the object.
       * @enum {string}
       */
      kind: 'post' | 'comment'
      /** @description Title of the post, or of the thread of a comment; null: unknown or erased. */
      title: string | null
      /** @description At most 300 characters around the first matched term, in one line. */
      excerpt: string
      /** @description Matched terms within the texts. */
      highlights: {
        /**
         * @description Text that the range is in.
         * @enum {string}
         */
        in: 'title' | 'excerpt'
        /**
         * Format: int64
         * @description First UTF-16 unit of the term.
         */
        start: number
        /**
         * Format: int64
         * @description UTF-16 unit after the term.
         */
        end: number
      }[]
      matched_terms: string[]
      /** @description Address. */
      url: string | null
      /** @description Place of the item, such as its community. */
      place: string
      /** @description Name of the author. */
      author: string | null
      /** @description Points of the comment. */
      score: number | null
      comments: number | null
      created: string | null
      /** @description Sentiments of the text that match, one or several. */
      sentiment: string | null
      /** @description Intents of the text that match, one or several. */
      intent: string | null
      /** @description Share of the terms that the item contains, 0 to 1; null: unknown. */
      relevance: number | null
      /** @description True: its content was deleted at its source, or is past its retention. */
      erased: boolean
      /**
       * Format: date-time
       * @description First match, which is the order of the list.
       */
      matched_at: string
      /** @description Monitors that matched it, the first first; at most 20. */
      monitors: {
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /** @description Name. */
        name: string | null
        /** @description True: the monitor exists no longer. */
        removed: boolean
        /**
         * Format: date-time
         * @description Time of the match; null: none.
         */
        matched_at: string
        matched_terms: string[]
        /** @description Verdict of the operator's model; null: the monitor asks for none. */
        judgement: {
          /** @description Its score; null: it was unavailable. */
          score: number | null
          /** @description Least score of the monitor. */
          min_score: number | null
          /** @description Its reason, in its own words. */
          reason: string | null
        } | null
      }[]
      /**
       * @description State of the item: unread, read, answered or dismissed.
       * @enum {string}
       */
      state: 'unread' | 'read' | 'answered' | 'dismissed'
      /** @description True if it has a star. */
      starred: boolean
      /** @description Label of the item; null: none. */
      label: string | null
      /** @description Last change of state, star or label; null: none. */
      changed: {
        /**
         * Format: date-time
         * @description Time of the event.
         */
        at: string
        /** @description Key that made it; null: none. */
        by: {
          /** @description Thumbprint of the public key (RFC 7638). */
          key_id: string
          /** @description Name of the key; null: it has none. */
          name: string | null
        } | null
      } | null
    }
    InboxListAnswer: {
      items: components['schemas']['InboxItem'][]
      /** @description Cursor of the next page; null at the end. A page may have fewer items than limit before the end. */
      next_cursor: string | null
      /** @description Match up to which a page looked that ended before limit and before the end; else null. */
      examined_until: string | null
    }
    InboxIdsAnswer: {
      /** @description Ids to check, with or without prefix. */
      ids: string[]
      /** @description Cursor of the next page; null at the end. */
      next_cursor: string | null
    }
    InboxItemAnswer: {
      /**
       * @description Fullname of the item, after the name of its source and a slash unless that is the first one of a Reddit-style platform.
       * @example t3_1abcde
       */
      id: string
      /** @description Name of the source. */
      source: string
      /**
       * @description Kind of the object.
       * @enum {string}
       */
      kind: 'post' | 'comment'
      /** @description Title of the post, or of the thread of a comment; null: unknown or erased. */
      title: string | null
      /** @description At most 300 characters around the first matched term, in one line. */
      excerpt: string
      /** @description Matched terms within the texts. */
      highlights: {
        /**
         * @description Text that the range is in.
         * @enum {string}
         */
        in: 'title' | 'excerpt'
        /**
         * Format: int64
         * @description First UTF-16 unit of the term.
         */
        start: number
        /**
         * Format: int64
         * @description UTF-16 unit after the term.
         */
        end: number
      }[]
      matched_terms: string[]
      /** @description Address. */
      url: string | null
      /** @description Place of the item, such as its community. */
      place: string
      /** @description Name of the author. */
      author: string | null
      /** @description Points of the comment. */
      score: number | null
      comments: number | null
      created: string | null
      /** @description Sentiments of the text that match, one or several. */
      sentiment: string | null
      /** @description Intents of the text that match, one or several. */
      intent: string | null
      /** @description Share of the terms that the item contains, 0 to 1; null: unknown. */
      relevance: number | null
      /** @description True: its content was deleted at its source, or is past its retention. */
      erased: boolean
      /**
       * Format: date-time
       * @description First match, which is the order of the list.
       */
      matched_at: string
      /** @description Monitors that matched it, the first first; at most 20. */
      monitors: {
        /** @description Identifier, unique among objects of this kind. */
        id: string
        /** @description Name. */
        name: string | null
        /** @description True: the monitor exists no longer. */
        removed: boolean
        /**
         * Format: date-time
         * @description Time of the match; null: none.
         */
        matched_at: string
        matched_terms: string[]
        /** @description Verdict of the operator's model; null: the monitor asks for none. */
        judgement: {
          /** @description Its score; null: it was unavailable. */
          score: number | null
          /** @description Least score of the monitor. */
          min_score: number | null
          /** @description Its reason, in its own words. */
          reason: string | null
        } | null
      }[]
      /**
       * @description State of the item: unread, read, answered or dismissed.
       * @enum {string}
       */
      state: 'unread' | 'read' | 'answered' | 'dismissed'
      /** @description True if it has a star. */
      starred: boolean
      /** @description Label of the item; null: none. */
      label: string | null
      /** @description Last change of state, star or label; null: none. */
      changed: {
        /**
         * Format: date-time
         * @description Time of the event.
         */
        at: string
        /** @description Key that made it; null: none. */
        by: {
          /** @description Thumbprint of the public key (RFC 7638). */
          key_id: string
          /** @description Name of the key; null: it has none. */
          name: string | null
        } | null
      } | null
      /** @description Whole text as it was last delivered, in the markdown of its author, at most 40,000 characters; null: erased. */
      text: string | null
    }
    InboxCountsAnswer: {
      /**
       * Format: int64
       * @description True if it was not read yet.
       */
      unread: number
      /** Format: int64 */
      read: number
      /** Format: int64 */
      answered: number
      /** Format: int64 */
      dismissed: number
      /**
       * Format: int64
       * @description Starred items of any state.
       */
      starred: number
      /**
       * Format: int64
       * @description Sum of the period, or the number that the plan allows.
       */
      total: number
      /** @description False: the numbers are lower bounds. */
      complete: boolean
      /** @description Labels that are in use, at most 100. */
      labels: {
        /** @description Label of the item; null: none. */
        label: string
        /** Format: int64 */
        items: number
      }[]
    }
    InboxUpdateAnswer: {
      /** @description For undo; null: nothing changed. */
      action_id: string | null
      /**
       * Format: int64
       * @description Number of items that the call changed.
       */
      changed: number
      /**
       * Format: int64
       * @description Named items that had the values already.
       */
      unchanged: number
      unknown_ids: string[]
      has_more: boolean
      /** @description Continues a change of a filter in a further call; null: all are done. */
      next_cursor: string | null
      /** @description Time until which the change can be undone; null: nothing changed. */
      undo_until: string | null
    }
    InboxUndoAnswer: {
      /** @description The undoing itself, which can be undone too. */
      action_id: string
      undone: string
      /**
       * Format: int64
       * @description Items, or the filter of a mute: 1.
       */
      restored: number
      /**
       * Format: int64
       * @description Items that were changed since, or are gone.
       */
      skipped: number
    }
    InboxHistoryAnswer: {
      /** @description The changes, newest first. */
      actions: {
        /** @description Id of the change, for its undoing. */
        action_id: string
        /**
         * Format: date-time
         * @description Time of the event.
         */
        at: string
        /** @description Key that made the change. */
        by: {
          /** @description Thumbprint of the public key (RFC 7638). */
          key_id: string
          /** @description Name of the key; null: it has none. */
          name: string | null
        }
        /**
         * @description update: by a person; answered: followed from a comment; mute: edited a filter; undo.
         * @enum {string}
         */
        kind: 'update' | 'undo' | 'answered' | 'mute'
        /** @description Values that were set; null: an undoing or a mute. */
        set: {
          /**
           * @description State of the item: unread, read, answered or dismissed.
           * @enum {string}
           */
          state?: 'unread' | 'read' | 'answered' | 'dismissed'
          /** @description True if it has a star. */
          starred?: boolean
          /** @description Label of the item; null: none. */
          label?: string | null
        } | null
        /** @description Edit of the filter of a monitor; null: items were changed. */
        mute: {
          /** @description Id of the monitor. */
          monitor_id: string
          /** @description List of the filter that changes. */
          field: string
          /** @description New entry; null: an entry was removed. */
          added: string | null
          /** @description Removed entry; null: one was added. */
          removed: string | null
        } | null
        /**
         * Format: int64
         * @description Number of changed items.
         */
        items: number
        /** @description The first 10 of them. */
        ids: string[]
        /** @description Id of the change that this one undid; null: none. */
        undoes: string | null
        /** @description Id of the change that undid this one; null: none. */
        undone_by: string | null
        /** @description True if it can be undone now. */
        can_undo: boolean
      }[]
      /** @description Cursor of the next page; null at the end. */
      next_cursor: string | null
    }
    InboxMuteAnswer: {
      /** @description Id of the monitor. */
      monitor_id: string
      monitor_name: string | null
      /** @description True: the filter is changed. */
      applied: boolean
      /** @description For undo; null: nothing changed. */
      action_id: string | null
      /** @description Time until which the change can be undone; null: nothing changed. */
      undo_until: string | null
      /** @description Change of the filter. */
      edit: {
        /** @description List of the filter that changes. */
        field: string
        /** @description New entry; null: an entry was removed. */
        added: string | null
        /** @description Removed entry; null: one was added. */
        removed: string | null
        before: string[]
        /** @description Cursor of the next page; null: no further page. */
        after: string[]
      }
      /** @description Effect of the edit on past matches. */
      effect: {
        /**
         * Format: int64
         * @description Days that were looked back.
         */
        days: number
        /**
         * Format: int64
         * @description Matches of the monitor that were evaluated.
         */
        examined: number
        /** @description False: only the newest were evaluated. */
        complete: boolean
        /**
         * Format: int64
         * @description Matches that there would not have been.
         */
        removed: number
        /**
         * Format: int64
         * @description Number of posts that passed the filters.
         */
        kept: number
        /** @description The newest of the removed, at most 5. */
        samples: {
          /** @description Identifier, unique among objects of this kind. */
          id: string
          /** @description Title. */
          title: string | null
          excerpt: string
          place: string
          /** @description Name of the author. */
          author: string | null
          /**
           * Format: date-time
           * @description Time of the match; null: none.
           */
          matched_at: string
        }[]
      }
    }
    InboxContextAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description The post; null: unreadable. */
      post: {
        /**
         * @description Identifier, unique among objects of this kind.
         * @example t3_1abcde
         */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'post' | 'comment'
        /** @description Name of the author. */
        author: string | null
        /** @description Title. */
        title: string | null
        /** @description Visible text, at most 2,000 characters. */
        text: string
        /** @description Points of the comment. */
        score: number | null
        /** @description Address. */
        url: string | null
        created: string | null
      } | null
      /** @description Comments above it, from the top; none: it answers the post. */
      ancestors: {
        /**
         * @description Identifier, unique among objects of this kind.
         * @example t3_1abcde
         */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'post' | 'comment'
        /** @description Name of the author. */
        author: string | null
        /** @description Title. */
        title: string | null
        /** @description Visible text, at most 2,000 characters. */
        text: string
        /** @description Points of the comment. */
        score: number | null
        /** @description Address. */
        url: string | null
        created: string | null
      }[]
      /** @description Direct replies, at most 20. */
      replies: {
        /**
         * @description Identifier, unique among objects of this kind.
         * @example t3_1abcde
         */
        id: string
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'post' | 'comment'
        /** @description Name of the author. */
        author: string | null
        /** @description Title. */
        title: string | null
        /** @description Visible text, at most 2,000 characters. */
        text: string
        /** @description Points of the comment. */
        score: number | null
        /** @description Address. */
        url: string | null
        created: string | null
      }[]
      /** @description False: the comment was not among those read. */
      found: boolean
    }
    MonitorStreamAnswer: string
    MonitorFeedByTokenAnswer: string
    MonitorFeedRotateAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /** @description Secret address of the feed. */
      feed_url: string
    }
    Delivery: {
      /** @description Id of the delivery; it stays the same in every attempt. */
      delivery_id: string
      /** @description Id of the monitor. */
      monitor_id: string
      /** @description Id of the target; null: none. */
      webhook_id: string | null
      /**
       * @description State of the delivery; pending ones are waiting or tried again.
       * @enum {string}
       */
      status: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
      /** Format: int64 */
      attempts: number
      last_error: string | null
      created_at: string
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
      payload: {
        /** Format: int64 */
        count: number
        /** @description True if it contains several matches. */
        grouped: boolean
        items: {
          [key: string]: unknown
        }[]
        /** @description Period of a digest; absent for other deliveries. */
        digest?: {
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
          monitor_name: string | null
          /** @description Title. */
          title: string
          message: string
        } & {
          [key: string]: unknown
        }
      } & {
        [key: string]: unknown
      }
    }
    MonitorDeliveriesAnswer: {
      deliveries: components['schemas']['Delivery'][]
      /** @description The before of the next page; null at the end. */
      next_before: string | null
    }
    MonitorDeliveriesRedeliverAnswer: {
      /** Format: int64 */
      queued: number
      /** Format: int64 */
      skipped: number
      /** @description True: counts only, nothing is sent. */
      dry_run: boolean
    }
    MonitorDeliveriesRequestAnswer: {
      /** @description Id of the delivery; it stays the same in every attempt. */
      delivery_id: string
      /**
       * @description Way of signing in; absent: the configured one.
       * @constant
       */
      method: 'POST'
      /** @description Address. */
      url: string
      /** @description Headers of this request, signed at signed_at. */
      headers: {
        [key: string]: string
      }
      /**
       * Format: date-time
       * @description Time of the signature in headers.
       */
      signed_at: string
      /** @description The body, whose bytes are signed. */
      body: string
      /** @description The attempts so far, first to last. */
      attempts: {
        /**
         * Format: int64
         * @description Number of the attempt, from 1.
         */
        n: number
        /** @description Headers that the attempt sent; null: a signature by a secret that was since rotated. */
        headers: {
          [key: string]: string | null
        }
      }[]
    }
    SendFeedbackAnswer: {
      /** @description Identifier, unique among objects of this kind. */
      id: string
      /**
       * @description Current state.
       * @enum {string}
       */
      status: 'new' | 'triaged' | 'shipped' | 'declined'
      /** Format: date-time */
      created_at: string
    }
    FindFeedbackAnswer: {
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
      /** Format: date-time */
      created_at: string
      /** Format: date-time */
      updated_at: string
    }
    SearchArchiveAnswer: {
      /** @description Newest first, each as delivered to a webhook. */
      items: ({
        /** @description Facts of the archive about the item. */
        archived: {
          /**
           * Format: date-time
           * @description Time at which it was first seen.
           */
          first_seen: string
          /**
           * Format: date-time
           * @description Time of its last reading, which score and text are of.
           */
          last_seen: string
          /**
           * Format: int64
           * @description Former texts that are kept.
           */
          versions: number
          /** @description Your monitors that matched it. */
          monitor_ids: string[]
        }
      } & {
        [key: string]: unknown
      })[]
      /** @description Cursor of the next page; null at the end. */
      after: string | null
      /**
       * Format: int64
       * @description Items that were tested.
       */
      scanned: number
      /** @description Time ran out: everything created after this was tested, and after goes on. Null: the page is full, or the end. */
      scanned_until: string | null
    }
    ExportArchiveAnswer: string
    ArchiveStateAnswer: {
      /**
       * @description Items that are kept: matches, all of watched feeds, or no new ones.
       * @enum {string}
       */
      keep: 'matches' | 'feeds' | 'nothing'
      /**
       * Format: int64
       * @description Days after its creation for which an item is kept.
       */
      days: number
      /**
       * Format: int64
       * @description Size in MiB above which the oldest items leave.
       */
      max_size_mb: number
      /**
       * Format: int64
       * @description Number of archived items.
       */
      items: number
      /**
       * Format: int64
       * @description Their size with the index.
       */
      bytes: number
      /** @description Creation of the oldest item. */
      oldest: string | null
      /** @description Creation of the newest item. */
      newest: string | null
      /**
       * Format: int64
       * @description Items that are not searchable yet.
       */
      queued: number
    }
    MonitorPreviewAnswer: {
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
      terms: {
        term: string
        /**
         * @description wanted: the term is searched. excluded: it must not occur.
         * @enum {string}
         */
        role: 'wanted' | 'excluded'
        /** Format: int64 */
        items: number
      }[]
      /** @description Items that pass each condition and all before it. */
      criteria: {
        criterion: string
        /**
         * Format: int64
         * @description Number of items that pass this condition and all before it.
         */
        left: number
      }[]
      /** @description Null: not enough data. */
      estimate_per_day: number | null
      feeds: ({
        /**
         * @description Kind of the object.
         * @enum {string}
         */
        kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments' | 'all'
        /** @description Each subforum of the feed; null: it is not of one. */
        subforums: string[] | null
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
        /** Format: date-time */
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
        /** @enum {string} */
        verdict: 'matches' | 'does_not_match' | 'not_yet' | 'withheld'
        /** @description Every condition of the filter, in order of evaluation. */
        criteria: {
          criterion: string
          /** @enum {string} */
          verdict: 'met' | 'not_met' | 'later' | 'withheld'
          /** @description Part of the item that was checked. */
          detail: string
        }[]
        row: {
          [key: string]: unknown
        }
      } | null
      /** @description With window: the time that was tested. */
      window?: {
        /**
         * Format: date-time
         * @description Start of the window.
         */
        from: string
        /**
         * Format: date-time
         * @description End of the window.
         */
        to: string
        /**
         * @description Items that the archive keeps: with matches, only what your monitors matched.
         * @enum {string}
         */
        basis: 'matches' | 'feeds' | 'nothing'
        /** @description Creation of the oldest archived item of the window; null: there is none. */
        oldest: string | null
        /** @description Time ran out: only what was created after this was tested. */
        scanned_until: string | null
      }
      /** @description Every day of the window, oldest first. */
      days?: {
        /**
         * Format: date
         * @description Day of UTC.
         */
        date: string
        /**
         * Format: int64
         * @description Matches created on it.
         */
        matched: number
      }[]
      /** @description With window: expected deliveries. They cost no credits. */
      deliveries?: {
        /** @description To all targets; null: no data. */
        per_day: number | null
        /**
         * Format: int64
         * @description Your active webhooks.
         */
        targets: number
        /**
         * Format: int64
         * @description Deliveries a day that the plan allows.
         */
        daily_ceiling: number
        /**
         * Format: int64
         * @description Days on which that is exceeded.
         */
        days_over_ceiling: number
        /**
         * Format: int64
         * @description Deliveries that would have been withheld.
         */
        over_ceiling: number
        /**
         * Format: int64
         * @description Requests for the feeds of the filter, unless other monitors share them.
         */
        polls_per_day: number
      }
      /** @description With compare: the second filter beside the first. */
      compare?: {
        /** @description The second filter. */
        filter_spec: {
          [key: string]: unknown
        }
        /**
         * Format: int64
         * @description Its matches.
         */
        matched: number
        /**
         * Format: int64
         * @description Items that both filters match.
         */
        both: number
        /**
         * Format: int64
         * @description Items that only the first filter matches.
         */
        only_first: number
        /**
         * Format: int64
         * @description Items that only the second filter matches.
         */
        only_second: number
        /** @description Items that one filter matches and the other does not. */
        samples: {
          /** @description The newest of them. */
          only_first: {
            [key: string]: unknown
          }[]
          /** @description The newest of them. */
          only_second: {
            [key: string]: unknown
          }[]
        }
        /** @description Every day of the window, oldest first. */
        days: {
          /**
           * Format: date
           * @description Day of UTC.
           */
          date: string
          /**
           * Format: int64
           * @description Matches created on it.
           */
          matched: number
        }[]
      } | null
    }
    Judgement: {
      /**
       * @description unjudged: delivered without a verdict. waiting: there is none yet.
       * @enum {string}
       */
      outcome: 'relevant' | 'irrelevant' | 'unjudged' | 'waiting'
      /** @description From 0, not relevant, to 1. */
      score: number | null
      /** @description Minimum of the monitor at that time. */
      min_score: number | null
      /** @description The model's words. */
      reason: string | null
      /** @description Name of the model. */
      model: string | null
      /** @description Why there is no verdict. */
      fault:
        | (
            | 'not_configured'
            | 'unreachable'
            | 'timeout'
            | 'refused'
            | 'too_large'
            | 'invalid_answer'
            | 'too_slow'
            | 'limit_calls'
          )
        | null
      /**
       * Format: date-time
       * @description While waiting: since when.
       */
      at: string
      /**
       * Format: date-time
       * @description When it is judged, or judged again; null: it has a result.
       */
      next_attempt_at: string | null
    }
    MonitorWhyAnswer: {
      /** @description Id of the monitor. */
      monitor_id: string
      items: {
        /** @description Id of the item. */
        item_id: string
        /** @enum {string} */
        outcome:
          | 'matched'
          | 'collecting'
          | 'waiting'
          | 'judging'
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
          streams: ({
            /** @description Identifier, unique among objects of this kind. */
            id: string
            /**
             * @description Kind of the object.
             * @enum {string}
             */
            kind:
              'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments' | 'all'
            /** @description Name of the subforum; null: the stream is not of one. */
            subforum: string | null
            /** Format: date-time */
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
              criterion: string
              /** @enum {string} */
              verdict: 'met' | 'not_met' | 'later' | 'withheld'
              /** @description Part of the item that was checked. */
              detail: string
            }[]
          | null
        /** @description Language, intent, sentiment and relevance of the item; null: not computed. */
        enrichment: {
          [key: string]: unknown
        } | null
        /** @description Result of the operator's model; null: it was not to judge the item. */
        judgement: components['schemas']['Judgement'] | null
      }[]
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
        gate: {
          /** @enum {string} */
          verdict: 'let_through' | 'suppressed'
          /** @description Explanation; null: none. */
          reason: string | null
          /** @description Numbers behind the decision; null: none. */
          figures: {
            [key: string]: unknown
          } | null
        }
        last_error: string | null
        /** Format: date-time */
        created_at: string
        delivered_at: string | null
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
          /** Format: date-time */
          started_at: string
          /** Format: int64 */
          duration_ms: number
          status_code: number | null
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
    Proxy:
      | string
      | {
          /** @description Address of the proxy, such as http://host:port. */
          server: string
          /** @description User name for the proxy; null: none. */
          username?: string | null
          /** @description Password for the proxy; null: none. */
          password?: string | null
        }
    AttentionInput: {
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
    }
    RelevanceInput: {
      /** @description Describes to the model which items are relevant. */
      prompt: string
      /**
       * @description Matches with a lower score are suppressed as irrelevant.
       * @default 0.5
       */
      min_score?: number
      /**
       * @description While the model cannot judge, or a limit of the day is reached: deliver without a verdict, or hold until there is one.
       * @default deliver
       * @enum {string}
       */
      when_down?: 'deliver' | 'hold'
    }
  }
  responses: {
    /** @description rate_limited */
    Status429RateLimited: {
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
    Status500InternalError: {
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
    /** @description Missing Bearer token */
    Status401MissingBearerToken: {
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
    Status403InvalidToken: {
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
    /** @description overloaded */
    Status503Overloaded: {
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
    /** @description INVALID_REQUEST */
    Status400InvalidRequest: {
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
    /** @description Insufficient credits */
    Status402InsufficientCredits: {
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
    Status403InvalidTokenFeatureDisabledPermissionDenied: {
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
    Status413BodyTooLarge: {
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
    /** @description NOT_SUPPORTED_BY_SOURCE */
    Status501NotSupportedBySource: {
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
    /** @description INVALID_REQUEST, INVALID_FIELD, INVALID_PROXY, INCOMPLETE_SESSION, SESSION_REQUIRED */
    Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired: {
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
    Status401MissingBearerTokenReauthRequired: {
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
    /** @description Invalid token, FEATURE_DISABLED, PERMISSION_DENIED, BANNED_FROM_SUBFORUM */
    Status403InvalidTokenFeatureDisabledPermissionDeniedBannedFromSubforum: {
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
    Status404NotFound: {
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
    Status408UpstreamTimeout: {
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
    Status409IdempotencyMismatchInProgressThreadLockedArchived: {
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
    /** @description UPSTREAM_BLOCKED, PROXY_ERROR, FORUM_REJECTED, FORUM_RATELIMIT, OUTCOME_UNKNOWN */
    Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown: {
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
    Status503UpstreamUnavailableStorageUnavailableOverloaded: {
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
    /** @description IDEMPOTENCY_MISMATCH, IN_PROGRESS */
    Status409IdempotencyMismatchInProgress: {
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
    /** @description INVALID_REQUEST, INCOMPLETE_SESSION, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
    Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy: {
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
    /** @description Invalid token, PERMISSION_DENIED */
    Status403InvalidTokenPermissionDenied: {
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
    /** @description rate_limited, HTTP_429, too_many_concurrent_reads */
    Status429RateLimitedHttp429TooManyConcurrentReads: {
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
    /** @description PROXY_ERROR */
    Status502ProxyError: {
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
    /** @description storage_unavailable, overloaded */
    Status503StorageUnavailableOverloaded: {
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
    /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, PROXY_WITHOUT_SESSION, INVALID_FIELD, INVALID_PROXY */
    Status400InvalidRequestIncompleteSessionSessionRequiredProxyWithoutSessionInvalidFieldInvalidProxy: {
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
    /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, PROXY_AS_COOKIE */
    Status400InvalidRequestIncompleteSessionSessionRequiredInvalidFieldProxyAsCookie: {
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
    /** @description PROXY_ERROR, UPSTREAM_ERROR */
    Status502ProxyErrorUpstreamError: {
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
    /** @description NOT_FOUND, NOT_FOUND */
    Status404NotFoundNotFound: {
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
    /** @description upstream_unavailable, overloaded */
    Status503UpstreamUnavailableOverloaded: {
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
    /** @description INVALID_REQUEST, subforum_not_found, subforum_reserved, webhook_not_found, webhook_paused */
    Status400InvalidRequestSubforumNotFoundSubforumReservedWebhookNotFoundWebhookPaused: {
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
  }
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
          'application/json': components['schemas']['HealthAnswer']
        }
      }
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
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
          'application/json': components['schemas']['ReadyAnswer']
        }
      }
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
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
           *       "status": "ok",
           *       "problems": [
           *         {
           *           "kind": "storage",
           *           "severity": "error",
           *           "subject": {
           *             "id": "wh_0199a000-0000-7000-8000-000000000002",
           *             "name": "crm"
           *           },
           *           "since": "2026-01-31T11:58:00.000Z",
           *           "message": "Webhook crm is failing: 3 deliveries are tried again (http_503)",
           *           "fix": "Repair the receiver and test the webhook"
           *         }
           *       ],
           *       "truncated": false
           *     }
           */
          'application/json': components['schemas']['AccountProblemsAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  accountActivity: {
    parameters: {
      query?: {
        /** @description The counted period up to now: 24 hours or 7 days by hour, or 30 days by day of UTC, each with the current one. */
        period?: '24h' | '7d' | '30d'
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
           *       "bucket": "hour",
           *       "buckets": [
           *         {
           *           "start": "2026-01-31T11:58:00.000Z",
           *           "matches": 1,
           *           "delivered": 1,
           *           "failed": 1
           *         }
           *       ],
           *       "newest": [
           *         {
           *           "matched_at": "2026-01-31T11:58:00.000Z",
           *           "monitors": [
           *             {
           *               "id": "mon_0199a000-0000-7000-8000-000000000001",
           *               "name": "grinders"
           *             }
           *           ],
           *           "item": {
           *             "kind": "post",
           *             "id": "1abcde",
           *             "name": "t3_1abcde",
           *             "title": "Which grinder would you buy?",
           *             "author": "example_user",
           *             "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *             "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *             "created": "2026-01-31T11:58:00.000Z",
           *             "text": "Mine broke after ten years. I am looking for one for espresso.",
           *             "enrichment": {
           *               "relevance": {
           *                 "score": 0.5,
           *                 "matched_terms": [
           *                   "grinder"
           *                 ],
           *                 "considered_terms": 2,
           *                 "method": "keyword_match_heuristic"
           *               },
           *               "intent": {
           *                 "tag": "recommendation_request",
           *                 "method": "rule_based_heuristic"
           *               }
           *             }
           *           }
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['AccountActivityAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *       "credits_remaining": 1,
           *       "credits_used": 1,
           *       "total_requests": 1,
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "monitors": {
           *         "used": 1,
           *         "total": 1,
           *         "cadence_s": 60
           *       }
           *     }
           */
          'application/json': components['schemas']['AccountMeAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *           "amount_usd": 1,
           *           "note": null,
           *           "created_at": "2026-01-31T11:58:00.000Z"
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['AccountPaymentsAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *           "calls": 1,
           *           "billed_calls": 1,
           *           "cost_usd": 1,
           *           "errors": 1,
           *           "start": "2026-01-31T11:58:00.000Z",
           *           "by_tier": {
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
           *         "calls": 1,
           *         "billed_calls": 1,
           *         "cost_usd": 1,
           *         "errors": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['AccountUsageAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *       "link_karma": 1,
           *       "comment_karma": 1,
           *       "cookies": {
           *         "forum_session": "eyJhbGciOi…"
           *       },
           *       "expires": {
           *         "loid": null
           *       }
           *     }
           */
          'application/json': components['schemas']['LoginAnswer']
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
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
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
          proxy?: components['schemas']['Proxy']
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
           *       "comment_id": "t1_n3k01ab",
           *       "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "comment": {
           *         "id": "n3k01ab",
           *         "name": "t1_n3k01ab",
           *         "author": "example_user",
           *         "body": "Get one with flat burrs, and a spare burr set.",
           *         "subforum": "coffee",
           *         "upvotes": 42,
           *         "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "post_id": "1abcde",
           *         "link_title": "Which grinder would you buy?",
           *         "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "created": "2026-01-31T11:58:00.000Z",
           *         "created_utc": 1769860680,
           *         "parent_id": "t3_1abcde",
           *         "is_submitter": false,
           *         "depth": 1,
           *         "edited": false,
           *         "over_18": false,
           *         "author_info": {
           *           "fullname": "t2_1abcd",
           *           "flair": "Gear",
           *           "premium": false
           *         }
           *       },
           *       "transport": "http"
           *     }
           */
          'application/json': components['schemas']['CommentAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDeniedBannedFromSubforum']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgressThreadLockedArchived']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
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
          proxy?: components['schemas']['Proxy']
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
           *       "comment_id": "t1_n3k01ab",
           *       "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "comment": {
           *         "id": "n3k01ab",
           *         "name": "t1_n3k01ab",
           *         "author": "example_user",
           *         "body": "Get one with flat burrs, and a spare burr set.",
           *         "subforum": "coffee",
           *         "upvotes": 42,
           *         "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "post_id": "1abcde",
           *         "link_title": "Which grinder would you buy?",
           *         "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "created": "2026-01-31T11:58:00.000Z",
           *         "created_utc": 1769860680,
           *         "parent_id": "t3_1abcde",
           *         "is_submitter": false,
           *         "depth": 1,
           *         "edited": false,
           *         "over_18": false,
           *         "author_info": {
           *           "fullname": "t2_1abcd",
           *           "flair": "Gear",
           *           "premium": false
           *         }
           *       },
           *       "transport": "http"
           *     }
           */
          'application/json': components['schemas']['CommentV2Answer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDeniedBannedFromSubforum']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgressThreadLockedArchived']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
          'application/json': components['schemas']['VoteAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
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
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
          /** @description Name of the recipient, without prefix. */
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
          'application/json': components['schemas']['DmAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *           "with": "another_user",
           *           "subject": "Beans",
           *           "unread": false,
           *           "message_count": 1,
           *           "last_message_at": "2026-01-31T11:58:00.000Z",
           *           "last_message": "They came today.",
           *           "channel": "mail"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "missing": []
           *     }
           */
          'application/json': components['schemas']['DmThreadsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *           "id": "t4_2abcde",
           *           "thread_id": "t4_2abcde",
           *           "from": "example_user",
           *           "to": "another_user",
           *           "subject": "Beans",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "unread": false
           *         }
           *       ],
           *       "after": "t3_1abcde"
           *     }
           */
          'application/json': components['schemas']['DmMessagesAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
          'application/json': components['schemas']['ProfileDescriptionAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *       "display_name": "Ada"
           *     }
           */
          'application/json': components['schemas']['ProfileDisplayNameAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/"
           *     }
           */
          'application/json': components['schemas']['ProfileAvatarAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          proxy?: components['schemas']['Proxy']
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
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/"
           *     }
           */
          'application/json': components['schemas']['ProfileBannerAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestInvalidFieldInvalidProxyIncompleteSessionSessionRequired']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenFeatureDisabledPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      409: components['responses']['Status409IdempotencyMismatchInProgress']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502UpstreamBlockedProxyErrorForumRejectedForumRatelimitOutcomeUnknown']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['PostsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['SubTopAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *         "flair": "Gear",
           *         "premium": false
           *       }
           *     }
           */
          'application/json': components['schemas']['Post']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
          'application/json': components['schemas']['PostVisibilityAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
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
          'application/json': components['schemas']['ByIdAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete",
           *       "meta": {
           *         "scanned": 1,
           *         "kept": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['SearchAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "title": "Coffee",
           *           "description": "Mostly beans.",
           *           "subscribers": 1204551,
           *           "active_users": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://media.forum.example/grinder.jpg",
           *           "banner_url": "https://media.forum.example/grinder.jpg",
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['SearchCommunitiesAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete",
           *       "meta": {
           *         "searched": 1,
           *         "comments_scanned": 1,
           *         "truncated": false
           *       }
           *     }
           */
          'application/json': components['schemas']['SearchCommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "score": 1,
           *           "author": "example_user",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
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
           *               "flair": "Gear",
           *               "premium": false
           *             }
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "meta": {
           *         "truncated": false,
           *         "capped": false,
           *         "posts_expanded": 1,
           *         "comments_scanned": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['SearchCommentsDeepAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
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
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "link_url": null,
           *           "upvote_ratio": 0.97,
           *           "over_18": false,
           *           "spoiler": false,
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
           *             "flair": "Gear",
           *             "premium": false
           *           },
           *           "media": {
           *             "kind": "image",
           *             "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *             "width": 1,
           *             "height": 1,
           *             "items": [
           *               {
           *                 "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *                 "width": 1,
           *                 "height": 1
           *               }
           *             ],
           *             "duration_s": 1,
           *             "thumbnail_url": null
           *           }
           *         }
           *       ],
           *       "scanned": 1,
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['SearchMediaAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "link_karma": 1,
           *           "comment_karma": 1,
           *           "total_karma": 4857,
           *           "verified": false,
           *           "is_employee": false,
           *           "is_mod": false,
           *           "is_suspended": false,
           *           "over_18": false,
           *           "display_name": "Ada",
           *           "description": "Mostly beans.",
           *           "avatar_url": "https://media.forum.example/grinder.jpg",
           *           "banner_url": "https://media.forum.example/grinder.jpg"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['SearchUsersAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "flair": "Gear",
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "author": "example_user",
           *             "body": "Get one with flat burrs.",
           *             "score": 7
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['CommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "flair": "Gear",
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "author": "example_user",
           *             "body": "Get one with flat burrs.",
           *             "score": 7
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['PostCommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "flair": "Gear",
           *           "premium": false
           *         }
           *       },
           *       "comments": [
           *         {
           *           "kind": "t1",
           *           "data": {
           *             "id": "n3k01ab",
           *             "author": "example_user",
           *             "body": "Get one with flat burrs.",
           *             "score": 7
           *           }
           *         }
           *       ],
           *       "after": null,
           *       "meta": {
           *         "truncated": false,
           *         "more_count": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['CommentsOfPostAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "author": "example_user",
           *           "body": "Get one with flat burrs.",
           *           "score": 7
           *         }
           *       }
           *     }
           */
          'application/json': components['schemas']['CommentByIdAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['VerifyCommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
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
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "created": "2026-01-31T11:58:00.000Z",
           *       "created_utc": 1769860680,
           *       "link_karma": 1,
           *       "comment_karma": 1,
           *       "total_karma": 4857,
           *       "verified": false,
           *       "is_employee": false,
           *       "is_mod": false,
           *       "is_suspended": false,
           *       "over_18": false,
           *       "display_name": "Ada",
           *       "description": "Mostly beans.",
           *       "avatar_url": "https://media.forum.example/grinder.jpg",
           *       "banner_url": "https://media.forum.example/grinder.jpg"
           *     }
           */
          'application/json': components['schemas']['User']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "author": "example_user",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "subforum": "coffee",
           *           "upvotes": 42,
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "post_id": "1abcde",
           *           "link_title": "Which grinder would you buy?",
           *           "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "parent_id": "t3_1abcde",
           *           "is_submitter": false,
           *           "depth": 1,
           *           "edited": false,
           *           "over_18": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserCommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserSubmittedAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "id": "1abcde",
           *           "name": "7-Year Club",
           *           "description": "Mostly beans.",
           *           "icon_url": "https://media.forum.example/grinder.jpg",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "granted": "2026-01-31T11:58:00.000Z"
           *         }
           *       ],
           *       "count": 1
           *     }
           */
          'application/json': components['schemas']['UserAchievementsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *       "title": "Coffee",
           *       "description": "Mostly beans.",
           *       "subscribers": 1204551,
           *       "active_users": 1,
           *       "created": "2026-01-31T11:58:00.000Z",
           *       "created_utc": 1769860680,
           *       "type": "public",
           *       "over_18": false,
           *       "quarantined": false,
           *       "url": "https://www.forum.example/r/coffee/",
           *       "icon_url": "https://media.forum.example/grinder.jpg",
           *       "banner_url": "https://media.forum.example/grinder.jpg",
           *       "language": "en"
           *     }
           */
          'application/json': components['schemas']['Community']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "author": "example_user",
           *           "body": "Get one with flat burrs, and a spare burr set.",
           *           "subforum": "coffee",
           *           "upvotes": 42,
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "post_id": "1abcde",
           *           "link_title": "Which grinder would you buy?",
           *           "link_url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "parent_id": "t3_1abcde",
           *           "is_submitter": false,
           *           "depth": 1,
           *           "edited": false,
           *           "over_18": false,
           *           "author_info": {
           *             "fullname": "t2_1abcd",
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['SubCommentsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "description": "Mostly beans.",
           *           "applies_to": "post",
           *           "violation_reason": "Asked before",
           *           "priority": 1,
           *           "created": "2026-01-31T11:58:00.000Z"
           *         }
           *       ],
           *       "site_rules": [
           *         "Spam"
           *       ]
           *     }
           */
          'application/json': components['schemas']['SubRulesAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *       "content_md": "# Coffee",
           *       "content_html": "<h1>Coffee</h1>",
           *       "revision_id": "16154095-18d5-11ee-9e1c-409518d5e7a3",
           *       "revision_date": "2026-01-31T11:58:00.000Z",
           *       "revised_by": "example_user",
           *       "reason": null
           *     }
           */
          'application/json': components['schemas']['SubWikiAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "title": "Coffee",
           *           "description": "Mostly beans.",
           *           "subscribers": 1204551,
           *           "active_users": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://media.forum.example/grinder.jpg",
           *           "banner_url": "https://media.forum.example/grinder.jpg",
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['PopularDirectoryAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "title": "Coffee",
           *           "description": "Mostly beans.",
           *           "subscribers": 1204551,
           *           "active_users": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://media.forum.example/grinder.jpg",
           *           "banner_url": "https://media.forum.example/grinder.jpg",
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['NewDirectoryAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "title": "Coffee",
           *           "description": "Mostly beans.",
           *           "subscribers": 1204551,
           *           "active_users": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "created_utc": 1769860680,
           *           "type": "public",
           *           "over_18": false,
           *           "quarantined": false,
           *           "url": "https://www.forum.example/r/coffee/",
           *           "icon_url": "https://media.forum.example/grinder.jpg",
           *           "banner_url": "https://media.forum.example/grinder.jpg",
           *           "language": "en"
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['DefaultDirectoryAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['FeedAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "added": "example_user"
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['SubModeratorsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredProxyWithoutSessionInvalidFieldInvalidProxy']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserUpvotedAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredInvalidFieldProxyAsCookie']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyErrorUpstreamError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserSavedAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredInvalidFieldProxyAsCookie']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyErrorUpstreamError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserHiddenAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredInvalidFieldProxyAsCookie']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyErrorUpstreamError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *             "flair": "Gear",
           *             "premium": false
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "listing_status": "complete"
           *     }
           */
          'application/json': components['schemas']['UserGildedAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestIncompleteSessionSessionRequiredInvalidFieldProxyAsCookie']
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidTokenPermissionDenied']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimitedHttp429TooManyConcurrentReads']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      502: components['responses']['Status502ProxyErrorUpstreamError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "action": "comment",
           *           "body": {
           *             "id": "t3_1abcde",
           *             "direction": "up"
           *           },
           *           "source": "hn",
           *           "status": "waiting",
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "expires_at": "2026-01-31T11:58:00.000Z",
           *           "decided_at": "2026-01-31T11:58:00.000Z",
           *           "customer": {
           *             "id": "cus_0199a000-0000-7000-8000-000000000003",
           *             "name": "acme"
           *           },
           *           "answer": {
           *             "success": true,
           *             "id": "t3_1abcde",
           *             "direction": "up"
           *           }
           *         }
           *       ],
           *       "count": 1,
           *       "limit": 1,
           *       "next_cursor": null
           *     }
           */
          'application/json': components['schemas']['ListDraftsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          /** @description Name of the source to act on; absent or null: the source of the accounts. */
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
           *       "action": "comment",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": "hn",
           *       "status": "waiting",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "expires_at": "2026-01-31T11:58:00.000Z",
           *       "decided_at": "2026-01-31T11:58:00.000Z",
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
          'application/json': components['schemas']['Draft']
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
      401: components['responses']['Status401MissingBearerToken']
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
      404: components['responses']['Status404NotFound']
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
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "action": "comment",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": "hn",
           *       "status": "waiting",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "expires_at": "2026-01-31T11:58:00.000Z",
           *       "decided_at": "2026-01-31T11:58:00.000Z",
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
          'application/json': components['schemas']['Draft']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFoundNotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *       "action": "comment",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": "hn",
           *       "status": "waiting",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "expires_at": "2026-01-31T11:58:00.000Z",
           *       "decided_at": "2026-01-31T11:58:00.000Z",
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
          'application/json': components['schemas']['Draft']
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
      401: components['responses']['Status401MissingBearerTokenReauthRequired']
      402: components['responses']['Status402InsufficientCredits']
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
      404: components['responses']['Status404NotFoundNotFound']
      408: components['responses']['Status408UpstreamTimeout']
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
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
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
      503: components['responses']['Status503UpstreamUnavailableOverloaded']
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
           *       "action": "comment",
           *       "body": {
           *         "id": "t3_1abcde",
           *         "direction": "up"
           *       },
           *       "source": "hn",
           *       "status": "waiting",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "expires_at": "2026-01-31T11:58:00.000Z",
           *       "decided_at": "2026-01-31T11:58:00.000Z",
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
          'application/json': components['schemas']['Draft']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFoundNotFound']
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
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *           "state": {
           *             "status": "works",
           *             "fault": null,
           *             "since": "2026-01-31T11:58:00.000Z",
           *             "last_request_at": "2026-01-31T11:58:00.000Z",
           *             "requests_last_minute": 1,
           *             "requests_per_minute": 1
           *           },
           *           "ends_at": "2026-01-31T11:58:00.000Z"
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['SourcesAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          filter_spec: components['schemas']['Filter']
          /** @description The webhooks to deliver to. Null or empty: every active one, unless targets is none. */
          webhook_ids?: string[] | null
          /**
           * @description none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.
           * @enum {string}
           */
          targets?: 'all' | 'listed' | 'none'
          /** @description Label for lists and messages; null: none. */
          name?: string | null
          /**
           * Format: int64
           * @description Requested interval of the checks, in seconds.
           */
          cadence_s?: number
          /** @description Quiet hours, digests and alarms. Replaces all rules at once; null removes them. */
          attention?: components['schemas']['AttentionInput'] | null
          /** @description Matches are judged by the operator's model before they are delivered. Replaces all rules at once; null removes them. */
          relevance?: components['schemas']['RelevanceInput'] | null
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
           *       "filter_spec": {},
           *       "cadence_s": 60,
           *       "requested_cadence_s": null,
           *       "raised": false,
           *       "webhook_ids": [
           *         "wh_0199a000-0000-7000-8000-000000000002"
           *       ],
           *       "targets": "all",
           *       "active": true,
           *       "pause_reason": null,
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "updated_at": "2026-01-31T11:58:00.000Z",
           *       "last_match_at": "2026-01-31T11:58:00.000Z",
           *       "attention": {
           *         "time_zone": "UTC",
           *         "quiet_hours": [],
           *         "digest": null,
           *         "targets": [],
           *         "silent_after_h": null,
           *         "alarm_on_degraded": false,
           *         "escalate": null
           *       },
           *       "relevance": null,
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0m",
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
          'application/json': components['schemas']['MonitorAddAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestSubforumNotFoundSubforumReservedWebhookNotFoundWebhookPaused']
      401: components['responses']['Status401MissingBearerToken']
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
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *           "filter_spec": {},
           *           "cadence_s": 60,
           *           "requested_cadence_s": null,
           *           "raised": false,
           *           "webhook_ids": [
           *             "wh_0199a000-0000-7000-8000-000000000002"
           *           ],
           *           "targets": "all",
           *           "active": true,
           *           "pause_reason": null,
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "updated_at": "2026-01-31T11:58:00.000Z",
           *           "last_match_at": "2026-01-31T11:58:00.000Z",
           *           "attention": {
           *             "time_zone": "UTC",
           *             "quiet_hours": [],
           *             "digest": null,
           *             "targets": [],
           *             "silent_after_h": null,
           *             "alarm_on_degraded": false,
           *             "escalate": null
           *           },
           *           "relevance": null,
           *           "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0m",
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
           *         "total": 1,
           *         "tier": "entry",
           *         "sitewide_used": 1,
           *         "sitewide_total": 1
           *       }
           *     }
           */
          'application/json': components['schemas']['MonitorListAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          filter_spec?: components['schemas']['Filter']
          /** @description False while it is paused or disabled. */
          active?: boolean
          /** @description The webhooks to deliver to. Null or empty: every active one, unless targets is none. */
          webhook_ids?: string[] | null
          /**
           * @description none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.
           * @enum {string}
           */
          targets?: 'all' | 'listed' | 'none'
          /** @description Label for lists and messages; null: none. */
          name?: string | null
          /**
           * Format: int64
           * @description Requested interval of the checks, in seconds.
           */
          cadence_s?: number
          /** @description Quiet hours, digests and alarms. Replaces all rules at once; null removes them. */
          attention?: components['schemas']['AttentionInput'] | null
          /** @description Matches are judged by the operator's model before they are delivered. Replaces all rules at once; null removes them. */
          relevance?: components['schemas']['RelevanceInput'] | null
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
           *       "filter_spec": {},
           *       "cadence_s": 60,
           *       "requested_cadence_s": null,
           *       "raised": false,
           *       "webhook_ids": [
           *         "wh_0199a000-0000-7000-8000-000000000002"
           *       ],
           *       "targets": "all",
           *       "active": true,
           *       "pause_reason": null,
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "updated_at": "2026-01-31T11:58:00.000Z",
           *       "last_match_at": "2026-01-31T11:58:00.000Z",
           *       "attention": {
           *         "time_zone": "UTC",
           *         "quiet_hours": [],
           *         "digest": null,
           *         "targets": [],
           *         "silent_after_h": null,
           *         "alarm_on_degraded": false,
           *         "escalate": null
           *       },
           *       "relevance": null,
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0m",
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
          'application/json': components['schemas']['MonitorUpdateAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequestSubforumNotFoundSubforumReservedWebhookNotFoundWebhookPaused']
      401: components['responses']['Status401MissingBearerToken']
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
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
          'application/json': components['schemas']['MonitorRemoveAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
          'application/json': components['schemas']['MonitorAcknowledgeAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "daily_delivery_ceiling": 10000,
           *       "delivered_24h": 1,
           *       "failed_24h": 1,
           *       "rejected_24h": 1,
           *       "suppressed_24h": 1,
           *       "suppressed_breakdown": {
           *         "ceiling": 1,
           *         "stale": 1,
           *         "low_relevance": 1,
           *         "irrelevant": 1,
           *         "unknown": 1,
           *         "sampled": 1,
           *         "sample_truncated": false,
           *         "resolved": true,
           *         "unresolved_reason": null
           *       },
           *       "ceiling_reached": false,
           *       "last_match_at": "2026-01-31T11:58:00.000Z",
           *       "coverage_24h": {
           *         "status": "complete",
           *         "reason": null,
           *         "proof": [
           *           "time_listing"
           *         ],
           *         "since": "2026-01-31T11:58:00.000Z",
           *         "audited_until": "2026-01-31T11:58:00.000Z",
           *         "audit_interval_s": 600,
           *         "gaps": [
           *           {
           *             "stream": "posts:coffee",
           *             "reason": "poll_overflow",
           *             "at": "2026-01-31T11:58:00.000Z",
           *             "from": "2026-01-31T11:58:00.000Z",
           *             "until": "2026-01-31T11:58:00.000Z",
           *             "missed_estimate": 1,
           *             "from_id": 1,
           *             "to_id": 1,
           *             "healed_at": "2026-01-31T11:58:00.000Z"
           *           }
           *         ],
           *         "gaps_returned": 1,
           *         "gaps_truncated": false,
           *         "gap_events_24h": 1,
           *         "gaps_open": 1,
           *         "posts_in_window_at_least": 1,
           *         "posts_missed_estimate": 1,
           *         "observed_events": [
           *           {
           *             "kind": "poll_overflow",
           *             "at": "2026-01-31T11:58:00.000Z",
           *             "until": "2026-01-31T11:58:00.000Z",
           *             "stream": "posts:coffee"
           *           }
           *         ],
           *         "unobserved_events": []
           *       },
           *       "stream_liveness": {
           *         "status": "live",
           *         "reason": null,
           *         "streams": [
           *           {
           *             "id": "posts:coffee",
           *             "reason": "poll_overflow"
           *           }
           *         ]
           *       },
           *       "cadence": {
           *         "promised_cadence_s": 60,
           *         "requested_cadence_s": null,
           *         "meets_entitlement": true,
           *         "last_checked_s_ago": 1,
           *         "freshness_ratio": 0.37,
           *         "within_margin": true,
           *         "slowest_stream": "posts:coffee",
           *         "unknown_reason": null
           *       },
           *       "alarms": []
           *     }
           */
          'application/json': components['schemas']['MonitorHealthAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  getForumMonitorCoverage: {
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
           *       "id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "from": "2026-01-31",
           *       "to": "2026-01-31",
           *       "days": [
           *         {
           *           "day": "2026-01-31",
           *           "complete_s": 1,
           *           "not_verified_s": 1,
           *           "unwatched_s": 1,
           *           "gaps": [
           *             {
           *               "from": "2026-01-31T11:58:00.000Z",
           *               "until": "2026-01-31T11:58:00.000Z",
           *               "status": "degraded",
           *               "reason": "poll_overflow"
           *             }
           *           ]
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['MonitorCoverageAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          /** @description Label for lists and messages; null: none. */
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
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "active": true,
           *       "paused_at": null,
           *       "pause_reason": null,
           *       "name": "crm",
           *       "max_per_second": 1,
           *       "ordered": false,
           *       "events": [
           *         "match"
           *       ]
           *     }
           */
          'application/json': components['schemas']['Webhook']
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
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "old_secret_until": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['MonitorWebhookRotateAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
            | 'mattermost'
          /** @description Address. */
          url: string
          /** @description Label for lists and messages; null: none. */
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
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "active": true,
           *       "paused_at": null,
           *       "pause_reason": null,
           *       "name": "crm",
           *       "max_per_second": 1,
           *       "ordered": false,
           *       "events": [
           *         "match"
           *       ],
           *       "secret": "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=",
           *       "kind_inferred_from": null
           *     }
           */
          'application/json': components['schemas']['MonitorWebhookCreateAnswer']
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
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "active": true,
           *           "paused_at": null,
           *           "pause_reason": null,
           *           "name": "crm",
           *           "max_per_second": 1,
           *           "ordered": false,
           *           "events": [
           *             "match"
           *           ],
           *           "health": {
           *             "state": "unused",
           *             "failing_since": null,
           *             "success_rate_24h": 1,
           *             "succeeded_24h": 1,
           *             "failed_24h": 1,
           *             "last_success_at": "2026-01-31T11:58:00.000Z",
           *             "last_failure": {
           *               "at": "2026-01-31T11:58:00.000Z",
           *               "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *               "reason": "http_503",
           *               "status_code": 503,
           *               "body_start": "out of workers"
           *             },
           *             "waiting": 1,
           *             "retrying": 1,
           *             "next_attempt_at": null,
           *             "hours": {
           *               "succeeded": [
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1
           *               ],
           *               "failed": [
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1,
           *                 1
           *               ]
           *             }
           *           }
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['MonitorWebhookListAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *       "status_code": 503,
           *       "status": 1,
           *       "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *       "duration_ms": 1,
           *       "reason": null,
           *       "hint": null,
           *       "detail": "grinder",
           *       "body_start": "out of workers"
           *     }
           */
          'application/json': components['schemas']['MonitorWebhookTestAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "deleted": false,
           *       "id": "wh_0199a000-0000-7000-8000-000000000002"
           *     }
           */
          'application/json': components['schemas']['MonitorWebhookDeleteAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "enrichment": {
           *             "relevance": {
           *               "score": 0.5,
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "considered_terms": 2,
           *               "method": "keyword_match_heuristic"
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
          'application/json': components['schemas']['MonitorItemsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxList: {
    parameters: {
      query?: {
        /** @description Id of a monitor that matched it. */
        monitor?: string
        /** @description Label of the items. */
        label?: string
        /** @description Name of the source of the items. */
        source?: string
        /** @description Place of the items, such as a community; case is ignored. */
        place?: string
        /** @description Author of the items; case is ignored. */
        author?: string
        /** @description States of the items: one or several of unread, read, answered, dismissed, separated by commas. Default: all. */
        state?: string
        /** @description true: only starred items; false: only those without a star. */
        starred?: boolean
        /** @description Only items first matched at this time or later. */
        from?: string
        /** @description Only items first matched before this time. */
        to?: string
        /** @description Words that all occur in title or text, in any case. A page examines a bounded number of items. */
        text?: string
        /** @description Exactly these items, separated by commas. */
        ids?: string
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
           *       "items": [
           *         {
           *           "id": "t3_1abcde",
           *           "source": "hn",
           *           "kind": "post",
           *           "title": "Which grinder would you buy?",
           *           "excerpt": "Mine broke after ten years. I am looking for one for espresso.",
           *           "highlights": [
           *             {
           *               "in": "title",
           *               "start": 1,
           *               "end": 1
           *             }
           *           ],
           *           "matched_terms": [
           *             "grinder"
           *           ],
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "place": "coffee",
           *           "author": "example_user",
           *           "score": 1,
           *           "comments": 1,
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "sentiment": "neutral",
           *           "intent": "question",
           *           "relevance": null,
           *           "erased": false,
           *           "matched_at": "2026-01-31T11:58:00.000Z",
           *           "monitors": [
           *             {
           *               "id": "mon_0199a000-0000-7000-8000-000000000001",
           *               "name": "grinders",
           *               "removed": false,
           *               "matched_at": "2026-01-31T11:58:00.000Z",
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "judgement": null
           *             }
           *           ],
           *           "state": "unread",
           *           "starred": true,
           *           "label": "ann",
           *           "changed": {
           *             "at": "2026-01-31T11:58:00.000Z",
           *             "by": {
           *               "key_id": "key_0199a000-0000-7000-8000-000000000007",
           *               "name": "laptop"
           *             }
           *           }
           *         }
           *       ],
           *       "next_cursor": null,
           *       "examined_until": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['InboxListAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxIds: {
    parameters: {
      query?: {
        /** @description Id of a monitor that matched it. */
        monitor?: string
        /** @description Label of the items. */
        label?: string
        /** @description Name of the source of the items. */
        source?: string
        /** @description Place of the items, such as a community; case is ignored. */
        place?: string
        /** @description Author of the items; case is ignored. */
        author?: string
        /** @description States of the items: one or several of unread, read, answered, dismissed, separated by commas. Default: all. */
        state?: string
        /** @description true: only starred items; false: only those without a star. */
        starred?: boolean
        /** @description Only items first matched at this time or later. */
        from?: string
        /** @description Only items first matched before this time. */
        to?: string
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
           *       "ids": [
           *         "t3_1abcde"
           *       ],
           *       "next_cursor": null
           *     }
           */
          'application/json': components['schemas']['InboxIdsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxItem: {
    parameters: {
      query: {
        /** @description Id of an item of the inbox. */
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
           *       "id": "t3_1abcde",
           *       "source": "hn",
           *       "kind": "post",
           *       "title": "Which grinder would you buy?",
           *       "excerpt": "Mine broke after ten years. I am looking for one for espresso.",
           *       "highlights": [
           *         {
           *           "in": "title",
           *           "start": 1,
           *           "end": 1
           *         }
           *       ],
           *       "matched_terms": [
           *         "grinder"
           *       ],
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "place": "coffee",
           *       "author": "example_user",
           *       "score": 1,
           *       "comments": 1,
           *       "created": "2026-01-31T11:58:00.000Z",
           *       "sentiment": "neutral",
           *       "intent": "question",
           *       "relevance": null,
           *       "erased": false,
           *       "matched_at": "2026-01-31T11:58:00.000Z",
           *       "monitors": [
           *         {
           *           "id": "mon_0199a000-0000-7000-8000-000000000001",
           *           "name": "grinders",
           *           "removed": false,
           *           "matched_at": "2026-01-31T11:58:00.000Z",
           *           "matched_terms": [
           *             "grinder"
           *           ],
           *           "judgement": null
           *         }
           *       ],
           *       "state": "unread",
           *       "starred": true,
           *       "label": "ann",
           *       "changed": {
           *         "at": "2026-01-31T11:58:00.000Z",
           *         "by": {
           *           "key_id": "key_0199a000-0000-7000-8000-000000000007",
           *           "name": "laptop"
           *         }
           *       },
           *       "text": "Mine broke after ten years. I am looking for one for espresso."
           *     }
           */
          'application/json': components['schemas']['InboxItemAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxCounts: {
    parameters: {
      query?: {
        /** @description Id of a monitor that matched it. */
        monitor?: string
        /** @description Label of the items. */
        label?: string
        /** @description Name of the source of the items. */
        source?: string
        /** @description Place of the items, such as a community; case is ignored. */
        place?: string
        /** @description Author of the items; case is ignored. */
        author?: string
        /** @description States of the items: one or several of unread, read, answered, dismissed, separated by commas. Default: all. */
        state?: string
        /** @description true: only starred items; false: only those without a star. */
        starred?: boolean
        /** @description Only items first matched at this time or later. */
        from?: string
        /** @description Only items first matched before this time. */
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
           *       "unread": 1,
           *       "read": 1,
           *       "answered": 1,
           *       "dismissed": 1,
           *       "starred": 1,
           *       "total": 1,
           *       "complete": true,
           *       "labels": [
           *         {
           *           "label": "ann",
           *           "items": 1
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['InboxCountsAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxUpdate: {
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
         *       "ids": [
         *         "t3_1abcde"
         *       ],
         *       "set": {
         *         "state": "answered"
         *       }
         *     }
         */
        'application/json': {
          /** @description Ids to check, with or without prefix. */
          ids?: string[]
          /** @description Conditions on the items, all of which must be met. */
          filter?: {
            /** @description Id of a monitor that matched it. */
            monitor?: string
            /** @description Label of the items. */
            label?: string
            /** @description Name of the source of the items. */
            source?: string
            /** @description Place of the items, such as a community; case is ignored. */
            place?: string
            /** @description Author of the items; case is ignored. */
            author?: string
            /** @description State of the item: unread, read, answered or dismissed. */
            state?: ('unread' | 'read' | 'answered' | 'dismissed')[]
            /** @description True if it has a star. */
            starred?: boolean
            /**
             * Format: date-time
             * @description Sender of the message; null: unknown.
             */
            from?: string
            /**
             * Format: date-time
             * @description Name of the recipient, without prefix.
             */
            to?: string
          }
          /** @description The next_cursor of the last answer; absent: from the newest. */
          cursor?: string
          /** @description Values to set; absent ones stay. */
          set: {
            /**
             * @description State of the item: unread, read, answered or dismissed.
             * @enum {string}
             */
            state?: 'unread' | 'read' | 'answered' | 'dismissed'
            /** @description True if it has a star. */
            starred?: boolean
            /** @description Whom or what it is assigned to; null removes it. */
            label?: string | null
          }
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
           *       "action_id": "act_0199a000-0000-7000-8000-000000000008",
           *       "changed": 1,
           *       "unchanged": 1,
           *       "unknown_ids": [],
           *       "has_more": false,
           *       "next_cursor": null,
           *       "undo_until": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['InboxUpdateAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  inboxUndo: {
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
         *       "action_id": "act_0199a000-0000-7000-8000-000000000008"
         *     }
         */
        'application/json': {
          /** @description Id of the change, for its undoing. */
          action_id: string
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
           *       "action_id": "act_0199a000-0000-7000-8000-000000000008",
           *       "undone": "act_0199a000-0000-7000-8000-000000000009",
           *       "restored": 1,
           *       "skipped": 1
           *     }
           */
          'application/json': components['schemas']['InboxUndoAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  inboxHistory: {
    parameters: {
      query?: {
        /** @description Only changes by this key. */
        key_id?: string
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
           *       "actions": [
           *         {
           *           "action_id": "act_0199a000-0000-7000-8000-000000000008",
           *           "at": "2026-01-31T11:58:00.000Z",
           *           "by": {
           *             "key_id": "key_0199a000-0000-7000-8000-000000000007",
           *             "name": "laptop"
           *           },
           *           "kind": "update",
           *           "set": {
           *             "state": "unread"
           *           },
           *           "mute": {
           *             "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *             "field": "exclude_authors",
           *             "added": "example_user",
           *             "removed": null
           *           },
           *           "items": 1,
           *           "ids": [
           *             "t3_1abcde"
           *           ],
           *           "undoes": null,
           *           "undone_by": null,
           *           "can_undo": true
           *         }
           *       ],
           *       "next_cursor": null
           *     }
           */
          'application/json': components['schemas']['InboxHistoryAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  inboxMute: {
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
         *       "id": "t3_1abcde",
         *       "mute": "author"
         *     }
         */
        'application/json': {
          /** @description Identifier, unique among objects of this kind. */
          id: string
          /**
           * @description author, place or phrase: what to exclude.
           * @enum {string}
           */
          mute: 'author' | 'place' | 'phrase'
          /** @description Words to exclude, with mute phrase only. */
          phrase?: string
          /** @description Monitor to edit; required if several matched the item. */
          monitor_id?: string
          /**
           * @description true: change the filter; false: only show the edit and its effect.
           * @default false
           */
          apply?: boolean
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
           *       "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *       "monitor_name": "grinders",
           *       "applied": false,
           *       "action_id": "act_0199a000-0000-7000-8000-000000000008",
           *       "undo_until": "2026-01-31T11:58:00.000Z",
           *       "edit": {
           *         "field": "exclude_authors",
           *         "added": "example_user",
           *         "removed": null,
           *         "before": [],
           *         "after": [
           *           "example_user"
           *         ]
           *       },
           *       "effect": {
           *         "days": 1,
           *         "examined": 1,
           *         "complete": true,
           *         "removed": 1,
           *         "kept": 1,
           *         "samples": [
           *           {
           *             "id": "t3_1abcde",
           *             "title": "Which grinder would you buy?",
           *             "excerpt": "Mine broke after ten years. I am looking for one for espresso.",
           *             "place": "coffee",
           *             "author": "example_user",
           *             "matched_at": "2026-01-31T11:58:00.000Z"
           *           }
           *         ]
           *       }
           *     }
           */
          'application/json': components['schemas']['InboxMuteAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  inboxContext: {
    parameters: {
      query: {
        /** @description Id of an item of the inbox. */
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
           *       "id": "t3_1abcde",
           *       "post": {
           *         "id": "t3_1abcde",
           *         "kind": "post",
           *         "author": "example_user",
           *         "title": "Which grinder would you buy?",
           *         "text": "Mine broke after ten years. I am looking for one for espresso.",
           *         "score": 1,
           *         "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *         "created": "2026-01-31T11:58:00.000Z"
           *       },
           *       "ancestors": [
           *         {
           *           "id": "t3_1abcde",
           *           "kind": "post",
           *           "author": "example_user",
           *           "title": "Which grinder would you buy?",
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "score": 1,
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z"
           *         }
           *       ],
           *       "replies": [
           *         {
           *           "id": "t3_1abcde",
           *           "kind": "post",
           *           "author": "example_user",
           *           "title": "Which grinder would you buy?",
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "score": 1,
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z"
           *         }
           *       ],
           *       "found": true
           *     }
           */
          'application/json': components['schemas']['InboxContextAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      402: components['responses']['Status402InsufficientCredits']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      408: components['responses']['Status408UpstreamTimeout']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      501: components['responses']['Status501NotSupportedBySource']
      503: components['responses']['Status503UpstreamUnavailableOverloaded']
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
          'text/event-stream': components['schemas']['MonitorStreamAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
          'application/atom+xml': components['schemas']['MonitorFeedByTokenAnswer']
        }
      }
      /** @description Nothing has changed since. */
      304: {
        headers: {
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['Status400InvalidRequest']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
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
           *       "feed_url": "https://api.example.com/forum/monitor/feed/mon_0199a000-0000-7000-8000-000000000001~1~wTcG9f0m"
           *     }
           */
          'application/json': components['schemas']['MonitorFeedRotateAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *           "monitor_id": "mon_0199a000-0000-7000-8000-000000000001",
           *           "webhook_id": "wh_0199a000-0000-7000-8000-000000000002",
           *           "status": "delivered",
           *           "attempts": 1,
           *           "last_error": "http_503",
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "delivered_at": "2026-01-31T11:58:00.000Z",
           *           "retrying": false,
           *           "next_attempt_at": null,
           *           "held_until": null,
           *           "redeliver_refusal": null,
           *           "payload": {
           *             "count": 1,
           *             "grouped": false,
           *             "items": [
           *               {
           *                 "kind": "post",
           *                 "id": "1abcde",
           *                 "name": "t3_1abcde",
           *                 "title": "Which grinder would you buy?",
           *                 "author": "example_user",
           *                 "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *                 "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *                 "created": "2026-01-31T11:58:00.000Z",
           *                 "text": "Mine broke after ten years. I am looking for one for espresso.",
           *                 "enrichment": {
           *                   "relevance": {
           *                     "score": 0.5,
           *                     "matched_terms": [
           *                       "grinder"
           *                     ],
           *                     "considered_terms": 2,
           *                     "method": "keyword_match_heuristic"
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
          'application/json': components['schemas']['MonitorDeliveriesAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *       "queued": 1,
           *       "skipped": 1,
           *       "dry_run": false
           *     }
           */
          'application/json': components['schemas']['MonitorDeliveriesRedeliverAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  getForumMonitorDeliveriesRequest: {
    parameters: {
      query: {
        /** @description A delivery to a webhook of kind webhook. */
        delivery_id: string
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
           *       "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *       "method": "POST",
           *       "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *       "headers": {
           *         "content-type": "application/json"
           *       },
           *       "signed_at": "2026-01-31T11:58:00.000Z",
           *       "body": "{\"count\":1}",
           *       "attempts": [
           *         {
           *           "n": 1,
           *           "headers": {
           *             "content-type": "application/json"
           *           }
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['MonitorDeliveriesRequestAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
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
           *       "created_at": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['SendFeedbackAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
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
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
           *       "type": "bug",
           *       "title": "Weekly summaries",
           *       "details": "One mail a week with what a monitor matched.",
           *       "area": null,
           *       "evidence": null,
           *       "status": "triaged",
           *       "response": "On our list.",
           *       "created_at": "2026-01-31T11:58:00.000Z",
           *       "updated_at": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['FindFeedbackAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
  searchArchive: {
    parameters: {
      query?: {
        /** @description A phrase, or a boolean query as in a filter_spec: ("rate limit" OR throttl*) AND -hiring. */
        q?: string
        /** @description A filter_spec of a monitor as JSON text. Without source and kind it covers all of them; a field of the query must not be in it too. */
        filter_spec?: string
        /** @description Only items created at this time or later. */
        from?: string
        /** @description Only items created before this time. */
        to?: string
        /** @description Names of sources, separated by commas; absent: all. */
        source?: string
        /** @description Names, separated by commas. */
        subforum?: string
        /** @description Names, separated by commas. */
        author?: string
        /** @description Kind of items; absent: both. */
        kind?: 'post' | 'comment' | 'both'
        /** @description Minimum score when the item was last read. */
        min_score?: number
        /** @description The order of the rows. */
        sort?: 'newest'
        /** @description The after of the last answer, unchanged; absent: the first page. */
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
           *           "archived": {
           *             "first_seen": "2026-01-31T11:58:00.000Z",
           *             "last_seen": "2026-01-31T11:58:00.000Z",
           *             "versions": 1,
           *             "monitor_ids": [
           *               "mon_0199a000-0000-7000-8000-000000000001"
           *             ]
           *           }
           *         }
           *       ],
           *       "after": "t3_1abcde",
           *       "scanned": 1,
           *       "scanned_until": "2026-01-31T11:58:00.000Z"
           *     }
           */
          'application/json': components['schemas']['SearchArchiveAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  exportArchive: {
    parameters: {
      query?: {
        /** @description A phrase, or a boolean query as in a filter_spec: ("rate limit" OR throttl*) AND -hiring. */
        q?: string
        /** @description A filter_spec of a monitor as JSON text. Without source and kind it covers all of them; a field of the query must not be in it too. */
        filter_spec?: string
        /** @description Only items created at this time or later. */
        from?: string
        /** @description Only items created before this time. */
        to?: string
        /** @description Names of sources, separated by commas; absent: all. */
        source?: string
        /** @description Names, separated by commas. */
        subforum?: string
        /** @description Names, separated by commas. */
        author?: string
        /** @description Kind of items; absent: both. */
        kind?: 'post' | 'comment' | 'both'
        /** @description Minimum score when the item was last read. */
        min_score?: number
        /** @description NDJSON or CSV (RFC 4180). */
        format?: 'ndjson' | 'csv'
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description The items. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id']
          'Access-Control-Allow-Origin': components['headers']['Access-Control-Allow-Origin']
          [name: string]: unknown
        }
        content: {
          'application/x-ndjson': components['schemas']['ExportArchiveAnswer']
          'text/csv': components['schemas']['ExportArchiveAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
    }
  }
  archiveState: {
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
           *       "keep": "matches",
           *       "days": 1,
           *       "max_size_mb": 1,
           *       "items": 1,
           *       "bytes": 1,
           *       "oldest": "2026-01-31T11:58:00.000Z",
           *       "newest": "2026-01-31T11:58:00.000Z",
           *       "queued": 1
           *     }
           */
          'application/json': components['schemas']['ArchiveStateAnswer']
        }
      }
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503StorageUnavailableOverloaded']
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
          filter_spec: components['schemas']['Filter']
          /**
           * Format: int64
           * @description Maximum number of rows.
           * @default 25
           */
          limit?: number
          /** @description Id of the item. */
          item_id?: string
          /** @description Days of the past, 1d to 90d: tries the filter on the archive instead of the present feeds. */
          window?: string
          /** @description The filter of a monitor. All given fields must match; at least one place or keyword is required. */
          compare?: components['schemas']['Filter']
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
           *           "kind": "post",
           *           "id": "1abcde",
           *           "name": "t3_1abcde",
           *           "title": "Which grinder would you buy?",
           *           "author": "example_user",
           *           "permalink": "/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "url": "https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/",
           *           "created": "2026-01-31T11:58:00.000Z",
           *           "text": "Mine broke after ten years. I am looking for one for espresso.",
           *           "enrichment": {
           *             "relevance": {
           *               "score": 0.5,
           *               "matched_terms": [
           *                 "grinder"
           *               ],
           *               "considered_terms": 2,
           *               "method": "keyword_match_heuristic"
           *             },
           *             "intent": {
           *               "tag": "recommendation_request",
           *               "method": "rule_based_heuristic"
           *             }
           *           }
           *         }
           *       ],
           *       "matched": 1,
           *       "low_relevance": 1,
           *       "not_yet": 1,
           *       "scanned": 1,
           *       "truncated": false,
           *       "terms": [
           *         {
           *           "term": "grinder",
           *           "role": "wanted",
           *           "items": 1
           *         }
           *       ],
           *       "criteria": [
           *         {
           *           "criterion": "include_any",
           *           "left": 1
           *         }
           *       ],
           *       "estimate_per_day": 1,
           *       "feeds": [
           *         {
           *           "kind": "posts",
           *           "subforums": [
           *             "coffee"
           *           ],
           *           "query": "grinder",
           *           "place": "coffee",
           *           "scanned": 1,
           *           "matched": 1,
           *           "oldest": "2026-01-31T11:58:00.000Z",
           *           "error": null
           *         }
           *       ],
           *       "feeds_left_out": 1,
           *       "item": null
           *     }
           */
          'application/json': components['schemas']['MonitorPreviewAnswer']
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
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      413: components['responses']['Status413BodyTooLarge']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503UpstreamUnavailableStorageUnavailableOverloaded']
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
           *           "matched_at": "2026-01-31T11:58:00.000Z",
           *           "collected_until": null,
           *           "waiting_until": null,
           *           "first_seen": {
           *             "at": "2026-01-31T11:58:00.000Z",
           *             "age_s": 1,
           *             "fresh": true,
           *             "freshness_s": 900,
           *             "streams": [
           *               {
           *                 "id": "posts:coffee",
           *                 "kind": "posts",
           *                 "subforum": "coffee",
           *                 "first_seen_at": "2026-01-31T11:58:00.000Z"
           *               }
           *             ]
           *           },
           *           "filter_edited_since": false,
           *           "as_of": null,
           *           "criteria": [
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
           *             "intent": {
           *               "tag": "recommendation_request",
           *               "method": "rule_based_heuristic"
           *             }
           *           },
           *           "judgement": null
           *         }
           *       ],
           *       "deliveries": [
           *         {
           *           "delivery_id": "dlv_DNIMOUN-WuxB2A7gBKgs1i",
           *           "webhook_id": "wh_0199a000-0000-7000-8000-000000000002",
           *           "status": "delivered",
           *           "gate": {
           *             "verdict": "let_through",
           *             "reason": null,
           *             "figures": null
           *           },
           *           "last_error": "http_503",
           *           "created_at": "2026-01-31T11:58:00.000Z",
           *           "delivered_at": "2026-01-31T11:58:00.000Z",
           *           "attempts": [
           *             {
           *               "n": 1,
           *               "round": 1,
           *               "started_at": "2026-01-31T11:58:00.000Z",
           *               "duration_ms": 1,
           *               "status_code": 503,
           *               "error": "http_503",
           *               "headers": {
           *                 "content-type": "application/json"
           *               },
           *               "body_start": "out of workers"
           *             }
           *           ]
           *         }
           *       ]
           *     }
           */
          'application/json': components['schemas']['MonitorWhyAnswer']
        }
      }
      400: components['responses']['Status400InvalidRequest']
      401: components['responses']['Status401MissingBearerToken']
      403: components['responses']['Status403InvalidToken']
      404: components['responses']['Status404NotFound']
      429: components['responses']['Status429RateLimited']
      500: components['responses']['Status500InternalError']
      503: components['responses']['Status503Overloaded']
    }
  }
}

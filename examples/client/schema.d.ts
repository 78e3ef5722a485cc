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
     * @description Needs no key. Always 200; cached for a few seconds. Counts towards the rate limit of `health` of the caller's address.
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
     * @description Needs no key. 503 while it does not. Counts towards the rate limit of `health` of the caller's address.
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
     * @description Failing and paused webhooks, sources that cannot be read, late feeds, stopped monitors, used-up credits and undecided drafts, each with the next step. Cheap enough to repeat every few seconds. Takes any key. Counts towards the rate limit of `account`.
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
     * @description For an overview. To receive every match, use a webhook or the items of each monitor. Takes any key. Counts towards the rate limit of `dashboard`.
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
     * @description Takes any key. Counts towards the rate limit of `account`.
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
     * @description Takes any key. Counts towards the rate limit of `account`.
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
     * @description Takes any key. Counts towards the rate limit of `dashboard`.
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
     * @description Takes any key. Counts towards the rate limit of `management`.
     */
    get: operations['listDrafts']
    put?: never
    /**
     * Create a draft of a write for a person to approve; it holds no session
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `management`.
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
     * @description Takes any key. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `management`.
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
     * @description Nothing is stored. A login over HTTP with an unreadable answer is repeated in a browser. If the platform requires a human check, sign in with an ordinary browser of the account's owner and use its cookies as the session. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `login`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `comment`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `comment`.
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
     * @description That a vote was taken does not prove that it counts: the platform may leave it out without a word. Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `vote`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `dm`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `profile`.
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
     * @description Takes a key with the scope `write`. Counts towards the rate limit of `writes`. The operator can disable it as `profile`.
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
     * @description A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. Counts towards the rate limit of `uploads`. The operator can disable it as `profile`.
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
     * @description A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. Counts towards the rate limit of `uploads`. The operator can disable it as `profile`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description confident is false if the platform gives no definite answer. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description In the order asked, each once; those the platform does not show are listed as missing. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description The filters and sort_type work on the page that was read; with any of them the answer carries meta. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Posts with a comment in which the words of q occur. The platform has no search of comments: its search finds posts by their own text, and the comments of those are read, one tree each, of no more than limit posts and [limits] tree_fetches of the service (8) a call. A page may therefore be short or empty while after leads to the next posts. meta.searched counts the posts read, meta.comments_scanned their comments; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: the platform searches posts by their own text only, so comments under other posts are not found, and deleted comments and those deep in a tree may be missed. meta.posts_expanded and meta.comments_scanned say what was read; meta.truncated is true where a tree was cut or failed, more posts follow, or the search named no post at all. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description limit bounds the posts searched; scanned is their actual number. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Nodes are as the platform gives them. meta.more_count is the number of comments behind the more nodes left in the tree, at least one each; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description replies=true fills data.replies from the tree. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description One entry per id, in the order of the request, including repeats. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description The name of a subpage contains %2F. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the rate limit of `reads`.
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
     * @description The first source answers calls without the parameter source. A call that a source has no means for is answered with 501 NOT_SUPPORTED_BY_SOURCE. Takes a key with the scope `read`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Ends their repeats; an alarm stays open until its condition is over, which is then delivered too. acknowledged counts the alarms that were not acknowledged before. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description A new url has the same kind and is checked as at creation; id and secret stay, pending deliveries go to it, and its health begins again. Send a test afterwards. The address of kind email cannot change, because its owner has agreed. Pending deliveries of a disabled target fail as webhook_paused and can be redelivered. A paused target stays paused until a test succeeds. token replaces the stored credentials, for kind mqtt together with username; a new url does not keep them. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Kind email takes mailto: and one address. It is active once its recipient has agreed on the page linked in the confirmation mail. The answer has confirmation: sent, or an error code; a test sends the mail again. An address gets at most three such mails a day. Kinds ntfy, telegram, gotify, matrix and mqtt take token, and mqtt username too; credentials within url are removed from it and stored encrypted. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `webhook_test`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Fresh matches are stored for 14 days, with or without a webhook. Repeat with the after of the last answer for newer matches. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Each event is named match, and its data equals the body of a webhook. Starts with new matches, after Last-Event-ID, or after the after of items. A comment is sent every 15 seconds; the stream ends after an hour, and clients reconnect. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Needs no key: anyone with the address can read it. It is the feed_url of the monitor. Counts towards the rate limit of `feeds` of the caller's address.
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
     * @description Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Filters combine. q finds an id by its beginning, such as dlv_8fK2, or text in the items; one call reads at most 1000 deliveries for it, so that a page may have fewer rows than limit. Pass next_before as before for the next page. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description By delivery_id, or by time range; without status, those that failed or were dead-lettered. The delivery_id and body stay the same, and the retry schedule starts over. skipped counts deliveries that cannot be sent: already pending, target removed, paused or disabled, or content erased because of its age. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description Takes any key. Counts towards the rate limit of `feedback`.
     */
    get: operations['listFeedback']
    put?: never
    /**
     * Send feedback to the operator
     * @description Takes any key. Counts towards the rate limit of `feedback`.
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
     * @description Takes any key. Counts towards the rate limit of `feedback`.
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
     * @description Matches with their enrichment, counts of items by keyword and by condition, and an estimate of matches a day. With item_id: why that item does or does not match. Free; nothing is delivered. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
     * @description By delivery_id, or by id (of a monitor) and item_id. Where and when the item was first observed, the verdict of each condition of the filter, its enrichment, the delivery decision, and each attempt with the answer of the receiver. Takes a key with the scope `monitor`. Counts towards the rate limit of `management`.
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
              source: string
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
              /**
               * @description error: it does not work. warning: it works in part, or is tried again. info: it waits for you.
               * @enum {string}
               */
              severity: 'error' | 'warning' | 'info'
              /** @description Id and name of the object; null: no single one. */
              subject: {
                id: string | null
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
                id: string
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
           *         "total": 10
           *       }
           *     }
           */
          'application/json': {
            id: string
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
              /** Format: int64 */
              total: number
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
            payments: {
              id: string
              /** @enum {string} */
              kind: 'signup_credit' | 'top_up' | 'adjustment'
              /** @description USD, with up to six decimals. */
              amount_usd: number
              note: string | null
              /** Format: date-time */
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
            drafts: {
              id: string
              /** @enum {string} */
              action:
                | 'comment'
                | 'vote'
                | 'dm'
                | 'profile/description'
                | 'profile/display-name'
                | 'profile/avatar'
                | 'profile/banner'
              body: {
                [key: string]: unknown
              }
              /** @description Source that it acts on; null: main. */
              source: string | null
              /** @enum {string} */
              status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
              /** Format: date-time */
              created_at: string
              /** Format: date-time */
              expires_at: string
              decided_at: string | null
              customer: {
                id: string
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
            /** Format: int64 */
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
          /** @enum {string} */
          action:
            | 'comment'
            | 'vote'
            | 'dm'
            | 'profile/description'
            | 'profile/display-name'
            | 'profile/avatar'
            | 'profile/banner'
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
            id: string
            /** @enum {string} */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /** @enum {string} */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            expires_at: string
            decided_at: string | null
            customer: {
              id: string
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
            id: string
            /** @enum {string} */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /** @enum {string} */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            expires_at: string
            decided_at: string | null
            customer: {
              id: string
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
            id: string
            /** @enum {string} */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /** @enum {string} */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            expires_at: string
            decided_at: string | null
            customer: {
              id: string
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
            id: string
            /** @enum {string} */
            action:
              | 'comment'
              | 'vote'
              | 'dm'
              | 'profile/description'
              | 'profile/display-name'
              | 'profile/avatar'
              | 'profile/banner'
            body: {
              [key: string]: unknown
            }
            /** @description Source that it acts on; null: main. */
            source: string | null
            /** @enum {string} */
            status: 'waiting' | 'approved' | 'declined' | 'expired' | 'failed'
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            expires_at: string
            decided_at: string | null
            customer: {
              id: string
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
          password: string
          /** @description Base32; only where the account has a second factor. */
          totp_secret?: string | null
          /**
           * @default http
           * @enum {string}
           */
          method?: 'http' | 'browser'
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /** @default en-US */
          locale?: string | null
          /** @default America/New_York */
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
            /** @constant */
            success: true
            /**
             * @description Method that succeeded.
             * @enum {string}
             */
            method: 'http' | 'browser'
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks5. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /** @description A post's or a comment's link: a comment's is replied to. */
          post_url: string
          text: string
          /** @default en-US */
          locale?: string | null
          /** @default America/New_York */
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
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /** @description A post's or a comment's link: a comment's is replied to. */
          post_url: string
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
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          id?: string
          /** @description A post id, with or without t3_; instead of id. */
          post_id?: string
          url?: string
          /** @enum {string|number} */
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
            /** @constant */
            success: true
            id: string
            /** @enum {string} */
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          to: string
          /** @description In chat, which has no subject, it becomes the first line. */
          subject: string
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
            /** @constant */
            success: true
            id: string | null
            thread_id: string | null
            /** @enum {string} */
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /**
           * @default all
           * @enum {string}
           */
          folder?: 'all' | 'inbox' | 'sent' | 'unread'
          /**
           * Format: int64
           * @default 25
           */
          limit?: number
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
            threads: ({
              id: string
              with: string | null
              subject: string | null
              unread: boolean
              /** Format: int64 */
              message_count: number
              last_message_at: string | null
              last_message: string
              /** @enum {string} */
              channel: 'mail' | 'chat'
            } & {
              [key: string]: unknown
            })[]
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          thread_id: string
          /**
           * Format: int64
           * @default 25
           */
          limit?: number
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
            messages: ({
              id: string
              thread_id: string
              from: string | null
              to: string | null
              subject: string | null
              body: string
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              unread: boolean
            } & {
              [key: string]: unknown
            })[]
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
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
            /** @constant */
            success: true
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
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
            /** @constant */
            success: true
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /** @description https, on the public internet. */
          image_url?: string
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
            /** @constant */
            success: true
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
          loid?: string | null
          token_v2?: string | null
          csrf_token?: string | null
          edgebucket?: string | null
          csv?: string | null
          session_tracker?: string | null
          pc?: string | null
          /** @description Further cookies of the account, sent on as they are. */
          cookies?: {
            [key: string]: string
          }
          /** @description Egress proxy of this call: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          /** @description https, on the public internet. */
          image_url?: string
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
            /** @constant */
            success: true
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
            title: string
            author: string
            subforum: string
            permalink: string
            /** @description The address of the post on the platform. */
            url: string
            /** Format: int64 */
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
            text: string
            /** @description What a link post points to. */
            link_url: string | null
            upvote_ratio: number | null
            over_18: boolean
            spoiler: boolean
            locked: boolean
            stickied: boolean
            is_self: boolean
            is_video: boolean
            is_crosspost: boolean
            crosspost_origin:
              | ({
                  id: string
                  subforum: string
                  permalink: string
                } & {
                  [key: string]: unknown
                })
              | null
            flair: string | null
            domain: string | null
            media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
            thumbnail_url: string | null
            /** @description Time of the last edit; false: never, true: the time is unknown. */
            edited: string | boolean
            author_info: {
              fullname: string | null
              flair: string | null
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            meta: {
              /** @enum {string} */
              listing_status: 'complete' | 'truncated' | 'unknown'
              truncated: boolean
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
            meta?: {
              /** Format: int64 */
              scanned: number
              /** Format: int64 */
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
            communities: ({
              id: string | null
              name: string
              display_name_prefixed: string | null
              title: string | null
              description: string | null
              subscribers: number | null
              active_users: number | null
              created: string | null
              created_utc: number | null
              type: string | null
              over_18: boolean | null
              quarantined: boolean | null
              url: string | null
              icon_url: string | null
              banner_url: string | null
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
              id: string
              body: string
              /** Format: int64 */
              score: number
              author: string
              permalink: string
              url: string
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              subforum: string
              post: {
                /** @description Without prefix. */
                id: string
                /** @description t3_ and the id. */
                name: string
                title: string
                author: string
                subforum: string
                permalink: string
                /** @description The address of the post on the platform. */
                url: string
                /** Format: int64 */
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
                text: string
                /** @description What a link post points to. */
                link_url: string | null
                upvote_ratio: number | null
                over_18: boolean
                spoiler: boolean
                locked: boolean
                stickied: boolean
                is_self: boolean
                is_video: boolean
                is_crosspost: boolean
                crosspost_origin:
                  | ({
                      id: string
                      subforum: string
                      permalink: string
                    } & {
                      [key: string]: unknown
                    })
                  | null
                flair: string | null
                domain: string | null
                media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                thumbnail_url: string | null
                /** @description Time of the last edit; false: never, true: the time is unknown. */
                edited: string | boolean
                author_info: {
                  fullname: string | null
                  flair: string | null
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
              author: string
              /** Format: int64 */
              comment_count: number
              /** Format: int64 */
              total_score: number
              subforums: string[]
              top_comment: {
                id: string
                body: string
                /** Format: int64 */
                score: number
                author: string
                permalink: string
                url: string
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC.
                 */
                created: string
                subforum: string
                post: {
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  title: string
                  author: string
                  subforum: string
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /** Format: int64 */
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
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  upvote_ratio: number | null
                  over_18: boolean
                  spoiler: boolean
                  locked: boolean
                  stickied: boolean
                  is_self: boolean
                  is_video: boolean
                  is_crosspost: boolean
                  crosspost_origin:
                    | ({
                        id: string
                        subforum: string
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  flair: string | null
                  domain: string | null
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  author_info: {
                    fullname: string | null
                    flair: string | null
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
            after: string | null
            meta: {
              truncated: boolean
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
              media: {
                /** @enum {string} */
                kind: 'image' | 'video' | 'gallery' | 'gif'
                url: string | null
                width: number | null
                height: number | null
                items: ({
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
            })[]
            /** Format: int64 */
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
            users: ({
              id: string | null
              name: string
              url: string
              created: string | null
              created_utc: number | null
              link_karma: number | null
              comment_karma: number | null
              total_karma: number | null
              verified: boolean | null
              is_employee: boolean | null
              is_mod: boolean | null
              is_suspended: boolean
              over_18: boolean | null
              display_name: string | null
              description: string | null
              avatar_url: string | null
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
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            comments: ({
              /** @enum {string} */
              kind: 't1' | 'more'
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            after: null
            meta: {
              truncated: boolean
              /** Format: int64 */
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
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            comments: ({
              /** @enum {string} */
              kind: 't1' | 'more'
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            after: null
            meta: {
              truncated: boolean
              /** Format: int64 */
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
            post: {
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
                premium: boolean | null
              } & {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            }
            comments: ({
              /** @enum {string} */
              kind: 't1' | 'more'
              data: {
                [key: string]: unknown
              }
            } & {
              [key: string]: unknown
            })[]
            after: null
            meta: {
              truncated: boolean
              /** Format: int64 */
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
              /** @enum {string} */
              kind: 't1' | 'more'
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
            comments: ({
              /** @description As given in the request. */
              id: string
              name: string | null
              /** @enum {string} */
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
            id: string | null
            name: string
            url: string
            created: string | null
            created_utc: number | null
            link_karma: number | null
            comment_karma: number | null
            total_karma: number | null
            verified: boolean | null
            is_employee: boolean | null
            is_mod: boolean | null
            is_suspended: boolean
            over_18: boolean | null
            display_name: string | null
            description: string | null
            avatar_url: string | null
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
            comments: ({
              /** @description Without prefix. */
              id: string
              /** @description t1_ and the id. */
              name: string
              author: string
              body: string
              subforum: string
              /** Format: int64 */
              upvotes: number
              permalink: string
              url: string
              post_id: string
              link_title: string | null
              link_url: string | null
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              parent_id: string | null
              is_submitter: boolean
              depth: number | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              over_18: boolean | null
              author_info: {
                fullname: string | null
                flair: string | null
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
            achievements: ({
              id: string | null
              name: string
              description: string | null
              icon_url: string | null
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
            id: string | null
            name: string
            display_name_prefixed: string | null
            title: string | null
            description: string | null
            subscribers: number | null
            active_users: number | null
            created: string | null
            created_utc: number | null
            type: string | null
            over_18: boolean | null
            quarantined: boolean | null
            url: string | null
            icon_url: string | null
            banner_url: string | null
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
            comments: ({
              /** @description Without prefix. */
              id: string
              /** @description t1_ and the id. */
              name: string
              author: string
              body: string
              subforum: string
              /** Format: int64 */
              upvotes: number
              permalink: string
              url: string
              post_id: string
              link_title: string | null
              link_url: string | null
              /**
               * Format: date-time
               * @description ISO 8601, UTC.
               */
              created: string
              /** @description Epoch seconds. */
              created_utc: number
              parent_id: string | null
              is_submitter: boolean
              depth: number | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              over_18: boolean | null
              author_info: {
                fullname: string | null
                flair: string | null
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
            rules: ({
              name: string
              description: string
              /** @enum {string} */
              applies_to: 'post' | 'comment' | 'all'
              violation_reason: string | null
              /** Format: int64 */
              priority: number
              created: string | null
            } & {
              [key: string]: unknown
            })[]
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
            content_md: string
            content_html: string | null
            revision_id: string | null
            revision_date: string | null
            revised_by: string | null
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
            subforums: ({
              id: string | null
              name: string
              display_name_prefixed: string | null
              title: string | null
              description: string | null
              subscribers: number | null
              active_users: number | null
              created: string | null
              created_utc: number | null
              type: string | null
              over_18: boolean | null
              quarantined: boolean | null
              url: string | null
              icon_url: string | null
              banner_url: string | null
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
            subforums: ({
              id: string | null
              name: string
              display_name_prefixed: string | null
              title: string | null
              description: string | null
              subscribers: number | null
              active_users: number | null
              created: string | null
              created_utc: number | null
              type: string | null
              over_18: boolean | null
              quarantined: boolean | null
              url: string | null
              icon_url: string | null
              banner_url: string | null
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
            subforums: ({
              id: string | null
              name: string
              display_name_prefixed: string | null
              title: string | null
              description: string | null
              subscribers: number | null
              active_users: number | null
              created: string | null
              created_utc: number | null
              type: string | null
              over_18: boolean | null
              quarantined: boolean | null
              url: string | null
              icon_url: string | null
              banner_url: string | null
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
            posts: ({
              /** @description Without prefix. */
              id: string
              /** @description t3_ and the id. */
              name: string
              title: string
              author: string
              subforum: string
              permalink: string
              /** @description The address of the post on the platform. */
              url: string
              /** Format: int64 */
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
              text: string
              /** @description What a link post points to. */
              link_url: string | null
              upvote_ratio: number | null
              over_18: boolean
              spoiler: boolean
              locked: boolean
              stickied: boolean
              is_self: boolean
              is_video: boolean
              is_crosspost: boolean
              crosspost_origin:
                | ({
                    id: string
                    subforum: string
                    permalink: string
                  } & {
                    [key: string]: unknown
                  })
                | null
              flair: string | null
              domain: string | null
              media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
              thumbnail_url: string | null
              /** @description Time of the last edit; false: never, true: the time is unknown. */
              edited: string | boolean
              author_info: {
                fullname: string | null
                flair: string | null
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
            moderators: ({
              id: string
              name: string
              mod_permissions: string[]
              flair_text: string | null
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
            items: (
              | ({
                  /** @constant */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  title: string
                  author: string
                  subforum: string
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /** Format: int64 */
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
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  upvote_ratio: number | null
                  over_18: boolean
                  spoiler: boolean
                  locked: boolean
                  stickied: boolean
                  is_self: boolean
                  is_video: boolean
                  is_crosspost: boolean
                  crosspost_origin:
                    | ({
                        id: string
                        subforum: string
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  flair: string | null
                  domain: string | null
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  author_info: {
                    fullname: string | null
                    flair: string | null
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /** @constant */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
                    flair: string | null
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
            items: (
              | ({
                  /** @constant */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  title: string
                  author: string
                  subforum: string
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /** Format: int64 */
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
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  upvote_ratio: number | null
                  over_18: boolean
                  spoiler: boolean
                  locked: boolean
                  stickied: boolean
                  is_self: boolean
                  is_video: boolean
                  is_crosspost: boolean
                  crosspost_origin:
                    | ({
                        id: string
                        subforum: string
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  flair: string | null
                  domain: string | null
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  author_info: {
                    fullname: string | null
                    flair: string | null
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /** @constant */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
                    flair: string | null
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
            items: (
              | ({
                  /** @constant */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  title: string
                  author: string
                  subforum: string
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /** Format: int64 */
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
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  upvote_ratio: number | null
                  over_18: boolean
                  spoiler: boolean
                  locked: boolean
                  stickied: boolean
                  is_self: boolean
                  is_video: boolean
                  is_crosspost: boolean
                  crosspost_origin:
                    | ({
                        id: string
                        subforum: string
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  flair: string | null
                  domain: string | null
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  author_info: {
                    fullname: string | null
                    flair: string | null
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /** @constant */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
                    flair: string | null
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
            items: (
              | ({
                  /** @constant */
                  kind: 'post'
                  /** @description Without prefix. */
                  id: string
                  /** @description t3_ and the id. */
                  name: string
                  title: string
                  author: string
                  subforum: string
                  permalink: string
                  /** @description The address of the post on the platform. */
                  url: string
                  /** Format: int64 */
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
                  text: string
                  /** @description What a link post points to. */
                  link_url: string | null
                  upvote_ratio: number | null
                  over_18: boolean
                  spoiler: boolean
                  locked: boolean
                  stickied: boolean
                  is_self: boolean
                  is_video: boolean
                  is_crosspost: boolean
                  crosspost_origin:
                    | ({
                        id: string
                        subforum: string
                        permalink: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  flair: string | null
                  domain: string | null
                  media_kind: ('image' | 'video' | 'gallery' | 'gif') | null
                  thumbnail_url: string | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  author_info: {
                    fullname: string | null
                    flair: string | null
                    premium: boolean | null
                  } & {
                    [key: string]: unknown
                  }
                } & {
                  [key: string]: unknown
                })
              | ({
                  /** @constant */
                  kind: 'comment'
                  /** @description Without prefix. */
                  id: string
                  /** @description t1_ and the id. */
                  name: string
                  author: string
                  body: string
                  subforum: string
                  /** Format: int64 */
                  upvotes: number
                  permalink: string
                  url: string
                  post_id: string
                  link_title: string | null
                  link_url: string | null
                  /**
                   * Format: date-time
                   * @description ISO 8601, UTC.
                   */
                  created: string
                  /** @description Epoch seconds. */
                  created_utc: number
                  parent_id: string | null
                  is_submitter: boolean
                  depth: number | null
                  /** @description Time of the last edit; false: never, true: the time is unknown. */
                  edited: string | boolean
                  over_18: boolean | null
                  author_info: {
                    fullname: string | null
                    flair: string | null
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
            sources: {
              name: string
              kind: string
              url: string
              capabilities: string[]
              /** @description Names of places as this source writes them. */
              place_examples: string[]
              proof: string | null
              reachable: boolean
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
            /** @default false */
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
            has_flair?: boolean
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
          name?: string | null
          /** Format: int64 */
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
              /** @enum {string} */
              every: 'day' | 'week'
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
                /** @enum {string} */
                every: 'day' | 'week'
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
              /** Format: int64 */
              every_min: number
              /**
               * Format: int64
               * @description Repeats of one alarm at most.
               * @default 10
               */
              max?: number
            } | null
          } | null
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
            id: string
            name: string | null
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
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            updated_at: string
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
                /** @enum {string} */
                every: 'day' | 'week'
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
                  /** @enum {string} */
                  every: 'day' | 'week'
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
                /** Format: int64 */
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
            streams: ({
              id: string
              /** @enum {string} */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
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
            monitors: ({
              id: string
              name: string | null
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
              active: boolean
              /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
              pause_reason: 'filter_too_slow' | null
              /** Format: date-time */
              created_at: string
              /** Format: date-time */
              updated_at: string
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
                  /** @enum {string} */
                  every: 'day' | 'week'
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
                    /** @enum {string} */
                    every: 'day' | 'week'
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
                  /** Format: int64 */
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
              streams: ({
                id: string
                /** @enum {string} */
                kind:
                  | 'posts'
                  | 'comments'
                  | 'search'
                  | 'thread'
                  | 'user_posts'
                  | 'user_comments'
                  | 'stream'
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
            slots: {
              /** Format: int64 */
              used: number
              /** Format: int64 */
              total: number
              tier: string
              /** Format: int64 */
              sitewide_used: number
              /** Format: int64 */
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
          id?: string
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
            /** @default false */
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
            has_flair?: boolean
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
          active?: boolean
          /** @description The webhooks to deliver to. Null or empty: every active one, unless targets is none. */
          webhook_ids?: string[] | null
          /**
           * @description none: no webhook, for a monitor that is read by pull. The field distinguishes its empty webhook_ids from those that mean every webhook, so a monitor can be sent back as it was read.
           * @enum {string}
           */
          targets?: 'all' | 'listed' | 'none'
          name?: string | null
          /** Format: int64 */
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
              /** @enum {string} */
              every: 'day' | 'week'
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
                /** @enum {string} */
                every: 'day' | 'week'
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
              /** Format: int64 */
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
            id: string
            name: string | null
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
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            updated_at: string
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
                /** @enum {string} */
                every: 'day' | 'week'
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
                  /** @enum {string} */
                  every: 'day' | 'week'
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
                /** Format: int64 */
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
            streams: ({
              id: string
              /** @enum {string} */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
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
          id?: string
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
            /** @constant */
            removed: true
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
          id?: string
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
            id: string
            /** Format: int64 */
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
            id: string
            active: boolean
            /** @description Why the service has paused it, until active is set again. filter_too_slow: its patterns took more processor time than a monitor has. */
            pause_reason: 'filter_too_slow' | null
            /** Format: int64 */
            daily_delivery_ceiling: number
            /** Format: int64 */
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
            suppressed_breakdown: {
              /** Format: int64 */
              ceiling: number
              /** Format: int64 */
              stale: number
              /** Format: int64 */
              low_relevance: number
              /** Format: int64 */
              unknown: number
              /** Format: int64 */
              sampled: number
              sample_truncated: boolean
              resolved: boolean
              unresolved_reason: string | null
            } & {
              [key: string]: unknown
            }
            ceiling_reached: boolean
            last_match_at: string | null
            coverage_24h: {
              /** @enum {string} */
              status: 'complete' | 'degraded' | 'partial' | 'unknown'
              reason: string | null
              /** @description How its feeds prove that nothing was missed: time_listing (polls and audits of listings), keyset, dense or sparse_walk (by ids). */
              proof: string[]
              /** Format: date-time */
              since: string
              audited_until: string | null
              audit_interval_s: number | null
              gaps: ({
                stream: string
                reason: string
                /** Format: date-time */
                at: string
                from: string | null
                until: string | null
                missed_estimate: number | null
                /** @description First id of a further source that had no item (reason unanswered) or was not read (skipped). Null: a gap in time. */
                from_id: number | null
                to_id: number | null
                healed_at: string | null
              } & {
                [key: string]: unknown
              })[]
              /** Format: int64 */
              gaps_returned: number
              gaps_truncated: boolean
              gap_events_24h: number | null
              /** @description Number of the gap events that no later check has healed. */
              gaps_open: number | null
              posts_in_window_at_least: number | null
              posts_missed_estimate: number | null
              observed_events: ({
                kind: string
                /** Format: date-time */
                at: string
                until: string | null
                stream: string | null
              } & {
                [key: string]: unknown
              })[]
              unobserved_events: ({
                kind: string
                /** Format: date-time */
                at: string
                until: string | null
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
                  source: string
                  /** @enum {string} */
                  status: 'complete' | 'degraded' | 'partial' | 'unknown'
                  reason: string | null
                  proof: string | null
                  /** @description Ids that are proven, both inclusive. */
                  proven:
                    | ({
                        /** Format: int64 */
                        from_id: number
                        /** Format: int64 */
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
                        /** Format: int64 */
                        to_id: number
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** Format: int64 */
                  lag_ids: number
                  /** @description Seconds since the instant up to which everything was read. */
                  lag_s: number | null
                  /** @description Items since `since` were read again up to `at`: what had come late under an old id, or had changed, was matched. Null: none were, or the source needs no such pass. */
                  reread:
                    | ({
                        /** Format: date-time */
                        since: string
                        /** Format: date-time */
                        at: string
                      } & {
                        [key: string]: unknown
                      })
                    | null
                  /** @description Numbers of ids that had no item, or were not read, when it was their turn. */
                  missing: {
                    /** Format: int64 */
                    found: number
                    /** Format: int64 */
                    healed: number
                    /** Format: int64 */
                    open: number
                  } & {
                    [key: string]: unknown
                  }
                  /** @description Ids that are still missing. retry_at null: they are not requested again. */
                  open: ({
                    /** Format: int64 */
                    from_id: number
                    /** Format: int64 */
                    to_id: number
                    reason: string
                    /** Format: date-time */
                    at: string
                    retry_at: string | null
                  } & {
                    [key: string]: unknown
                  })[]
                  open_truncated: boolean
                  /** @description Items that the source has named as changed and that were not read since; oldest_at: when the first of them was named. dropped_24h: not to be read any more. Null: the source names no changes. */
                  changes:
                    | ({
                        /** Format: int64 */
                        waiting: number
                        oldest_at: string | null
                        /** Format: int64 */
                        dropped_24h: number
                      } & {
                        [key: string]: unknown
                      })
                    | null
                } & {
                  [key: string]: unknown
                })[]
              | null
            stream_liveness: {
              /** @enum {string} */
              status: 'live' | 'degraded' | 'unknown'
              reason: string | null
              streams: ({
                id: string
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
              requested_cadence_s: number | null
              /** @description True while every feed is polled as often as promised, by its interval and by its last check; null while unknown. */
              meets_entitlement: boolean | null
              last_checked_s_ago: number | null
              freshness_ratio: number | null
              within_margin: boolean | null
              slowest_stream: string | null
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
              /** Format: date-time */
              since: string
              /** Format: int64 */
              repeats: number
              /**
               * Format: date-time
               * @description Null: it is not repeated any more.
               */
              next_repeat_at: string | null
              /** Format: date-time */
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
          id?: string
          webhook_id?: string
          url?: string
          /** @description Access token of kinds ntfy, telegram, gotify, matrix, mqtt; password of kind mqtt. Never shown again. */
          token?: string | null
          /** @description User of kind mqtt. */
          username?: string | null
          name?: string | null
          active?: boolean
          max_per_second?: number | null
          ordered?: boolean
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
           *       "ordered": false
           *     }
           */
          'application/json': {
            id: string
            /** @enum {string} */
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
            url: string
            created_at: string
            /** @description True if it takes deliveries: enabled, confirmed and not paused. */
            active: boolean
            paused_at: string | null
            pause_reason: ('failing' | 'gone') | null
            name: string | null
            max_per_second: number | null
            ordered: boolean
            /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
            has_credentials?: boolean
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
          id?: string
          webhook_id?: string
          /**
           * Format: int64
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
            id: string
            secret: string
            old_secret_until: string | null
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
          /** @enum {string} */
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
          url: string
          name?: string | null
          /** @description Access token of kinds ntfy, telegram, gotify, matrix, mqtt; password of kind mqtt. Never shown again. */
          token?: string | null
          /** @description User of kind mqtt. */
          username?: string | null
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
           *       "secret": "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=",
           *       "kind_inferred_from": null
           *     }
           */
          'application/json': {
            id: string
            /** @enum {string} */
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
            url: string
            created_at: string
            /** @description True if it takes deliveries: enabled, confirmed and not paused. */
            active: boolean
            paused_at: string | null
            pause_reason: ('failing' | 'gone') | null
            name: string | null
            max_per_second: number | null
            ordered: boolean
            /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
            has_credentials?: boolean
            secret: string
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
            webhooks: {
              id: string
              /** @enum {string} */
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
              url: string
              created_at: string
              /** @description True if it takes deliveries: enabled, confirmed and not paused. */
              active: boolean
              paused_at: string | null
              pause_reason: ('failing' | 'gone') | null
              name: string | null
              max_per_second: number | null
              ordered: boolean
              /** @description Kinds ntfy, telegram, gotify, matrix, mqtt only: true if a token or password is stored. */
              has_credentials?: boolean
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
                last_success_at: string | null
                last_failure: {
                  at: string
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
          id?: string
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
            ok: boolean
            status_code: number | null
            /** @description The same as status_code. */
            status: number | null
            delivery_id: string
            /** Format: int64 */
            duration_ms: number
            reason: string | null
            hint: string | null
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
          id?: string
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
            deleted: boolean
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
          id?: string
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
            id: string
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
            deliveries: {
              delivery_id: string
              monitor_id: string
              webhook_id: string | null
              /** @enum {string} */
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
                grouped: boolean
                items: {
                  [key: string]: unknown
                }[]
                /**
                 * @description Event of an alarm, which has no items; absent for matches.
                 * @enum {string}
                 */
                type?: 'monitor.alarm' | 'monitor.alarm_ended'
                alarm?: {
                  /** @enum {string} */
                  kind: 'silent' | 'degraded'
                  /** Format: date-time */
                  since: string
                  /**
                   * Format: int64
                   * @description 0: not a repeat.
                   */
                  repeat: number
                  monitor_name: string | null
                  title: string
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
          delivery_id?: string
          /** Format: date-time */
          since?: string
          /** Format: date-time */
          until?: string
          /** @enum {string} */
          status?: 'delivered' | 'failed' | 'dead'
          webhook_id?: string
          /** @default false */
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
            /** Format: int64 */
            queued: number
            /** Format: int64 */
            skipped: number
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
            feedback: {
              id: string
              /** @enum {string} */
              type: 'bug' | 'idea' | 'missing_capability'
              title: string
              details: string
              area: string | null
              evidence: string | null
              /** @enum {string} */
              status: 'new' | 'triaged' | 'shipped' | 'declined'
              /** @description The operator's answer; null: none yet. */
              response: string | null
              /** Format: date-time */
              created_at: string
              /** Format: date-time */
              updated_at: string
            }[]
            /**
             * Format: int64
             * @description Rows of this page.
             */
            count: number
            /** Format: int64 */
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
          /** @enum {string} */
          type: 'bug' | 'idea' | 'missing_capability'
          title: string
          details: string
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
            id: string
            /** @enum {string} */
            status: 'new' | 'triaged' | 'shipped' | 'declined'
            /** Format: date-time */
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
            id: string
            /** @enum {string} */
            type: 'bug' | 'idea' | 'missing_capability'
            title: string
            details: string
            area: string | null
            evidence: string | null
            /** @enum {string} */
            status: 'new' | 'triaged' | 'shipped' | 'declined'
            /** @description The operator's answer; null: none yet. */
            response: string | null
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
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
            /** @default false */
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
            has_flair?: boolean
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
           * @default 25
           */
          limit?: number
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
            filter_spec: {
              [key: string]: unknown
            }
            /** @description As delivered to a webhook. */
            matches: {
              [key: string]: unknown
            }[]
            /** Format: int64 */
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
            /** Format: int64 */
            scanned: number
            /** @description True if there were more items than could be checked. */
            truncated: boolean
            terms: {
              term: string
              /** @enum {string} */
              role: 'wanted' | 'excluded'
              /** Format: int64 */
              items: number
            }[]
            /** @description Items that pass each condition and all before it. */
            criteria: {
              criterion: string
              /** Format: int64 */
              left: number
            }[]
            /** @description Null: not enough data. */
            estimate_per_day: number | null
            feeds: ({
              /** @enum {string} */
              kind:
                | 'posts'
                | 'comments'
                | 'search'
                | 'thread'
                | 'user_posts'
                | 'user_comments'
                | 'stream'
              subforums: string[] | null
              query: string | null
              /** @description A thread, an author, or a source. */
              place: string | null
              /**
               * @description The items that were listed of a further source.
               * @enum {string}
               */
              items?: 'posts' | 'comments'
              scanned: number | null
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
            item: {
              item_id: string
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
            monitor_id: string
            items: {
              item_id: string
              /** @enum {string} */
              outcome:
                | 'matched'
                | 'collecting'
                | 'waiting'
                | 'does_not_match'
                | 'matches_now'
                | 'before_start'
                | 'not_seen'
                | 'gone'
              means: string
              created_at: string | null
              matched_at: string | null
              collected_until: string | null
              waiting_until: string | null
              first_seen: {
                /** Format: date-time */
                at: string
                /** @description Age of the item at that time, in seconds. */
                age_s: number | null
                fresh: boolean | null
                /** Format: int64 */
                freshness_s: number
                streams: ({
                  id: string
                  /** @enum {string} */
                  kind:
                    | 'posts'
                    | 'comments'
                    | 'search'
                    | 'thread'
                    | 'user_posts'
                    | 'user_comments'
                    | 'stream'
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
              criteria:
                | {
                    criterion: string
                    /** @enum {string} */
                    verdict: 'met' | 'not_met' | 'later' | 'withheld'
                    /** @description Part of the item that was checked. */
                    detail: string
                  }[]
                | null
              enrichment: {
                [key: string]: unknown
              } | null
            }[]
            deliveries: {
              delivery_id: string
              webhook_id: string | null
              /** @enum {string} */
              status: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
              gate: {
                /** @enum {string} */
                verdict: 'let_through' | 'suppressed'
                reason: string | null
                figures: {
                  [key: string]: unknown
                } | null
              }
              last_error: string | null
              /** Format: date-time */
              created_at: string
              delivered_at: string | null
              attempts: {
                /** Format: int64 */
                n: number
                /** Format: int64 */
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

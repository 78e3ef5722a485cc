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
     * Whether the service is up
     * @description Needs no key. Always 200; cached for a few seconds.
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
     * Whether the service takes calls
     * @description Needs no key. 503 while it does not.
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
  '/account/me': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Your account: plan, credits, calls
     * @description Takes any key. Counts towards the pace of `account`.
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
     * @description Takes any key. Counts towards the pace of `account`.
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
     * @description Takes any key. Counts towards the pace of `dashboard`.
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
     * @description Takes any key. Counts towards the pace of `management`.
     */
    get: operations['listDrafts']
    put?: never
    /**
     * Propose a write that a person is to approve; it holds no session
     * @description Takes a key with the scope `write`. Counts towards the pace of `management`.
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
     * One draft, and what became of it
     * @description Takes any key. Counts towards the pace of `management`.
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
     * @description Takes a key with the scope `write`. Counts towards the pace of `management`.
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
     * @description Takes a key with the scope `write`. Counts towards the pace of `management`.
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
     * @description Nothing of it is kept. A sign-in over HTTP whose answer cannot be read is tried again in a browser. Where the platform wants to see a person, sign in with an ordinary browser of the account's owner and use its cookies as the session. Takes a key with the scope `write`. The operator may switch it off as `login`.
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
     * @description Takes a key with the scope `write`. The operator may switch it off as `comment`.
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
     * @description Takes a key with the scope `write`. The operator may switch it off as `comment`.
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
     * @description That a vote was taken does not prove that it counts: the platform may leave it out without a word. Takes a key with the scope `write`. The operator may switch it off as `vote`.
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
     * Send a message; by chat where the recipient takes no mail
     * @description Takes a key with the scope `write`. The operator may switch it off as `dm`.
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
     * Your conversations, the last spoken in first
     * @description Takes a key with the scope `write`. The operator may switch it off as `dm`.
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
     * @description Takes a key with the scope `write`. The operator may switch it off as `dm`.
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
     * Say something about yourself
     * @description Takes a key with the scope `write`. The operator may switch it off as `profile`.
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
     * Choose the name that is shown
     * @description Takes a key with the scope `write`. The operator may switch it off as `profile`.
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
     * @description A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. The operator may switch it off as `profile`.
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
     * @description A PNG, JPEG or WebP picture of at most 5 MiB, sent on as it is. Takes a key with the scope `write`. The operator may switch it off as `profile`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * Whether others see a post
     * @description confident is false where the platform leaves room for doubt. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description In the order asked, each once; those the platform does not show are listed as missing. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description The filters and sort_type work on the page that was read; with any of them the answer carries meta. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * Search posts by what is said under them
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Expands up to limit posts that the search finds, one tree each, and answers with the comments in which the words occur. after leads to the next posts. With group_by=author the answer holds authors instead of comments. Best effort: deleted comments and those deep in a tree may be missed. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description limit counts the posts looked through, scanned says how many there were. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Nodes are as the platform gives them. meta.more_count is the number of more nodes left in the tree; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Nodes are as the platform gives them. meta.more_count is the number of more nodes left in the tree; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * A post and its comments, by another path
     * @description Nodes are as the platform gives them. meta.more_count is the number of more nodes left in the tree; depth and limit are upper bounds. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * One comment, as the platform gives it
     * @description replies=true fills data.replies from the tree. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * Which comments are still there
     * @description An entry for each id, in the order asked, repeats included. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * A public profile
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * What a subforum says of itself
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description A page of a page is named with %2F between them. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * The front page of your own account
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * Who keeps order in a subforum
     * @description Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * @description name must be the account of the session. Posts and comments in the order of the platform, each with its kind. Query fields that are not listed here are sent to the platform as cookies. Takes a key with the scope `read`. Counts towards the pace of `reads`.
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
     * Watch for new content
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Change, pause or resume a monitor; history is never replayed
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
     */
    post: operations['postForumMonitorRemove']
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
     * What a monitor did, and what it can prove to have seen
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Name a target, switch it off or on, bound its pace, keep its order
     * @description What waits for a target that is switched off fails as webhook_paused and can be redelivered. A target that was paused stays so until a test arrives. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Give a target a new secret, shown this once
     * @description For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Register a target; its secret is shown this once
     * @description Kind email takes mailto: and one address, is active once its reader has followed the link in the confirmation mail, and answers with confirmation: sent, or why it was not; a test sends it again. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Your targets, without their secrets
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `webhook_test`.
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
     * Remove a target; what waits for it is given up
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Fetch what a monitor matched, oldest first
     * @description Matches that were fresh, whether or not the monitor has a webhook, are kept for 14 days to be fetched. Ask again with the after of the last answer for what came since. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * What a monitor matches, as server-sent events
     * @description Each event is called match and has as data what a webhook gets. Begins with what comes from now on, after Last-Event-ID, or after the after of items. A comment comes every 15 seconds; after an hour it ends, to be opened again. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * @description Needs no key: who knows the address may read. It is the feed_url of the monitor.
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
     * Give a monitor a new feed address; the one before is dead at once
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * What became of each match, newest first
     * @description Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Send deliveries again that have ended
     * @description By delivery_id, or those of a span of time; without status those that failed or died. Same delivery_id and body, the ladder from its beginning. skipped counts what cannot go: on its way already, or its target is gone, paused or switched off. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * What you told the operator, newest first
     * @description Takes any key. Counts towards the pace of `feedback`.
     */
    get: operations['listFeedback']
    put?: never
    /**
     * Tell the operator what is broken, missing or could be better
     * @description Takes any key. Counts towards the pace of `feedback`.
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
     * One piece of feedback, and its answer
     * @description Takes any key. Counts towards the pace of `feedback`.
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
     * Try a filter on what its feeds hold now
     * @description Matches with their enrichment, how many items hold each keyword and are left after each condition, and an estimate of matches a day. With item_id: why that item does or does not match. Free; nothing is delivered. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
     * Why an item was delivered, withheld or not matched
     * @description By delivery_id, or by id (of a monitor) and item_id. Where and when the item was first seen, what each condition of the filter says of it, its enrichment, what the gate decided, and each attempt with what the receiver answered. Takes a key with the scope `monitor`. Counts towards the pace of `management`.
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
       * @description What is the matter, for programs.
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
      message?: string
      /** @description The field that is wrong. */
      field?: string
      /**
       * Format: int64
       * @description Seconds.
       */
      retry_after?: number
      /** @description Why, where one code has several reasons. */
      reason?: string | null
      /** @description With FEATURE_DISABLED: what is switched off. */
      feature?: string
      /** @description The platform's own code of its refusal. */
      upstream_code?: string
      /** @description The platform's own sentence. */
      upstream_message?: string | null
      /** @description Whether the same would be refused again. */
      terminal?: boolean
      /** @description What mends it. */
      hint?: string
      /**
       * Format: int64
       * @description With 402 of a plan: how many it has room for.
       */
      limit?: number
      /** @description With 402 of a plan: its name. */
      tier?: string
      /** @description With 402 of the balance: what the call costs. */
      price_usd?: number
    }
  }
  responses: never
  parameters: never
  requestBodies: never
  headers: {
    /** @description What remains of the balance, in USD; on billed answers. */
    'X-Credits-Remaining': string
    /** @description Where a read came from: the cache, the platform, or a call of somebody else that was under way. */
    'X-Cache': 'hit' | 'miss' | 'shared'
    /** @description true where this is the first answer of this Idempotency-Key once more; free. */
    'Idempotent-Replayed': string
    /** @description Seconds after which the call is worth repeating. */
    'Retry-After': number
    /** @description Pages of every origin may read the answer. */
    'Access-Control-Allow-Origin': '*'
    /** @description Names this call; one that the caller sends is kept. */
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
            /** @description Whether the daemon serves. */
            ok: boolean
            /**
             * @description How the platform has answered over the last 60 seconds.
             * @enum {string}
             */
            reads: 'ok' | 'degraded' | 'unknown'
            /** @description What is wrong with what is stored; absent when nothing is. */
            storage?: string
          }
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
      /** @description Not now; reason says why. */
      503: {
        headers: {
          [name: string]: unknown
        }
        content?: never
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
    }
  }
  accountUsage: {
    parameters: {
      query?: {
        from?: string
        to?: string
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
    }
  }
  listDrafts: {
    parameters: {
      query?: {
        status?: 'waiting'
        cursor?: string
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
              /** @description What the platform call was answered with; null before it. */
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
            /** @description What the platform call was answered with; null before it. */
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
      /** @description storage_unavailable */
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
            /** @description What the platform call was answered with; null before it. */
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
    }
  }
  approveDraft: {
    parameters: {
      query?: never
      header?: never
      path: {
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
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this write. */
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
            /** @description What the platform call was answered with; null before it. */
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
      /** @description upstream_unavailable */
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
            /** @description What the platform call was answered with; null before it. */
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
    }
  }
  login: {
    parameters: {
      query?: never
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
             * @description The one that succeeded.
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
            /** @description When each ends; null: with the browser. */
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
      /** @description browser_unavailable, storage_unavailable */
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
      query?: never
      header?: {
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks5. An address scheme://user:password@host:port, or an object. */
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
            /** @description t1_ and the id. */
            comment_id: string
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, browser_unavailable, storage_unavailable */
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
      query?: never
      header?: {
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
            /** @description t1_ and the id. */
            comment_id: string
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: {
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          id?: string
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: {
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
          proxy?:
            | string
            | {
                server: string
                username?: string | null
                password?: string | null
              }
          to: string
          /** @description Chat has none: there it is the first line. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
            /** @description The ways that could not be looked into just now. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        /** @description Names this call, for this key and route: a repeat within 24 hours gets the first answer and changes nothing. */
        'Idempotency-Key'?: string
      }
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        'application/json': {
          /** @description The cookie forum_session of your own account. */
          forum_session: string
          /** @description The cookie loid of your own account. */
          loid: string
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
          /** @description The way out of this call alone: http, https, socks4, socks5, socks5h. An address scheme://user:password@host:port, or an object. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        subforum: string
        sort?: 'new' | 'hot' | 'top' | 'rising' | 'controversial' | 'best'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
        'x-forum-proxy'?: string
      }
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
            /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
          'application/json': {
            id: string
            /** @enum {string} */
            verdict: 'live' | 'not_visible' | 'undecidable'
            reason: string | null
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        subforum?: string
        sort?: 'relevance' | 'new' | 'hot' | 'top' | 'comments'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        nsfw?: boolean
        limit?: number
        after?: string
        min_score?: number
        max_score?: number
        min_comments?: number
        max_comments?: number
        is_video?: boolean
        is_self?: boolean
        over_18?: boolean
        locked?: boolean
        stickied?: boolean
        spoiler?: boolean
        contest_mode?: boolean
        sort_type?: 'score' | 'num_comments' | 'created'
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        nsfw?: boolean
        limit?: number
        after?: string
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        sort?: 'relevance' | 'new' | 'top' | 'comments'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        nsfw?: boolean
        limit?: number
        after?: string
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        sort?: 'relevance' | 'new' | 'top' | 'comments'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        nsfw?: boolean
        limit?: string
        max_comments?: number
        group_by?: 'author'
        max_authors?: number
        after?: string
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
                /** @description When it was last edited; false for never, true when the time is not told. */
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        kind?: 'all' | 'image' | 'video' | 'gallery' | 'gif'
        sort?: 'relevance' | 'new' | 'hot' | 'top' | 'comments'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        nsfw?: boolean
        limit?: number
        after?: string
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        q: string
        nsfw?: boolean
        limit?: number
        after?: string
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        permalink: string
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        depth?: number
        limit?: number
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        depth?: number
        limit?: number
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
        'x-forum-proxy'?: string
      }
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'confidence' | 'top' | 'new' | 'controversial' | 'old' | 'qa'
        depth?: number
        limit?: number
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
        'x-forum-proxy'?: string
      }
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        replies?: boolean
      }
      header?: never
      path: {
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
          'application/json': {
            /** @description As the platform gives it. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
          'application/json': {
            comments: ({
              /** @description As it was asked. */
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
      /** @description storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'top' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
      }
      header?: never
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'hot' | 'top' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
      }
      header?: never
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
      /** @description upstream_unavailable, storage_unavailable */
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
        limit?: number
        after?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
        'x-forum-proxy'?: string
      }
      path: {
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: never
      path: {
        name: string
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
          'application/json': {
            content_md: string
            content_html: string | null
            may_revise: boolean
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
      /** @description upstream_unavailable, storage_unavailable */
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
        limit?: number
        after?: string
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        limit?: number
        after?: string
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        limit?: number
        after?: string
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'best' | 'hot' | 'new' | 'top' | 'rising' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
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
              /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
             * @enum {string}
             */
            listing_status?: 'complete' | 'truncated' | 'unknown'
          } & {
            [key: string]: unknown
          }
        }
      }
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, INVALID_PROXY */
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
      /** @description upstream_unavailable, storage_unavailable */
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
      query?: never
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
        /** @description The way out of this read, with a session only: scheme://user:password@host:port. */
        'x-forum-proxy'?: string
      }
      path: {
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
      /** @description INVALID_REQUEST, INCOMPLETE_SESSION, SESSION_REQUIRED, INVALID_FIELD, INVALID_PROXY */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
        /** @description Instead of the header x-forum-session, which wins. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which wins. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which wins. */
        csrf_token?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
      }
      path: {
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
        /** @description Instead of the header x-forum-session, which wins. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which wins. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which wins. */
        csrf_token?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
      }
      path: {
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
        /** @description Instead of the header x-forum-session, which wins. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which wins. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which wins. */
        csrf_token?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
      }
      path: {
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
        sort?: 'new' | 'top' | 'hot' | 'controversial'
        t?: 'hour' | 'day' | 'week' | 'month' | 'year' | 'all'
        limit?: number
        after?: string
        /** @description Instead of the header x-forum-session, which wins. */
        forum_session?: string
        /** @description Instead of the header x-forum-loid, which wins. */
        loid?: string
        /** @description Instead of the header x-forum-csrf-token, which wins. */
        csrf_token?: string
      }
      header?: {
        /** @description The cookie forum_session of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session'?: string
        /** @description The cookie loid of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-loid'?: string
        /** @description The cookie token_v2 of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-token-v2'?: string
        /** @description The cookie csrf_token of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csrf-token'?: string
        /** @description The cookie edgebucket of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-edgebucket'?: string
        /** @description The cookie csv of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-csv'?: string
        /** @description The cookie session_tracker of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-session-tracker'?: string
        /** @description The cookie pc of your own account. x-forum-session and x-forum-loid go together. */
        'x-forum-pc'?: string
      }
      path: {
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
                  /** @description When it was last edited; false for never, true when the time is not told. */
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
            /** @description Pass it back as it is for what comes next; null at the end. */
            after: string | null
            /**
             * @description There when after is null. Only complete means everything was returned.
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
      /** @description upstream_unavailable, storage_unavailable */
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
          /** @description What a monitor matches. Between fields AND; at least one place or keyword. */
          filter_spec: {
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description What is watched; beside thread, comment is usual.
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
             * @description cafe is café, and the other way round.
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
            /** @description None of these is. */
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
             * @description Of relevance.score × 100; what is below is shown as suppressed.
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
            /** @description ISO 639-1; what nobody can tell matches none. */
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
          webhook_ids?: string[] | null
          name?: string | null
          /** Format: int64 */
          cadence_s?: number
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
          'application/json': {
            id: string
            name: string | null
            filter_spec: {
              [key: string]: unknown
            }
            /**
             * Format: int64
             * @description The promise, in seconds.
             */
            cadence_s: number
            /** @description Null: every active webhook. Empty: nowhere. */
            webhook_ids: string[] | null
            active: boolean
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            updated_at: string
            last_match_at: string | null
            /** @description The matches as Atom, for who knows this address. */
            feed_url: string
            streams: ({
              id: string
              /** @enum {string} */
              kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments'
              subforum: string | null
              /**
               * Format: int64
               * @description How often it is really looked at.
               */
              interval_s: number
            } & {
              [key: string]: unknown
            })[]
            /** @description subforum_unverified: the platform could not be asked. */
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
      /** @description storage_unavailable */
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
          'application/json': {
            monitors: ({
              id: string
              name: string | null
              filter_spec: {
                [key: string]: unknown
              }
              /**
               * Format: int64
               * @description The promise, in seconds.
               */
              cadence_s: number
              /** @description Null: every active webhook. Empty: nowhere. */
              webhook_ids: string[] | null
              active: boolean
              /** Format: date-time */
              created_at: string
              /** Format: date-time */
              updated_at: string
              last_match_at: string | null
              /** @description The matches as Atom, for who knows this address. */
              feed_url: string
              streams: ({
                id: string
                /** @enum {string} */
                kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments'
                subforum: string | null
                /**
                 * Format: int64
                 * @description How often it is really looked at.
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
          /** @description What a monitor matches. Between fields AND; at least one place or keyword. */
          filter_spec?: {
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description What is watched; beside thread, comment is usual.
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
             * @description cafe is café, and the other way round.
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
            /** @description None of these is. */
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
             * @description Of relevance.score × 100; what is below is shown as suppressed.
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
            /** @description ISO 639-1; what nobody can tell matches none. */
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
          webhook_ids?: string[] | null
          name?: string | null
          /** Format: int64 */
          cadence_s?: number
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
          'application/json': {
            id: string
            name: string | null
            filter_spec: {
              [key: string]: unknown
            }
            /**
             * Format: int64
             * @description The promise, in seconds.
             */
            cadence_s: number
            /** @description Null: every active webhook. Empty: nowhere. */
            webhook_ids: string[] | null
            active: boolean
            /** Format: date-time */
            created_at: string
            /** Format: date-time */
            updated_at: string
            last_match_at: string | null
            /** @description The matches as Atom, for who knows this address. */
            feed_url: string
            streams: ({
              id: string
              /** @enum {string} */
              kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments'
              subforum: string | null
              /**
               * Format: int64
               * @description How often it is really looked at.
               */
              interval_s: number
            } & {
              [key: string]: unknown
            })[]
            /** @description subforum_unverified: the platform could not be asked. */
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
      /** @description storage_unavailable */
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
      /** @description storage_unavailable */
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
          'application/json': {
            id: string
            active: boolean
            /** Format: int64 */
            daily_delivery_ceiling: number
            /** Format: int64 */
            delivered_24h: number
            /**
             * Format: int64
             * @description Deliveries that exhausted the retry ladder.
             */
            failed_24h: number
            /**
             * Format: int64
             * @description Deliveries that their receiver refused for good.
             */
            rejected_24h: number
            /**
             * Format: int64
             * @description A floor.
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
              /** Format: date-time */
              since: string
              gaps: ({
                stream: string
                reason: string
                /** Format: date-time */
                at: string
                from: string | null
                until: string | null
                missed_estimate: number | null
                healed_at: string | null
              } & {
                [key: string]: unknown
              })[]
              /** Format: int64 */
              gaps_returned: number
              gaps_truncated: boolean
              gap_events_24h: number | null
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
              meets_entitlement: boolean | null
              last_checked_s_ago: number | null
              freshness_ratio: number | null
              within_margin: boolean | null
              slowest_stream: string | null
              unknown_reason: string | null
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
          'application/json': {
            id: string
            /** @enum {string} */
            kind: 'webhook' | 'slack' | 'discord' | 'email'
            url: string
            created_at: string
            active: boolean
            paused_at: string | null
            pause_reason: ('failing' | 'gone') | null
            name: string | null
            max_per_second: number | null
            ordered: boolean
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
      /** @description storage_unavailable */
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
      /** @description storage_unavailable */
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
          kind?: 'webhook' | 'slack' | 'discord' | 'email'
          url: string
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
          'application/json': {
            id: string
            /** @enum {string} */
            kind: 'webhook' | 'slack' | 'discord' | 'email'
            url: string
            created_at: string
            active: boolean
            paused_at: string | null
            pause_reason: ('failing' | 'gone') | null
            name: string | null
            max_per_second: number | null
            ordered: boolean
            secret: string
            kind_inferred_from: string | null
            /** @description Kind email only: sent, or the code of why it was not. */
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
      /** @description storage_unavailable */
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
          'application/json': {
            webhooks: {
              id: string
              /** @enum {string} */
              kind: 'webhook' | 'slack' | 'discord' | 'email'
              url: string
              created_at: string
              active: boolean
              paused_at: string | null
              pause_reason: ('failing' | 'gone') | null
              name: string | null
              max_per_second: number | null
              ordered: boolean
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
          'application/json': {
            ok: boolean
            status_code: number | null
            delivery_id: string
            /** Format: int64 */
            duration_ms: number
            reason: string | null
            hint: string | null
            detail: string
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
      /** @description storage_unavailable */
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
      /** @description storage_unavailable */
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
        id: string
        after?: string
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
          'application/json': {
            /** @description Oldest first, each as a webhook gets it. */
            items: {
              [key: string]: unknown
            }[]
            /** @description Give it back to go on; null as long as there is nothing. */
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
    }
  }
  getForumMonitorStream: {
    parameters: {
      query: {
        id: string
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
    }
  }
  getForumMonitorFeedByToken: {
    parameters: {
      query?: never
      header?: never
      path: {
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
      /** @description storage_unavailable */
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
        id?: string
        status?: 'pending' | 'delivered' | 'failed' | 'dead' | 'suppressed'
        limit?: number
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
              payload: {
                /** Format: int64 */
                count: number
                grouped: boolean
                items: {
                  [key: string]: unknown
                }[]
              } & {
                [key: string]: unknown
              }
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
      /** @description storage_unavailable */
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
        status?: 'new' | 'triaged' | 'shipped' | 'declined'
        type?: 'bug' | 'idea' | 'missing_capability'
        cursor?: string
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
              /** @description What the operator answered. */
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
          evidence?: string | null
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
      /** @description storage_unavailable */
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
            /** @description What the operator answered. */
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
          /** @description What a monitor matches. Between fields AND; at least one place or keyword. */
          filter_spec: {
            /** @description Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword. */
            subforum?: string | string[]
            /** @description Not in these; the whole platform only. */
            exclude_subforums?: string | string[]
            /**
             * @description What is watched; beside thread, comment is usual.
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
             * @description cafe is café, and the other way round.
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
            /** @description None of these is. */
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
             * @description Of relevance.score × 100; what is below is shown as suppressed.
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
            /** @description ISO 639-1; what nobody can tell matches none. */
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
          'application/json': {
            filter_spec: {
              [key: string]: unknown
            }
            /** @description As a webhook would get them. */
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
             * @description Below min_score or min_comments as yet.
             */
            not_yet: number
            /** Format: int64 */
            scanned: number
            /** @description There were more items than could be looked at. */
            truncated: boolean
            terms: {
              term: string
              /** @enum {string} */
              role: 'wanted' | 'excluded'
              /** Format: int64 */
              items: number
            }[]
            /** @description Items left after each condition. */
            criteria: {
              criterion: string
              /** Format: int64 */
              left: number
            }[]
            /** @description Null: nothing to tell it from. */
            estimate_per_day: number | null
            feeds: ({
              /** @enum {string} */
              kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments'
              subforums: string[] | null
              query: string | null
              /** @description A thread, or an author. */
              place: string | null
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
             * @description Searches, threads and authors beyond those that were looked at.
             */
            feeds_left_out: number
            item: {
              item_id: string
              in_feeds: boolean
              /** @enum {string} */
              verdict: 'matches' | 'does_not_match' | 'not_yet' | 'withheld'
              /** @description Every condition of the filter, in the order in which they are asked. */
              criteria: {
                criterion: string
                /** @enum {string} */
                verdict: 'met' | 'not_met' | 'later' | 'withheld'
                /** @description What of the item was looked at. */
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
      /** @description upstream_unavailable, storage_unavailable */
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
        delivery_id?: string
        id?: string
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
                /** @description How old it was then. */
                age_s: number | null
                fresh: boolean | null
                /** Format: int64 */
                freshness_s: number
                streams: ({
                  id: string
                  /** @enum {string} */
                  kind: 'posts' | 'comments' | 'search' | 'thread' | 'user_posts' | 'user_comments'
                  subforum: string | null
                  /** Format: date-time */
                  first_seen_at: string
                } & {
                  [key: string]: unknown
                })[]
              } | null
              /** @description The conditions are those of the filter as it is now. */
              filter_edited_since: boolean
              /** @description Whether the item is judged as it was delivered, or as it is now. */
              as_of: ('match' | 'now') | null
              criteria:
                | {
                    criterion: string
                    /** @enum {string} */
                    verdict: 'met' | 'not_met' | 'later' | 'withheld'
                    /** @description What of the item was looked at. */
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
                /** @description Of the answer: those that help. */
                headers: {
                  [key: string]: string
                }
                /** @description How the answer began, redacted. */
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
    }
  }
}
